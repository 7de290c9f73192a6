"""Pages of a registry: what there is, and changes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient
from tests.ui.pages.test_topics import token_of

from barnabas import Registry
from barnabas.registry import RegistrySettings, Schema, SchemaReference
from barnabas.registry.errors import RegistryError
from barnabas.testing import EmbeddedRegistry

OpenPage = Callable[..., TestClient]
FIRST = '{"type": "record", "name": "F", "fields": [{"name": "delay", "type": "int"}]}'
SECOND = FIRST.replace("}]}", '}, {"name": "gate", "type": "string", "default": ""}]}')
OTHER = FIRST.replace('"int"', '"string"')


@pytest.fixture
def registry() -> Iterator[EmbeddedRegistry]:
    with EmbeddedRegistry() as registry:
        yield registry


@pytest.fixture
def client(registry: EmbeddedRegistry) -> Iterator[Registry]:
    with Registry(registry.url) as client:
        yield client


@pytest.fixture
def page(open_page: OpenPage, registry: EmbeddedRegistry) -> TestClient:
    return open_page(registry=registry.url, allows_writes=True)


@pytest.fixture
def csrf(page: TestClient) -> str:
    return token_of(page.get("/topics").text)


def at(subject: str, **more: str) -> dict[str, str]:
    return {"subject": subject, **more}


def test_a_pasted_schema_is_registered_once_it_is_compatible(
    page: TestClient, csrf: str, client: Registry
) -> None:
    form = {"csrf": csrf, "subject": "flights-value", "type": "AVRO", "schema": FIRST}
    checked = page.post("/schemas", data={**form, "do": "check"})
    assert "could be registered for flights-value" in checked.text
    assert client.subjects() == []
    assert "flights-value has this schema" in page.post("/schemas", data=form).text
    assert json.loads(client.version("flights-value", 1).schema.text) == json.loads(FIRST)
    refused = page.post("/schemas", data={**form, "schema": OTHER}).text
    assert "It is not compatible." in refused
    assert "type" in refused.split('id="verdict"')[1].split("</p>")[0]
    assert "&#34;string&#34;" in refused.split("<textarea")[1]
    assert client.versions("flights-value") == [1]
    assert "flights-value has this schema" in page.post("/schemas", data={**form, "schema": SECOND}).text
    assert client.versions("flights-value") == [1, 2]


def test_what_is_no_schema_is_told_in_the_registrys_words(page: TestClient, csrf: str) -> None:
    form = {"csrf": csrf, "subject": "s", "type": "AVRO", "schema": "<script>alert(1)</script>"}
    answer = page.post("/schemas", data=form)
    assert '<p class="told error"' in answer.text
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize(
    "changes", [{"subject": " "}, {"type": "XML"}, {"references": "name"}, {"references": "a=b"}]
)
def test_a_form_that_cannot_be_is_refused(page: TestClient, csrf: str, changes: dict[str, str]) -> None:
    form = {"csrf": csrf, "subject": "s", "type": "AVRO", "schema": FIRST}
    assert page.post("/schemas", data={**form, **changes}).status_code == 400


def test_references_lead_both_ways(page: TestClient, csrf: str, client: Registry) -> None:
    client.register("gates", Schema('{"type": "enum", "name": "Gate", "symbols": ["A", "B"]}'))
    text = '{"type": "record", "name": "F", "fields": [{"name": "gate", "type": "Gate"}]}'
    form = {"csrf": csrf, "subject": "flights", "type": "AVRO", "schema": text, "references": "Gate=gates:1"}
    page.post("/schemas", data=form)
    assert client.version("flights", 1).schema.references == (SchemaReference("Gate", "gates", 1),)
    assert 'subject=gates&amp;version=1">gates</a>' in page.get("/schema", params=at("flights")).text
    referred = page.get("/schema", params=at("gates")).text
    assert "Is referred to by" in referred
    assert 'subject=flights&amp;version=1">flights</a>' in referred
    checked = page.post("/schema", params=at("flights"), data={"schema": text})
    assert "It is compatible with version 1." in checked.text


def test_any_two_versions_are_compared(page: TestClient, client: Registry) -> None:
    for text in (FIRST, SECOND, SECOND.replace("}]}", '}, {"name": "day", "type": "int", "default": 0}]}')):
        client.register("flights", Schema(text))
    latest = page.get("/schema", params=at("flights")).text
    assert "--- version 2" in latest
    both = page.get("/schema", params=at("flights", version="3", **{"with": "1"})).text
    assert "--- version 1" in both
    assert "gate" in both.split('class="diff"')[1]
    assert page.get("/schema", params=at("flights", version="9")).status_code == 404


def test_a_check_against_all_versions_tells_of_all(page: TestClient, client: Registry) -> None:
    client.set_settings(RegistrySettings("BACKWARD_TRANSITIVE"))
    client.register("flights", Schema(FIRST))
    checked = page.post("/schema", params=at("flights"), data={"schema": SECOND, "against": "all"})
    assert "It is compatible with what is there." in checked.text


def test_the_level_of_a_subject_is_set_and_goes_back_to_the_registrys(
    page: TestClient, csrf: str, client: Registry
) -> None:
    client.register("flights", Schema(FIRST))
    assert "of the registry" in page.get("/schema", params=at("flights")).text
    form = {"csrf": csrf, "subject": "flights", "level": "FULL"}
    done = page.post("/schemas/level", data=form).text
    assert "the compatibility of flights is FULL" in done
    assert "of the registry</small>" not in done
    assert client.settings("flights").compatibility == "FULL"
    page.post("/schemas/level", data={**form, "level": "as the registry"})
    with pytest.raises(RegistryError, match="does not have subject-level compatibility"):
        client.settings("flights")
    page.post("/schemas/level", data={"csrf": csrf, "level": "FORWARD"})
    assert client.settings().compatibility == "FORWARD"
    assert "FORWARD" in page.get("/schemas").text
    assert page.post("/schemas/level", data={"csrf": csrf, "level": "HALF"}).status_code == 400


def test_a_subject_is_deleted_and_then_for_good_by_who_types_its_name(
    page: TestClient, csrf: str, client: Registry
) -> None:
    name = "<b>flights</b>"
    client.register(name, Schema(FIRST))
    client.register(name, Schema(SECOND))
    form = {"csrf": csrf, "subject": name, "confirmed": name}
    assert "To delete" in page.post("/schema/delete", data={**form, "confirmed": "flights"}).text
    assert client.versions(name) == [1, 2]
    page.post("/schema/delete", data={**form, "version": "1"})
    assert client.versions(name) == [2]
    text = page.get("/schema", params=at(name, version="1")).text
    assert "Version 1 (deleted)" in text
    assert "<b>flights" not in text
    page.post("/schema/delete", data={**form, "version": "1", "permanent": "1"})
    assert client.versions(name, deleted=True) == [2]
    page.post("/schema/delete", data=form)
    assert "flights" not in page.get("/schemas").text
    kept = page.get("/schemas", params={"deleted": "1"}).text
    assert "&lt;b&gt;flights&lt;/b&gt;" in kept
    assert 'class="tag warn">deleted' in kept
    assert "Delete the subject permanently" in page.get("/schema", params=at(name)).text
    page.post("/schema/delete", data={**form, "permanent": "1"})
    assert client.subjects(deleted=True) == []
    assert page.get("/schema", params=at(name)).status_code == 404


def test_a_schema_is_found_by_its_id_and_its_guid(page: TestClient, client: Registry) -> None:
    registered = client.register("flights", Schema(FIRST))
    text = page.get("/schemas/schema", params={"id": str(registered.id)}).text
    assert "flights version 1" in text
    assert registered.guid is not None
    assert "delay" in page.get("/schemas/schema", params={"id": registered.guid}).text
    assert page.get("/schemas/schema", params={"id": "77777"}).status_code == 404
    assert page.get("/schemas/schema", params={"id": "none"}).status_code == 400


def test_a_viewer_is_offered_no_changes(
    open_page: OpenPage, registry: EmbeddedRegistry, client: Registry
) -> None:
    client.register("flights", Schema(FIRST))
    page = open_page(registry=registry.url)
    for text in (page.get("/schemas").text, page.get("/schema", params=at("flights")).text):
        assert "/schemas/level" not in text
        assert "/schema/delete" not in text
