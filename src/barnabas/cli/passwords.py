"""A password that a user of a server is to have."""

from __future__ import annotations

import getpass
import sys

from barnabas.cli.options import UsageError


def new_password() -> str:
    """Asked for twice at a terminal, else the first line of stdin. Raises: UsageError."""
    if sys.stdin.isatty():
        password = getpass.getpass()
        if getpass.getpass("Again: ") != password:
            raise UsageError("the passwords are not the same")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise UsageError("there is no password")
    return password
