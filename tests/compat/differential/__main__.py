"""`python -m tests.compat.differential [--show] [--real-twice] [--apache | --secure ...] [PART OF NAME ...]`

Runs the scripts whose names or files contain one of the parts, and prints differences. `--show` prints what
the real package showed instead, `--show-ours` what ours did; `--real-twice` compares the real one with
itself, which finds scripts that chance decides.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Set
from pathlib import Path

from tests.compat.differential import pending
from tests.compat.differential.pending import PENDING
from tests.compat.differential.runner import OURS, REAL, difference, play
from tests.compat.differential.script import Broker, all_scripts
from tests.compat.differential.stage import House

from barnabas.testing import ApacheKafka, EmbeddedBroker, SecureListeners

BROKERS: dict[Broker, Callable[[], ApacheKafka | EmbeddedBroker]] = {
    Broker.APACHE: ApacheKafka,
    Broker.EMBEDDED: EmbeddedBroker,
    Broker.SECURE: lambda: ApacheKafka(security=SecureListeners()),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--show-ours", action="store_true")
    parser.add_argument("--real-twice", action="store_true")
    parser.add_argument("--apache", action="store_true")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--none", action="store_true")
    parser.add_argument("--pending", action="store_true", help="only scripts that are not compared yet")
    parser.add_argument("--compared", action="store_true", help="only scripts that are")
    parser.add_argument("--write-pending", action="store_true", help="list in pending.py what differs")
    options = parser.parse_args()
    scripts = [
        script
        for script in all_scripts()
        if (
            not options.parts
            or any(part in script.name or part in script.function.__module__ for part in options.parts)
        )
        and not (options.pending and script.name not in PENDING)
        and not (options.compared and script.name in PENDING)
    ]
    wanted = [
        broker
        for broker in Broker
        if getattr(options, broker.value) or not any(getattr(options, each.value) for each in Broker)
    ]
    different: list[str] = []
    played: set[str] = set()
    differing: set[str] = set()
    count = 0
    for broker in wanted:
        chosen = [script for script in scripts if broker in script.brokers]
        if not chosen:
            continue
        started = None if broker is Broker.NONE else BROKERS[broker]().start()
        house = None if started is None else House.of(started)
        for script in chosen:
            begun = time.monotonic()
            if options.show or options.show_ours:
                library = importlib.import_module(OURS if options.show_ours else REAL)
                found = "\n".join(play(script, library, house))
            else:
                found = difference(script, house, (REAL, REAL if options.real_twice else OURS))
            count += 1
            played.add(script.name)
            taken = time.monotonic() - begun
            if found:
                differing.add(script.name)
                different.append(f"{script.name}[{broker}]")
                print(f"=== {script.name} [{broker}] {taken:.2f} s\n{found}", flush=True)
            elif taken > 0.7:
                print(f"--- {script.name} [{broker}] {taken:.2f} s", flush=True)
        if house is not None:
            house.close()
        if started is not None:
            started.close()
    print(f"{count} runs, {len(different)} with something to show: {' '.join(different)}")
    if options.write_pending:
        write_pending((PENDING - played) | differing)


def write_pending(names: Set[str]) -> None:
    lines = "".join(f'        "{name}",\n' for name in sorted(names))
    listed = f"frozenset(\n    {{\n{lines}    }}\n)" if names else "frozenset()"
    Path(pending.__file__).write_text(f'"""{pending.__doc__}"""\n\nPENDING: frozenset[str] = {listed}\n')


if __name__ == "__main__":
    main()
