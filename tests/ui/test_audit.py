from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from barnabas.errors import InvalidSettingError
from barnabas.registry_server.access import user_line
from barnabas.testing import EmbeddedBroker
from barnabas.ui.audit import HIDDEN, AuditLog, shown_fields, without_hidden

OpenPage = Callable[..., TestClient]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def token(page: TestClient, **options: Any) -> str:
    return page.get("/topics", **options).text.split('name="csrf" value="')[1].split('"')[0]


def test_a_change_is_a_line(open_page: OpenPage, log: Path, topic: Callable[[], str]) -> None:
    page, name = open_page(allows_writes=True, audit_log=log), topic()
    page.post("/topics", data={"csrf": token(page), "name": name, "partitions": "1"})
    (line,) = lines(log)
    assert line.pop("time").endswith("+00:00")
    assert "127.0.0.1:" in line.pop("cluster")
    assert line.pop("fields")["name"] == name
    assert name in line.pop("told")
    assert line == {
        "outcome": "done",
        "user": None,
        "role": "admin",
        "address": "testclient",
        "method": "POST",
        "path": "/topics",
        "query": {},
        "error": None,
    }


def test_a_change_that_fails_is_a_line_with_the_error(
    open_page: OpenPage, log: Path, embedded_broker: EmbeddedBroker
) -> None:
    page = open_page(allows_writes=True, audit_log=log, faults=embedded_broker.faults.url)
    page.post("/faults/switch", data={"csrf": token(page), "do": "remove", "id": "no-such-fault"})
    (line,) = lines(log)
    assert (line["outcome"], line["told"]) == ("failed", None)
    assert "no-such-fault" in line["error"]


def test_a_change_that_is_not_allowed_is_a_line_with_who_tried(
    open_page: OpenPage, log: Path, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    users.write_text(user_line("ann", "read", "a"))
    page = open_page(allows_writes=True, audit_log=log, users=users)
    page.post("/topics", data={"name": "flights"}, auth=("ann", "a"))
    (line,) = lines(log)
    assert (line["outcome"], line["user"], line["role"]) == ("refused", "ann", "viewer")
    assert "this needs admin" in line["error"]


def test_a_form_of_another_site_is_a_line(open_page: OpenPage, log: Path) -> None:
    open_page(allows_writes=True, audit_log=log).post("/topics", data={"name": "flights"})
    (line,) = lines(log)
    assert (line["outcome"], line["fields"]) == ("refused", {})


def test_a_record_is_in_the_log_by_its_size_alone(
    open_page: OpenPage, log: Path, written: Callable[..., str]
) -> None:
    page, topic = open_page(allows_writes=True, audit_log=log), written()
    form = {"csrf": token(page), "key": "BA 117", "value": "a secret delay", "headers": "to=Rome"}
    page.post(f"/topics/{topic}/records", data=form)
    (line,) = lines(log)
    assert line["outcome"] == "done"
    assert line["fields"]["value"] == {"bytes": 14}
    for hidden in ("BA 117", "secret delay", "Rome", form["csrf"]):
        assert hidden not in log.read_text()


def test_the_value_of_a_setting_is_in_the_log(
    open_page: OpenPage, log: Path, written: Callable[..., str]
) -> None:
    page, topic = open_page(allows_writes=True, audit_log=log), written()
    form = {"csrf": token(page), "name": "retention.ms", "value": "60000"}
    page.post(f"/topics/{topic}/settings", data=form)
    assert lines(log)[0]["fields"] == {"name": "retention.ms", "value": "60000"}


@pytest.mark.parametrize(
    "form",
    [
        {"password": "hush-hush"},
        {"new_password": "hush-hush"},
        {"name": "listener.name.a.sasl.jaas.config", "value": "hush-hush"},
        {"name": "ssl.keystore.key", "value": "hush-hush"},
        {"oauth.client.secret": "hush-hush"},
    ],
)
def test_nothing_secret_is_in_the_log(form: dict[str, str]) -> None:
    shown = shown_fields(form, ("value",))
    assert HIDDEN in shown.values()
    assert "hush-hush" not in str(shown)
    assert without_hidden("hush-hush is too short", form, ("value",)) == f"{HIDDEN} is too short"


def test_a_long_field_is_cut() -> None:
    assert len(shown_fields({"schema": "x" * 10_000_000})["schema"]) < 2_000


def test_what_is_sent_makes_no_line_of_its_own(log: Path) -> None:
    with closing(AuditLog(log)) as audit:
        fields = shown_fields({"name": 'a\n{"outcome": "done"}\u2028\x1b[0m'})
        audit.add({"outcome": "refused", "fields": fields})
    assert [line["outcome"] for line in lines(log)] == ["refused"]
    assert log.read_bytes().isascii()


def test_lines_go_to_the_logger_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "barnabas.ui.audit"):
        AuditLog().add({"outcome": "done"})
    assert json.loads(caplog.messages[0])["outcome"] == "done"


def test_a_log_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingError, match="no-such-folder"):
        AuditLog(tmp_path / "no-such-folder" / "audit.jsonl")


def test_nothing_is_changed_while_the_log_cannot_be_written_and_no_line_is_lost(
    open_page: OpenPage, log: Path, topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page, name = open_page(allows_writes=True, audit_log=log), topic()
    form = {"csrf": token(page), "name": name, "partitions": "1"}

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("barnabas.ui.audit.os.write", full)
        page.post("/topics", data={"name": "guessed"})
        answer = page.post("/topics", data=form)
        assert answer.status_code == 503
        assert "No space left on device" in answer.text
    assert page.post("/topics", data=form).status_code == 200
    assert [line["outcome"] for line in lines(log)] == ["refused", "refused", "done"]


def test_what_is_refused_does_not_fill_the_memory_while_the_log_cannot_be_written(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with closing(AuditLog(log)) as audit:
        with monkeypatch.context() as patched:
            patched.setattr("barnabas.ui.audit.os.write", full)
            for _ in range(20):
                audit.add({"outcome": "refused", "error": "x" * 100_000})
            assert audit.problem() is not None
        assert audit.problem() is None
    assert log.stat().st_size < 2 << 20
    assert lines(log)[-1]["lost_lines"] == 20 - (len(lines(log)) - 1)


def test_the_log_is_for_whoever_runs_the_page_alone(log: Path) -> None:
    before = os.umask(0)
    try:
        AuditLog(log).close()
    finally:
        os.umask(before)
    assert log.stat().st_mode & 0o777 == 0o600
