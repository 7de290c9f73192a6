"""The settings of Kafka's brokers, read out of its Java classes, as broker/configs/kafka_settings.json.

Owns what of them is kept, and how.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jars

_RANGE = re.compile(r"\[(?P<low>[^,]*),\.\.\.(?:,(?P<high>[^,]*))?\]")
_WORDS = re.compile(r"\[(?P<words>[^\]]*)\]")


def read_settings() -> list[dict[str, Any]]:
    """In the order of their names. Raises MissingToolError without a JDK."""
    jars.require_tool("javac", "openjdk-17-jdk-headless")
    class_path = jars.class_path(jars.CLIENTS, *jars.COORDINATORS, *jars.SERVER)
    completed = subprocess.run(
        ["java", "-cp", class_path, str(Path(__file__).with_name("DumpBrokerSettings.java"))],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(completed.stdout)


def render_settings(settings: list[dict[str, Any]]) -> str:
    """The text of kafka_settings.json: a setting a line, without what is as usual."""
    return "[\n" + ",\n".join(json.dumps(_kept(setting)) for setting in settings) + "\n]\n"


def _kept(setting: dict[str, Any]) -> dict[str, Any]:
    kept = {name: setting[name] for name in ("name", "type", "default")}
    kept |= _values(setting["values"])
    if setting["changes"]:
        kept["changes"] = setting["changes"]
    if setting["internal"]:
        kept["internal"] = True
    return {**kept, "documentation": setting["documentation"]}


def _values(told: str) -> dict[str, Any]:
    """What Java says of the values that are taken, as far as it is a range or words."""
    if found := _RANGE.fullmatch(told):
        return {name: json.loads(bound) for name, bound in found.groupdict().items() if bound}
    if found := _WORDS.fullmatch(told):
        return {"words": found["words"].split(", ")}
    return {}
