"""`python -m barnabas.cli`, for where no script is installed."""

from __future__ import annotations

from barnabas.cli import main

main()
