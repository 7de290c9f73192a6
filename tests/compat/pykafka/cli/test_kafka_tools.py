"""What the differential suite cannot see: how kafka-tools is started, and where it does what its help says
and the original fails."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from barnabas import Admin
from barnabas.compat.pykafka.cli import kafka_tools
from barnabas.testing import ApacheKafka

ROOT = Path(__file__).parents[4]


def test_kafka_tools_is_a_console_script() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["barnabas-kafka-tools"].partition(":")
    assert getattr(importlib.import_module(module), name) is kafka_tools.main


def test_no_console_script_has_the_name_of_another_packages() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert all(name.partition("-")[0] == "barnabas" for name in scripts), scripts


@pytest.mark.parametrize("module", ["cli.kafka_tools", "cli"])
@pytest.mark.integration
def test_kafka_tools_is_a_module_that_runs(module: str) -> None:
    command = [sys.executable, "-m", f"barnabas.compat.pykafka.{module}", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "print_managed_consumer_groups" in done.stdout


def test_create_topic_takes_an_assignment_and_settings_as_json(
    apache_kafka: ApacheKafka, topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_name = topic()
    with Admin(apache_kafka.bootstrap) as admin:
        (node,) = (each.node_id for each in admin.describe_cluster().nodes)
        assignment = json.dumps({"0": [node], "1": [node]})
        settings = json.dumps({"retention.ms": 777000})
        unset = ["-p", "-1", "-r", "-1"]
        arguments = ["create_topic", topic_name, *unset, "-a", assignment, "-c", settings]
        server = ["-b", apache_kafka.bootstrap, "-o", "2.0.0"]
        monkeypatch.setattr(sys, "argv", ["kafka-tools", *server, *arguments])
        kafka_tools.main()
        assert len(admin.describe_topics([topic_name])[topic_name].partitions) == 2


def test_what_prints_tables_is_named_where_it_is_missing() -> None:
    with (
        mock.patch.dict(sys.modules, {"tabulate": None}),
        pytest.raises(ImportError, match=r"barnabas\[pykafka\]"),
    ):
        kafka_tools.print_topics(mock.Mock(topics={}), mock.Mock())
