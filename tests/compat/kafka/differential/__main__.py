"""`python -m tests.compat.kafka.differential [--on 1.2 | 2 | 3] [--show | --show-ours] [PART OF NAME ...]`

Plays the scripts whose names or files contain one of the parts, and prints differences. `--show` prints what
the genuine package showed instead, `--show-ours` what ours did; of 1.2.1 the golden files have it.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path

from tests.compat.kafka.differential import pending
from tests.compat.kafka.differential.brokers import NEW_RELEASE, OLD_RELEASE, theatre_on
from tests.compat.kafka.differential.pending import PENDING
from tests.compat.kafka.differential.played.script import (
    GENERATIONS,
    KAFKA,
    NONE,
    SECURE,
    Script,
    all_scripts,
)
from tests.compat.kafka.differential.runner import difference, difference_from_golden, goldens_of
from tests.compat.kafka.differential.troupe import Troupe
from tests.compat.playing.comparing import lines_of
from tests.compat.playing.played.parent import GENUINE, OURS
from tests.compat.playing.theatre import Theatre


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--on", choices=GENERATIONS, action="append", help="only this generation")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--show-ours", action="store_true")
    parser.add_argument("--old", action="store_true", help=f"play 1.2.1 on {OLD_RELEASE} too")
    parser.add_argument("--pending", action="store_true", help="only scripts that are not compared yet")
    parser.add_argument("--compared", action="store_true", help="only scripts that are")
    parser.add_argument("--brief", action="store_true", help="only the names of what differs")
    parser.add_argument("--write-pending", action="store_true", help="list in pending.py what differs")
    options = parser.parse_args()
    runs = [
        (script, generation, release)
        for script in all_scripts()
        for generation in script.generations
        for release in ((NEW_RELEASE, OLD_RELEASE) if generation == "1.2" and options.old else (NEW_RELEASE,))
        if _is_wanted(script, generation, options) and not (release == OLD_RELEASE and script.broker == NONE)
    ]
    troupe = Troupe()
    different: list[str] = []
    differing: set[tuple[str, str]] = set()
    with contextlib.ExitStack() as stack:
        theatres: dict[tuple[str, str], Theatre] = {}
        for script, generation, release in runs:
            theatre = None
            if script.broker != NONE:
                key = (script.broker, release)
                if key not in theatres:
                    is_secure = script.broker == SECURE
                    theatres[key] = stack.enter_context(theatre_on(release, is_secure=is_secure))
                theatre = theatres[key]
            begun = time.monotonic()
            found = _found(script, generation, troupe, theatre, options)
            taken = time.monotonic() - begun
            name = f"{script.name}[{generation}{f' on {release}' if script.broker == KAFKA else ''}]"
            if found:
                different.append(name)
                differing.add((script.name, generation))
                print(f"=== {name} {taken:.2f} s" + ("" if options.brief else f"\n{found}"), flush=True)
            elif taken > 3:
                print(f"--- {name} {taken:.2f} s", flush=True)
        troupe.close()
    print(f"{len(runs)} runs, {len(different)} with something to show: {' '.join(different)}")
    if options.write_pending:
        played = {(script.name, generation) for script, generation, _ in runs}
        already = {(name, generation) for name, generations in PENDING.items() for generation in generations}
        _write_pending((already - played) | differing)


def _write_pending(runs: set[tuple[str, str]]) -> None:
    lines: list[str] = []
    for name in sorted({name for name, _ in runs}):
        generations = ", ".join(f'"{each}"' for each in sorted(each for n, each in runs if n == name))
        lines.append(f'    "{name}": frozenset({{{generations}}}),\n')
    told = f"{{\n{''.join(lines)}}}" if lines else "{}"
    Path(pending.__file__).write_text(
        f'"""{pending.__doc__}"""\n\nPENDING: dict[str, frozenset[str]] = {told}\n'
        '"""By a script\'s name, the generations on which it is not."""\n'
    )


def _is_wanted(script: Script, generation: str, options: argparse.Namespace) -> bool:
    is_pending = generation in PENDING.get(script.name, ())
    return (
        (not options.parts or any(part in script.name or part in script.module for part in options.parts))
        and (not options.on or generation in options.on)
        and not (options.pending and not is_pending)
        and not (options.compared and is_pending)
    )


def _found(
    script: Script, generation: str, troupe: Troupe, theatre: Theatre | None, options: argparse.Namespace
) -> str:
    if options.show and generation == "1.2":
        return "\n".join(goldens_of(script.module).get(script.name, ["was not recorded"]))
    if options.show or options.show_ours:
        player = troupe.player(OURS if options.show_ours else GENUINE, generation)
        return "\n".join(lines_of(player.play(script, theatre)))
    if generation == "1.2":
        return difference_from_golden(script, troupe, theatre)
    return difference(script, generation, troupe, theatre)


if __name__ == "__main__":
    main()
