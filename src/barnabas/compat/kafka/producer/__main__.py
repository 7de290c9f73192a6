"""`python -m kafka.producer`: the console producer."""

import sys

from barnabas.compat.kafka.cli.producer import run_cli

sys.exit(run_cli())
