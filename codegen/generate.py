"""Generates protocol/messages, protocol/api_key.py, error_codes.py, broker_errors.py and
broker/configs/kafka_settings.json from Kafka's jars.

python codegen/generate.py            write them
python codegen/generate.py --check    exit with 1, naming the files, if they are not what would be written
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import definitions
import jars
import python_source
from broker_errors import read_errors, render_codes, render_errors
from broker_settings import read_settings, render_settings

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "barnabas"


def load_messages() -> list[definitions.Message]:
    """Every message with a stable version, of both Kafka releases."""
    newer = definitions.read_jar(jars.jar(jars.CLIENTS))
    older = definitions.read_jar(jars.jar(jars.OLDER_CLIENTS))
    merged = definitions.merge(newer, older)
    for coordinates in jars.COORDINATORS:
        merged |= definitions.merge(definitions.read_jar(jars.jar(coordinates)), {})
    return [merged[name] for name in sorted(merged)]


def generated_files() -> dict[Path, str]:
    """The formatted source of every generated file."""
    messages = load_messages()
    modules: dict[str, list[definitions.Message]] = {}
    for message in messages:
        modules.setdefault(python_source.module_name(message), []).append(message)
    directory = PACKAGE / "protocol" / "messages"
    sources = {
        directory / f"{name}.py": python_source.render_module(group)
        for name, group in sorted(modules.items())
    }
    sources[PACKAGE / "protocol" / "api_key.py"] = python_source.render_api_keys(messages)
    errors = read_errors()
    sources[PACKAGE / "error_codes.py"] = render_codes(errors)
    sources[PACKAGE / "broker_errors.py"] = render_errors(errors)
    kafka_settings = PACKAGE / "broker" / "configs" / "kafka_settings.json"
    return {**formatted(sources), kafka_settings: render_settings(read_settings())}


def formatted(sources: dict[Path, str]) -> dict[Path, str]:
    """What ruff makes of the sources: all in one run, split at marker comments that it leaves alone."""
    marker = "# codegen: next file"
    ruff = Path(sys.executable).with_name("ruff")
    joined = "".join(f"{marker}\n\n\n{text}\n\n\n" for text in sources.values())
    completed = subprocess.run(
        [str(ruff), "format", "--stdin-filename", str(PACKAGE / "generated.py"), "-"],
        input=joined,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    parts = completed.stdout.split(marker + "\n")[1:]
    return {path: part.strip() + "\n" for path, part in zip(sources, parts, strict=True)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, say what is out of date")
    check = parser.parse_args().check
    try:
        files = generated_files()
    except jars.MissingToolError as error:
        print(error, file=sys.stderr)
        return 1
    directory = PACKAGE / "protocol" / "messages"
    stale = [path for path in directory.glob("*.py") if path.name != "__init__.py" and path not in files]
    changed = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if check:
        for path in (*stale, *changed):
            print(f"{path.relative_to(PACKAGE.parent.parent)} is not what codegen/generate.py writes")
        return 1 if stale or changed else 0
    directory.mkdir(parents=True, exist_ok=True)
    for path in stale:
        path.unlink()
    for path in changed:
        path.write_text(files[path])
    print(f"{len(changed)} of {len(files)} files written, {len(stale)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
