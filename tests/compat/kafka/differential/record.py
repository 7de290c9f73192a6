"""`python -m tests.compat.kafka.differential.record --python PATH_OF_PYTHON_3.6 [PART OF NAME ...]`

Records what kafka-python 1.2.1 does on a broker of its time, Apache Kafka 2.8.2 with ZooKeeper, into the
golden files. It runs on no newer Python than 3.6, where `async` was a name. Only scripts whose names or
files contain one of the parts are played; what was recorded of scripts that are no more goes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict

from tests.compat.kafka.differential.brokers import OLD_RELEASE, theatre_on
from tests.compat.kafka.differential.played.script import KAFKA, NONE, Script, all_scripts
from tests.compat.kafka.differential.runner import GOLDENS, golden_path, goldens_of
from tests.compat.kafka.differential.troupe import Troupe
from tests.compat.playing.comparing import is_broken, lines_of
from tests.compat.playing.played.parent import GENUINE


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--python", required=True, help="a Python 3.6, with pip")
    parser.add_argument("--missing", action="store_true", help="only what was never recorded")
    parser.add_argument("--show", action="store_true", help="show what is recorded")
    options = parser.parse_args()
    by_module: dict[str, list[Script]] = defaultdict(list)
    for script in all_scripts():
        if "1.2" in script.generations:
            by_module[script.module].append(script)
    troupe = Troupe(options.python)
    broken: list[str] = []
    with theatre_on(OLD_RELEASE) as theatre:
        for module, scripts in by_module.items():
            goldens = goldens_of(module)
            recorded = {script.name: goldens[script.name] for script in scripts if script.name in goldens}
            for script in scripts:
                if script.broker not in (NONE, KAFKA):
                    raise ValueError(f"{script.name}: 1.2.1 knows no SASL")
                is_wanted = not options.parts or any(
                    part in script.name or part in module for part in options.parts
                )
                if not is_wanted or (options.missing and script.name in recorded):
                    continue
                place = theatre if script.broker == KAFKA else None
                lines = lines_of(troupe.player(GENUINE, "1.2").play(script, place))
                if options.show or is_broken(lines):
                    print(f"=== {script.name}", *lines, sep="\n", flush=True)
                if is_broken(lines) or not lines:
                    broken.append(script.name)
                else:
                    recorded[script.name] = lines
            GOLDENS.mkdir(exist_ok=True)
            text = json.dumps(
                {script.name: recorded[script.name] for script in scripts if script.name in recorded},
                indent=1,
            )
            golden_path(module).write_text(text + "\n")
    troupe.close()
    gone = {golden_path(module) for module in by_module}
    for path in GOLDENS.glob("*.json"):
        if path not in gone:
            path.unlink()
    if broken:
        sys.exit(f"these did not end as scripts should, and are not recorded: {' '.join(broken)}")


if __name__ == "__main__":
    main()
