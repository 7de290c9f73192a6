from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from barnabas import Admin, Producer
from barnabas.cli.bench import percentiles
from barnabas.testing import EmbeddedBroker

Here = Callable[..., Any]


@pytest.mark.parametrize("what", ["produce", "consume", "latency"])
def test_a_cluster_is_measured_in_a_topic_that_is_removed(
    here: Here, embedded_broker: EmbeddedBroker, what: str
) -> None:
    found = json.loads(here("bench", what, "--records", "200", "--size", "10", "--json").stdout)
    assert (found["what"], found["records"]) == (what, 200)
    assert found["bytes"] >= 2000
    # Seconds are told in thousandths, and the rate in tenths, each rounded.
    seconds, rate = found["seconds"], found["records_per_second"]
    assert 200 / (seconds + 0.0006) - 0.06 <= rate <= 200 / (seconds - 0.0006) + 0.06
    if what != "consume":
        assert found["latency_samples"] == 200
        assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p99.9"] <= found["latency_ms"]["max"]
    with Admin(embedded_broker.bootstrap) as admin:
        assert not [name for name in admin.list_topics() if name.startswith("barnabas-bench-")]


def test_acks_and_the_codec_are_chosen(
    here: Here, made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Noted(Producer):
        given: ClassVar[list[Any]] = []

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.given.append((settings.get("acks"), settings.get("compression")))

    monkeypatch.setattr("barnabas.Producer", Noted)
    chosen = ("--acks", "1", "--compression", "gzip", "-n", "5", "--topic", made())
    here("bench", "produce", *chosen, "-X", "compression.type=lz4", "-X", "acks=all")
    here("bench", "latency", *chosen)
    assert Noted.given == [("1", "gzip")] * 2
    refused = here("bench", "produce", "--acks", "7", ok=False).stderr
    assert refused == "error: acks must be one of all, 0, 1, -1, not '7'\n"


def test_lines_of_a_file_are_sent_to_a_topic_that_stays(
    here: Here, made: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    name = made()
    done = here("bench", "produce", "-n", "3", "--topic", name, "--payload-file", str(tmp_path / "lines"))
    assert "3 records" in done.stdout
    assert here("consume", name, "--from-beginning", "-e").stdout == "one\ntwo\none\n"
    assert "3 records" in here("bench", "consume", "-n", "100", "--topic", name).stdout


def test_percentiles_are_those_that_so_many_do_not_exceed() -> None:
    found = percentiles([float(number) for number in range(1, 1001)])
    assert found == {"mean": 500.5, "p50": 500, "p95": 950, "p99": 990, "p99.9": 999, "max": 1000}
    assert percentiles([7.0])["p99.9"] == 7.0
