"""A process that plays scripts with one package, as its parent tells it: `python -m ... SIDE GENERATION`.

The package is the first on PYTHONPATH, or Barnabas's facade.
"""

import importlib
import sys

from tests.compat.kafka.differential.played.stage import Stage
from tests.compat.playing.played.parent import OURS, serve


def main():
    side, generation = sys.argv[1:]
    if side == OURS:
        importlib.import_module("barnabas.compat").install("kafka", version=generation)
    serve("kafka", lambda kafka, bootstrap, ask: Stage(kafka, generation, bootstrap, ask))


if __name__ == "__main__":
    main()
