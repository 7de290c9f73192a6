"""`python -m tests.compat.pykafka.differential [--on RELEASE] [--show | --show-ours] [PART OF NAME ...]`

Plays the scripts whose names or files contain one of the parts, and prints differences. `--show` prints what
the genuine package showed instead, `--show-ours` what ours did.
"""

from __future__ import annotations

import argparse
import contextlib
import time

from tests.compat.playing.theatre import Theatre
from tests.compat.pykafka.differential.brokers import NEW_RELEASE, OLD_RELEASE, theatre_on
from tests.compat.pykafka.differential.played.script import FRAIL, NONE, all_scripts
from tests.compat.pykafka.differential.runner import Runner, releases_of


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--on", choices=(OLD_RELEASE, NEW_RELEASE), help="ours only on this release")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--show-ours", action="store_true")
    options = parser.parse_args()
    runs = [
        (script, release)
        for script in all_scripts()
        if not options.parts or any(part in script.name or part in script.module for part in options.parts)
        for release in releases_of(script)
        if options.on in (None, release) and not (options.show and release != OLD_RELEASE)
    ]
    runner = Runner()
    different: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(runner.close)
        theatres: dict[tuple[str, bool], Theatre] = {}

        def theatre(release: str, *, is_frail: bool) -> Theatre:
            if (release, is_frail) not in theatres:
                theatres[release, is_frail] = stack.enter_context(theatre_on(release))
            return theatres[release, is_frail]

        for script, release in runs:
            begun = time.monotonic()
            has_broker = script.broker != NONE
            is_frail = script.broker in FRAIL
            place = theatre(release, is_frail=is_frail) if has_broker else None
            if options.show_ours:
                found = "\n".join(runner.ours(script, place))
            else:
                old = theatre(OLD_RELEASE, is_frail=is_frail) if has_broker else None
                found = (
                    "\n".join(runner.genuine(script, old))
                    if options.show
                    else runner.difference(script, old, place)
                )
            taken = time.monotonic() - begun
            name = f"{script.name}[{release}]"
            if found:
                different.append(name)
                print(f"=== {name} {taken:.2f} s\n{found}", flush=True)
            elif taken > 3:
                print(f"--- {name} {taken:.2f} s", flush=True)
    print(f"{len(runs)} runs, {len(different)} with something to show: {' '.join(different)}")


if __name__ == "__main__":
    main()
