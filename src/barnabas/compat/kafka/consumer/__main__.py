"""python -m kafka.consumer"""

import sys

from barnabas.compat.kafka.cli.consumer import run_cli

sys.exit(run_cli(prog="python -m kafka.consumer"))
