"""The log of a client: which lines there are, what they look like, and where they go."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.compat.librdkafka.config.configuration import Configuration
from barnabas.compat.librdkafka.config.log_properties import LogProperties, log_properties
from barnabas.compat.librdkafka.config.property_rules import LOG_ERROR, LOG_NOTICE, LogLine
from barnabas.compat.librdkafka.log import failures
from barnabas.compat.librdkafka.log.client_log import ClientLog
from barnabas.compat.librdkafka.log.failures import FailureLimit


class Told:
    """A logger, and the calls that wait to be made to it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []
        self.lines: list[tuple[Any, ...]] = []

    def log(self, *arguments: Any) -> None:
        self.lines.append(arguments)

    def client_log(self, **properties: Any) -> ClientLog:
        return ClientLog(
            LogProperties(**properties), self, name="rdkafka#producer-1", put=self.waiting.append
        )

    def serve(self) -> list[tuple[Any, ...]]:
        for call in self.waiting:
            call()
        self.waiting.clear()
        return self.lines


def test_a_line_waits_until_the_program_serves_it() -> None:
    told = Told()
    told.client_log().write(LOG_ERROR, "FAIL", "main", "a text")
    assert not told.lines
    assert told.serve() == [
        (logging.ERROR, "%s [%s] %s", "FAIL", "rdkafka#producer-1", "[thrd:main]: a text")
    ]


@pytest.mark.parametrize(
    ("level", "logged"),
    [(0, 50), (1, 50), (2, 50), (3, 40), (4, 30), (5, 20), (6, 20), (7, 10)],
)
def test_levels_of_syslog_are_pythons(level: int, logged: int) -> None:
    told = Told()
    told.client_log(level=7).write(level, "X", "app", "text")
    assert told.serve()[0][0] == logged


def test_lines_beyond_the_level_are_left_out() -> None:
    told = Told()
    log = told.client_log(level=3)
    log.write(4, "X", "app", "text")
    assert not told.waiting
    log.write(3, "X", "app", "text")
    assert len(told.serve()) == 1


def test_threads_are_named_unless_the_property_says_no() -> None:
    told = Told()
    told.client_log(names_threads=False).write(3, "X", "app", "text")
    assert told.serve()[0][-1] == "text"


def test_a_debug_line_is_told_for_any_of_its_contexts() -> None:
    told = Told()
    log = told.client_log(level=7, contexts=frozenset({"broker"}))
    log.debug("protocol broker", "CONNECTED", "main", "both")
    log.debug("protocol", "SEND", "main", "another")
    log.debug("", "INIT", "main", "each")
    assert [line[-1] for line in told.serve()] == ["[thrd:main]: both", "[thrd:main]: each"]


def test_without_debug_there_is_neither_init_nor_any_debug_line() -> None:
    told = Told()
    log = told.client_log(level=7)
    log.begin([LogLine(LOG_NOTICE, "CONFWARN", "a warning")])
    log.debug("", "INIT", "app", "text")
    assert [line[2] for line in told.serve()] == ["CONFWARN"]


def test_without_a_logger_lines_go_to_stderr_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = ClientLog(LogProperties(), None, name="rdkafka#consumer-2", put=lambda call: pytest.fail("waits"))
    log.write(4, "MAXPOLL", "main", "text")
    printed = capsys.readouterr().err
    assert re.fullmatch(r"%4\|\d+\.\d{3}\|MAXPOLL\|rdkafka#consumer-2\| \[thrd:main\]: text\n", printed)


def test_no_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    ClientLog(LogProperties(), None, name="n", put=lambda call: None).write(3, "X", "app", "text")


def test_debug_is_told_whatever_log_level_says() -> None:
    configuration = Configuration.parse("producer", ({"debug": "msg, broker", "log_level": 0},))
    properties = log_properties(configuration.values)
    assert (properties.level, properties.contexts) == (7, {"msg", "broker"})
    assert properties.debug_bits == 0x42
    everything = log_properties(Configuration.parse("producer", ({"debug": "all"},)).values)
    assert everything.debug_bits == 0xFFFFF


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "sasl.username",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.assertion.private.key.passphrase",
    ],
)
def test_no_secret_is_listed(name: str) -> None:
    values = Configuration("producer").values
    values.set("debug", "conf")
    values.set(name, "very secret")
    assert f"  {name} = [redacted]" in log_properties(values).listing
    assert "very secret" not in "".join(log_properties(values).listing)


def test_the_same_failure_is_logged_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(failures, "CLOCK", SimpleNamespace(monotonic=lambda: now[0]))
    limit = FailureLimit()
    text = "Connect to {} failed: Connection refused (after {}ms in state CONNECT)"
    assert limit.line("a:1/1", text.format("a", 0)) == text.format("a", 0)
    assert limit.line("a:1/1", text.format("a", 7)) is None
    assert limit.line("b:1/1", text.format("a", 7)) is not None
    now[0] += 31
    assert limit.line("a:1/1", text.format("a", 3)) == (
        "Connect to a failed: Connection refused "
        "(after 3ms in state CONNECT, 1 identical error(s) suppressed)"
    )
    assert limit.line("a:1/1", "another failure") == "another failure"
    assert limit.line("a:1/1", text.format("a", 3)) == text.format("a", 3)
