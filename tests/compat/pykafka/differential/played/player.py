"""A process that plays scripts with one package, as its parent tells it: `python -m ... SIDE`.

The package is the first on PYTHONPATH, or Barnabas's facade.
"""

from __future__ import annotations

import importlib
import sys

from tests.compat.playing.played.parent import OURS, serve
from tests.compat.pykafka.differential.played.stage import Stage


def main() -> None:
    (side,) = sys.argv[1:]
    if side == OURS:
        importlib.import_module("barnabas.compat").install("pykafka")
    serve("pykafka", Stage)


if __name__ == "__main__":
    main()
