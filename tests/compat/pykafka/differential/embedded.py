"""`python -m tests.compat.pykafka.differential.embedded [--as 2.8] [PART OF NAME ...]`

Plays the genuine pykafka on a broker of its time and on the embedded one that passes for it, and prints
differences. Scripts that need ZooKeeper, or stop the broker, are left out.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tests.compat.playing.comparing import compared
from tests.compat.playing.theatre import Theatre
from tests.compat.pykafka.differential.brokers import OLD_RELEASE, theatre_on
from tests.compat.pykafka.differential.played.script import KAFKA, all_scripts
from tests.compat.pykafka.differential.runner import Runner

from barnabas.testing import EmbeddedBroker


class EmbeddedTheatre(Theatre):
    @property
    def place(self) -> Any:
        return (self.bootstrap, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--as", dest="release", default="2.8", help="which release the broker passes for")
    options = parser.parse_args()
    played, different = 0, 0
    old_runner, runner = Runner(), Runner()
    with theatre_on(OLD_RELEASE) as old, EmbeddedBroker(as_version=options.release) as broker:
        theatre = EmbeddedTheatre(broker)
        for script in all_scripts():
            name = f"{script.module}.{script.name}"
            is_wanted = not options.parts or any(part in name for part in options.parts)
            if script.broker != KAFKA or not is_wanted:
                continue
            seen = runner.genuine(script, theatre)
            difference = compared(script.name, old_runner.genuine(script, old), seen)
            played += 1
            if difference:
                different += 1
                print(f"=== {script.name}", difference, sep="\n", flush=True)
        theatre.close()
    runner.close()
    old_runner.close()
    print(f"{played} scripts played, {different} differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
