from __future__ import annotations

from collections.abc import Callable

from starlette.testclient import TestClient

from barnabas import Registry
from barnabas.registry import Schema
from barnabas.testing import EmbeddedRegistry

OpenPage = Callable[..., TestClient]
FIRST = '{"type": "record", "name": "F", "fields": [{"name": "delay", "type": "int"}]}'
SECOND = FIRST.replace("}]}", '}, {"name": "gate", "type": "string", "default": ""}]}')


def test_a_subject_has_versions_their_difference_and_a_check(open_page: OpenPage) -> None:
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client:
            client.register("flights-value", Schema(FIRST))
            client.register("flights-value", Schema(SECOND))
        page = open_page(registry=registry.url)
        assert "flights-value" in page.get("/schemas").text
        text = page.get("/schema", params={"subject": "flights-value"}).text
        assert '<span class="added">+      &#34;name&#34;: &#34;gate&#34;,</span>' in text
        assert "BACKWARD" in text
        where = {"subject": "flights-value", "version": "2"}
        good = page.post("/schema", params=where, data={"schema": SECOND})
        assert "It is compatible with version 2" in good.text
        bad = page.post("/schema", params=where, data={"schema": FIRST.replace('"int"', '"string"')})
        assert "It is not compatible" in bad.text


def test_a_page_without_a_registry_says_how_to_name_one(open_page: OpenPage) -> None:
    answer = open_page().get("/schemas")
    assert answer.status_code == 404
    assert "--registry" in answer.text
