"""`python -m kafka.admin`."""

import sys

from barnabas.compat.kafka.cli.admin import run_cli

sys.exit(run_cli())
