"""`python -m barnabas`: the same as the command `barnabas`, for where no script is installed."""

from __future__ import annotations

from barnabas.cli import main

main()
