"""`python -m tests.compat.kafka.differential.embedded --python PYTHON_3.6 [--as 2.8] [PART OF NAME ...]`

Plays the genuine kafka-python 1.2.1 on the embedded broker that passes for an older release, and compares
with what it did on that release itself, which is in the golden files.
"""

from __future__ import annotations

import argparse
import sys

from tests.compat.kafka.differential.played.script import KAFKA, all_scripts
from tests.compat.kafka.differential.runner import goldens_of
from tests.compat.kafka.differential.troupe import Troupe
from tests.compat.playing.comparing import compared, lines_of
from tests.compat.playing.played.parent import GENUINE
from tests.compat.playing.theatre import Theatre

from barnabas.testing import EmbeddedBroker


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--python", required=True, help="a Python 3.6, with pip")
    parser.add_argument("--as", dest="release", default="2.8", help="which release the broker passes for")
    options = parser.parse_args()
    troupe = Troupe(options.python)
    played, different = 0, 0
    with EmbeddedBroker(as_version=options.release) as broker:
        theatre = Theatre(broker)
        for script in all_scripts():
            golden = goldens_of(script.module).get(script.name)
            names = f"{script.module}.{script.name}"
            is_wanted = not options.parts or any(part in names for part in options.parts)
            if golden is None or script.broker != KAFKA or not is_wanted:
                continue
            seen = lines_of(troupe.player(GENUINE, "1.2").play(script, theatre))
            difference = compared(script.name, golden, seen)
            played += 1
            if difference:
                different += 1
                print(f"=== {script.name}", difference, sep="\n", flush=True)
        theatre.close()
    troupe.close()
    print(f"{played} scripts played, {different} differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
