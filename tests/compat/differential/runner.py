"""Runs a script with both libraries and compares what each saw.

Owns where the libraries come from and how a difference is shown.
"""

from __future__ import annotations

import contextvars
import difflib
import importlib
import pprint
import threading
import traceback
from types import ModuleType
from typing import Any

from tests.compat.differential.script import Script
from tests.compat.differential.stage import House, Stage

REAL = "confluent_kafka"
OURS = "barnabas.compat.confluent_kafka"

BROKEN = ("the script itself failed", "gave up waiting for")


def difference(script: Script, house: House | None, libraries: tuple[str, str] = (REAL, OURS)) -> str:
    """The lines by which the two recordings differ; empty if they do not."""
    modules = [importlib.import_module(name) for name in libraries]
    recordings: list[list[str]] = [[], []]

    def play_into(index: int) -> None:
        recordings[index] = play(script, modules[index], house)

    if script.alone:
        for index in range(2):
            play_into(index)
    else:
        # Threads of their own: an exception that an extension module left behind ends with its thread.
        threads = [threading.Thread(target=play_into, args=(index,), daemon=True) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if not recordings[0]:
        return f"{script.name} recorded nothing"
    broken = [line for line in recordings[0] if line.startswith(BROKEN)]
    if broken:
        return "with the real package:\n" + "\n".join(recordings[0])
    return "\n".join(
        difflib.unified_diff(*recordings, fromfile=libraries[0], tofile=libraries[1], lineterm="", n=2)
    )


def play(script: Script, module: ModuleType, house: House | None) -> list[str]:
    """The lines of what one library showed."""
    stage = Stage(module, house)
    try:
        # In a context of its own: serializers keep the last key there, that of a test before too.
        contextvars.Context().run(script.function, module, stage)
    except Exception:
        stage.record(BROKEN[0], traceback.format_exc().splitlines()[-4:])
    finally:
        stage.close()
    return [line for seen in list(stage.seen) for line in _lines(seen)]


def _lines(seen: tuple[str, Any]) -> list[str]:
    label, value = seen
    return [f"{label}:", *("    " + line for line in pprint.pformat(value, width=100).splitlines())]
