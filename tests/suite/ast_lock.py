"""Parses Python in one thread at a time.

CPython 3.11 counts the depth of a syntax tree for all threads together: when two parse at the same time, one
gets a SystemError ("AST constructor recursion depth mismatch"). pytest parses where it shows a failure, and
`traceback` where another thread logs an exception; in pytest's own code that ends the whole run.
"""

from __future__ import annotations

import ast
import sys
import threading
from typing import Any

_parse = ast.parse
_lock = threading.RLock()


def parse_alone(*arguments: Any, **keywords: Any) -> Any:
    with _lock:
        return _parse(*arguments, **keywords)


def pytest_configure() -> None:
    if sys.version_info < (3, 12):
        ast.parse = parse_alone
