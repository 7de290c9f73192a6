import pytest

from barnabas.errors import InvalidSettingError
from barnabas.http.fetching import fetch
from barnabas.http.messages import HttpRequest
from barnabas.http.server import Page, PageServer


def test_pages_are_made_anew_for_every_request() -> None:
    made = iter((b"first", b"second"))
    server = PageServer("127.0.0.1", 0, {"/page": Page("text/plain", lambda: next(made))})
    try:
        pages = [fetch(HttpRequest(f"{server.url}/page?x=1", {}), timeout_seconds=5).body for _ in range(2)]
    finally:
        server.close()
    assert pages == [b"first", b"second"]


def test_a_page_that_is_not_there_is_answered_with_those_that_are() -> None:
    server = PageServer("127.0.0.1", 0, {"/metrics": Page("text/plain", bytes)})
    try:
        answer = fetch(HttpRequest(f"{server.url}/", {}), timeout_seconds=5)
    finally:
        server.close()
    assert answer.status == 404
    assert b"there are /metrics" in answer.body


def test_a_port_that_is_taken_is_named() -> None:
    server = PageServer("127.0.0.1", 0, {})
    try:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(InvalidSettingError, match=f"127.0.0.1:{port}.*choose another port"):
            PageServer("127.0.0.1", port, {})
    finally:
        server.close()
