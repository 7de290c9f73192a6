"""Which subjects a topic has: /associations."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.avro import AvroSerializer as TheirSerializer
from confluent_kafka.schema_registry.common.schema_registry_client import (
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
)
from confluent_kafka.serialization import MessageField
from confluent_kafka.serialization import SerializationContext as TheirContext
from tests.registry_server.conftest import Ask

from barnabas import Registry
from barnabas.registry import (
    Association,
    AvroSerializer,
    RegistryError,
    Resource,
    Schema,
)
from barnabas.registry_server.journal.memory import MemoryJournal
from barnabas.registry_server.rest.app import RegistryApp
from barnabas.registry_server.service import RegistryService

ASSOCIATIONS = "/associations"
OF_ID = "/associations/resources/id-1"
OF_NAME = "/associations/resources/lkc-1/orders"
DEFAULT = ":.lkc-1:orders-value"
SCHEMA = {"schema": '"string"'}
WEAK = {"subject": "s", "associationType": "value", "lifecycle": "WEAK"}
STRONG = {"subject": "s", "associationType": "value", "lifecycle": "STRONG"}
FROZEN = {"associationType": "value", "schema": SCHEMA}


def request(*associations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    named = {
        "resourceName": "orders",
        "resourceNamespace": "lkc-1",
        "resourceId": "id-1",
        "resourceType": "topic",
        "associations": list(associations),
    }
    return {name: value for name, value in {**named, **changes}.items() if value is not None}


def of(resource_id: str, *associations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return request(*associations, resourceId=resource_id, **changes)


def register(ask: Ask, *subjects: str, text: str = '"string"') -> None:
    for each in subjects:
        assert ask(f"POST /subjects/{each}/versions", {"schema": text})[0] == 200


def code(answer: tuple[int, Any]) -> tuple[int, int]:
    return answer[0], answer[1]["error_code"]


def told(answer: tuple[int, Any]) -> str:
    """Of a value that is refused: the field, and what is wrong with it."""
    assert code(answer) == (422, 42212)
    begins, _, rest = answer[1]["message"].partition("property: ")
    assert begins == "The association specified an invalid value for "
    return rest


def subjects_of(ask: Ask, path: str) -> list[str]:
    status, found = ask(f"GET {path}")
    assert status == 200
    return [each["subject"] for each in found]


def test_an_association_is_made_and_found_by_all_that_it_has(ask: Ask) -> None:
    register(ask, "s")
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK)) == (200, request({**WEAK, "frozen": False}))
    status, [found] = ask(f"GET {OF_NAME}")
    assert status == 200
    assert uuid.UUID(found.pop("guid")).version == 4
    assert found.pop("createTs") == found.pop("updateTs") > 0
    assert found == {
        "subject": "s",
        "resourceName": "orders",
        "resourceNamespace": "lkc-1",
        "resourceId": "id-1",
        "resourceType": "topic",
        "associationType": "value",
        "lifecycle": "WEAK",
        "frozen": False,
    }
    for path in (
        OF_ID,
        "/associations/subjects/s",
        "/associations/resources/-/orders",
        "/associations/resources/lkc-1/-",
        "/associations/resources/-/-",
        f"{OF_NAME}?resourceType=topic&associationType=value&associationType=key&lifecycle=WEAK",
    ):
        assert subjects_of(ask, path) == ["s"], path
    for path in (
        "/associations/resources/id-2",
        "/associations/subjects/t",
        "/associations/resources/lkc-2/orders",
        "/associations/resources/lkc-1/other",
        f"{OF_NAME}?resourceType=group",
        f"{OF_NAME}?associationType=key",
        f"{OF_NAME}?lifecycle=STRONG",
    ):
        assert subjects_of(ask, path) == [], path
    assert ask(f"GET {OF_NAME}?lifecycle=weak")[0] == 404


def test_schemas_are_listed_by_the_associations_of_their_subjects(ask: Ask) -> None:
    assert ask("GET /schemas?lifecycle=weak")[0] == 404
    register(ask, "alone", "s", "t")
    key = {**STRONG, "associationType": "key", "subject": "t"}
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK, key))[0] == 200

    def listed(query: str) -> list[tuple[str, list[str]]]:
        status, found = ask(f"GET /schemas?{query}")
        assert status == 200
        return [
            (each["subject"], [one["associationType"] for one in each.get("associations", ())])
            for each in found
        ]

    alone, weak, strong = ("alone", []), ("s", ["value"]), ("t", ["key"])
    assert listed("") == [alone, ("s", []), ("t", [])]
    assert listed("resourceType=topic") == [weak, strong]
    assert listed("resourceType=group") == []
    assert listed("associationType=key") == [strong]
    assert listed("lifecycle=NONE") == [alone]
    assert listed("lifecycle=NONE&lifecycle=WEAK") == [alone, weak]
    assert listed("lifecycle=STRONG&lifecycle=WEAK") == [weak, strong]
    assert listed("lifecycle=STRONG&lifecycle=WEAK&offset=1&limit=1") == [strong]
    assert listed("associationType=value&lifecycle=STRONG") == []


def test_associations_are_listed_in_order_and_by_the_page(ask: Ask) -> None:
    register(ask, "s", "t")
    for resource_id, name in (("id-2", "b"), ("id-1", "a")):
        body = of(resource_id, WEAK, {**WEAK, "associationType": "key", "subject": "t"}, resourceName=name)
        assert ask(f"POST {ASSOCIATIONS}", body)[0] == 200
    every = "/associations/resources/-/-"

    def listed(query: str) -> list[tuple[str, str]]:
        return [(each["resourceName"], each["associationType"]) for each in ask(f"GET {every}{query}")[1]]

    assert listed("") == [("a", "key"), ("a", "value"), ("b", "key"), ("b", "value")]
    assert listed("?offset=1&limit=2") == [("a", "value"), ("b", "key")]
    assert listed("?limit=-1&offset=3") == [("b", "value")]
    assert listed("?offset=9") == []
    assert code(ask(f"GET {every}?offset=-1")) == (422, 422)


def test_a_schema_in_an_association_is_registered_and_goes_with_it(ask: Ask) -> None:
    status, made = ask(f"POST {ASSOCIATIONS}", request(FROZEN))
    assert status == 200
    [association] = made["associations"]
    registered = association.pop("schema")
    assert (registered["subject"], registered["version"], registered["id"]) == (DEFAULT, 1, 1)
    assert association == {
        "subject": DEFAULT,
        "associationType": "value",
        "lifecycle": "STRONG",
        "frozen": True,
    }
    assert ask(f"GET /subjects/{DEFAULT}/versions") == (200, [1])
    # Once more is nothing more.
    assert ask(f"POST {ASSOCIATIONS}", request(FROZEN)) == (
        200,
        {each: value for each, value in request().items() if each != "associations"},
    )
    other = {**FROZEN, "schema": {"schema": '"int"'}}
    assert code(ask(f"POST {ASSOCIATIONS}", request(other))) == (409, 40903)
    assert code(ask(f"DELETE {OF_ID}")) == (409, 40908)
    assert ask(f"DELETE {OF_ID}?cascadeLifecycle=true&dryRun=true") == (204, None)
    assert subjects_of(ask, OF_ID) == [DEFAULT]
    assert ask(f"DELETE {OF_ID}?cascadeLifecycle=true") == (204, None)
    assert subjects_of(ask, OF_ID) == []
    assert ask("GET /subjects?deleted=true&subjectPrefix=:*:") == (200, [])


def test_schemas_of_keys_and_values_are_registered_at_once_with_ids_of_their_own(ask: Ask) -> None:
    key, value = {"associationType": "key", "schema": {"schema": '"int"'}}, FROZEN
    status, made = ask(f"POST {ASSOCIATIONS}", request(key, value))
    assert status == 200
    assert [each["schema"]["id"] for each in made["associations"]] == [1, 2]
    same = [{**each, "schema": {"schema": '"long"'}} for each in (key, value)]
    status, made = ask(f"POST {ASSOCIATIONS}", of("id-2", *same, resourceName="other"))
    assert status == 200
    assert [each["schema"]["id"] for each in made["associations"]] == [3, 3]
    assert ask("GET /schemas/ids/3/subjects?subject=:.lkc-1:") == (
        200,
        [":.lkc-1:other-key", ":.lkc-1:other-value"],
    )


def test_nothing_is_written_where_one_of_several_is_refused(ask: Ask) -> None:
    bad = {"associationType": "key", "schema": {"schema": "{"}}
    assert code(ask(f"POST {ASSOCIATIONS}", request(FROZEN, bad))) == (422, 42201)
    assert ask("GET /subjects?deleted=true&subjectPrefix=:*:") == (200, [])
    assert subjects_of(ask, OF_ID) == []


def test_a_dry_run_only_checks(ask: Ask) -> None:
    dry = f"POST {ASSOCIATIONS}?dryRun=true"
    status, answer = ask(dry, request(FROZEN, resourceId=None))
    assert (status, answer.get("associations"), answer.get("resourceId")) == (200, None, None)
    assert ask("GET /subjects?subjectPrefix=:*:") == (200, [])
    assert code(ask(dry, request({**FROZEN, "schema": {"schema": "{"}}))) == (422, 42201)
    assert ask(f"POST {ASSOCIATIONS}", request(FROZEN))[0] == 200
    assert ask(dry, request(FROZEN, resourceId=None))[0] == 200
    other = {**FROZEN, "schema": {"schema": '"int"'}}
    assert code(ask(dry, request(other, resourceId=None))) == (409, 40903)


def test_who_has_a_subject_strongly_has_it_alone(ask: Ask) -> None:
    register(ask, "s", "t")
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK))[0] == 200
    assert ask(f"POST {ASSOCIATIONS}", of("id-2", WEAK, resourceName="other"))[0] == 200
    refused = ask(f"POST {ASSOCIATIONS}", of("id-3", STRONG, resourceName="third"))
    assert refused == (
        409,
        {"error_code": 40904, "message": "An association already exists for subject 's'"},
    )
    strong = {**STRONG, "subject": "t"}
    assert ask(f"POST {ASSOCIATIONS}", of("id-3", strong, resourceName="third"))[0] == 200
    weak = {**WEAK, "subject": "t"}
    assert ask(f"POST {ASSOCIATIONS}", of("id-4", weak, resourceName="fourth")) == (
        409,
        {"error_code": 40905, "message": "A strong association already exists for subject 't'"},
    )
    register(ask, "u")
    both = [{**STRONG, "subject": "u", "associationType": each} for each in ("key", "value")]
    assert code(ask(f"POST {ASSOCIATIONS}", of("id-5", *both, resourceName="fifth"))) == (409, 40904)


def test_an_association_is_changed_but_for_its_subject(ask: Ask) -> None:
    register(ask, "s", "t")
    assert ask(f"PUT {OF_ID}", request(WEAK, resourceId=None))[0] == 200
    [before] = ask(f"GET {OF_ID}")[1]
    status, changed = ask(f"PUT {OF_ID}", request({"lifecycle": "STRONG"}))
    assert (status, changed["associations"]) == (200, [{**STRONG, "frozen": False}])
    [after] = ask(f"GET {OF_ID}")[1]
    assert (after["guid"], after["createTs"]) == (before["guid"], before["createTs"])
    assert after["lifecycle"] == "STRONG"
    text = {"schema": {"schema": '"bytes"'}}
    register(ask, "s")
    ask("PUT /config/s", {"compatibility": "NONE"})
    assert ask(f"PUT {OF_ID}", request(text))[0] == 200
    assert ask("GET /subjects/s/versions") == (200, [1, 2])
    assert told(ask(f"PUT {OF_ID}", request({**WEAK, "subject": "t"}))) == (
        "'subject', detail: subject of association cannot be changed from 's' to 't'"
    )
    assert told(ask(f"PUT {OF_ID}", request({**STRONG, "frozen": True}))) == (
        "'frozen', detail: frozen attribute of association cannot be changed"
    )
    assert told(ask(f"PUT {OF_ID}", request({"subject": "t"}))) == (
        "'lifecycle', detail: at least lifecycle or schema must be provided for update"
    )
    assert code(ask(f"POST {ASSOCIATIONS}", request(WEAK))) == (409, 40903)
    assert told(ask("PUT /associations/resources/id-2", request(WEAK))).startswith("'resourceId', detail: ")
    assert ask(f"PUT {OF_ID}", request(WEAK))[0] == 200


def test_a_frozen_association_cannot_be_changed(ask: Ask) -> None:
    assert ask(f"POST {ASSOCIATIONS}", request(FROZEN))[0] == 200
    assert told(ask(f"PUT {OF_ID}", request({"lifecycle": "WEAK"}))) == (
        f"'subject', detail: WEAK associations cannot use subject '{DEFAULT}'"
    )
    assert told(ask(f"PUT {OF_ID}", request({"lifecycle": "STRONG", "frozen": False}))) == (
        "'frozen', detail: frozen attribute of association cannot be changed"
    )
    assert ask(f"PUT {OF_ID}", request({"lifecycle": "STRONG"}))[0] == 200


def test_a_frozen_association_begins_with_its_subject(ask: Ask) -> None:
    frozen = {"associationType": "value", "lifecycle": "STRONG", "frozen": True}
    assert told(ask(f"POST {ASSOCIATIONS}", request(frozen))) == (
        "'schema', detail: schema must be provided when creating a frozen association"
    )
    register(ask, DEFAULT, text='"int"')
    assert told(ask(f"POST {ASSOCIATIONS}", request(FROZEN))) == (
        "'frozen', detail: cannot create a frozen association when schemas already exist in the subject"
    )
    same = {**FROZEN, "schema": {"schema": '"int"'}}
    assert ask(f"POST {ASSOCIATIONS}", request(same))[0] == 200


def test_subjects_with_associations_are_not_deleted(ask: Ask) -> None:
    register(ask, "s")
    register(ask, "s", text='["string"]')
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK))[0] == 200
    assert code(ask("DELETE /subjects/s")) == (409, 40904)
    assert ask("DELETE /subjects/s/versions/1") == (200, 1)
    assert ask("DELETE /subjects/s/versions/2") == (
        409,
        {"error_code": 40907, "message": "No active (non-deleted) version exists for subject 's'"},
    )
    assert ask("DELETE /subjects/s/versions/1?permanent=true") == (200, 1)
    assert code(ask("DELETE /subjects/s?permanent=true")) == (409, 40904)
    assert ask(f"DELETE {OF_ID}?cascadeLifecycle=true") == (204, None)
    assert ask("GET /subjects") == (200, ["s"])
    assert ask("DELETE /subjects/s") == (200, [2])


def test_only_what_is_named_is_ended(ask: Ask) -> None:
    register(ask, "s")
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK, {**WEAK, "associationType": "key"}))[0] == 200
    assert ask(f"DELETE {OF_ID}?associationType=key") == (204, None)
    assert [each["associationType"] for each in ask(f"GET {OF_ID}")[1]] == ["value"]
    missing = (404, {"error_code": 40410, "message": "Association for 'id-1' not found."})
    assert ask(f"DELETE {OF_ID}?associationType=key") == missing
    assert ask(f"DELETE {OF_ID}?resourceType=group") == missing
    assert ask(f"DELETE {OF_ID}") == (204, None)
    assert ask(f"DELETE {OF_ID}") == missing


def test_subjects_that_others_refer_to_do_not_go_with_a_resource_except_at_once(ask: Ask) -> None:
    user = '{"type":"record","name":"User","fields":[]}'
    key = {"associationType": "key", "schema": {"schema": user}}
    assert ask(f"POST {ASSOCIATIONS}", request(key, FROZEN))[0] == 200
    to_key = {
        "schema": '{"type":"record","name":"Order","fields":[{"name":"user","type":"User"}]}',
        "references": [{"name": "User", "subject": ":.lkc-1:orders-key", "version": 1}],
    }
    assert ask("POST /subjects/s/versions", to_key)[0] == 200
    cascade = f"DELETE {OF_ID}?cascadeLifecycle=true"
    assert code(ask(cascade)) == (422, 42206)
    assert len(subjects_of(ask, OF_ID)) == 2
    assert ask("DELETE /subjects/s")[0] == 200
    assert ask("DELETE /subjects/s?permanent=true")[0] == 200
    ask(f"PUT /config/{DEFAULT}", {"compatibility": "NONE"})
    assert ask(f"POST /subjects/{DEFAULT}/versions", to_key)[0] == 200
    assert ask(cascade) == (204, None)
    assert ask("GET /subjects?deleted=true&subjectPrefix=:*:") == (200, [])
    assert ask("GET /config/:.lkc-1:orders-value")[0] == 404


def test_contexts_and_aliases_hold_for_the_subjects_of_associations(ask: Ask) -> None:
    register(ask, ":.ctx:s", "t")
    assert ask("POST /contexts/.ctx/associations", request(WEAK))[0] == 200
    assert subjects_of(ask, OF_ID) == [":.ctx:s"]
    assert subjects_of(ask, "/contexts/.ctx/associations/subjects/s") == [":.ctx:s"]
    ask("PUT /config/other", {"alias": "t"})
    aliased = of("id-2", {**WEAK, "subject": "other"}, resourceName="b")
    assert ask(f"POST {ASSOCIATIONS}", aliased)[0] == 200
    assert subjects_of(ask, "/associations/resources/id-2") == ["t"]


def test_modes_hold_for_the_subjects_of_associations(ask: Ask) -> None:
    register(ask, "s")
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK))[0] == 200
    ask("PUT /mode/s", {"mode": "READONLY"})
    for line, body in (
        (f"POST {ASSOCIATIONS}", of("id-2", WEAK)),
        (f"DELETE {OF_ID}", None),
        (f"PUT {OF_ID}", request({"lifecycle": "STRONG"})),
    ):
        assert code(ask(line, body)) == (422, 42205), line
    ask(f"PUT /mode/{DEFAULT}", {"mode": "IMPORT"})
    assert told(ask(f"POST {ASSOCIATIONS}", of("id-3", FROZEN))) == (
        f"'schema', detail: cannot be provided while subject '{DEFAULT}' is in IMPORT mode"
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (request(WEAK, resourceName=None), "'resourceName', detail: cannot be null or empty"),
        (request(WEAK, resourceName="a.b"), "'resourceName', detail: illegal character '.'"),
        (request(WEAK, resourceName="é" * 257), "'resourceName', detail: exceeds max length of 256"),
        (request(WEAK, resourceNamespace=""), "'resourceNamespace', detail: cannot be null or empty"),
        (request(WEAK, resourceNamespace="a:b"), "'resourceNamespace', detail: illegal character ':'"),
        (request(WEAK, resourceId=None), "'resourceId', detail: cannot be null or empty"),
        (request(WEAK, resourceType="group"), "'resourceType', detail: must be 'topic'"),
        (request(), "'associations', detail: cannot be null or empty"),
        (request(associations=[None]), "'associations', detail: cannot be null or empty"),
        (request(WEAK, WEAK), "'associationType', detail: Duplicate association type: value"),
        (
            request({**WEAK, "associationType": "header"}),
            "'associationType', detail: must be either 'key' or 'value'",
        ),
        (request({"lifecycle": "WEAK"}), "'subject', detail: must be provided for WEAK associations"),
        (request({**WEAK, "subject": ""}), "'subject', detail: must not be empty"),
        (request({**WEAK, "subject": "a\u0001"}), "'subject', detail: must not be empty"),
        (
            request({**WEAK, "subject": DEFAULT}),
            f"'subject', detail: WEAK associations cannot use subject '{DEFAULT}'",
        ),
        (
            request({**WEAK, "frozen": True}),
            "'frozen', detail: association with lifecycle of WEAK cannot be frozen",
        ),
        (
            request({**WEAK, "schema": SCHEMA}),
            "'lifecycle', detail: cannot be WEAK when schema is provided",
        ),
        (
            request({**FROZEN, "frozen": False}),
            "'frozen', detail: cannot be false when schema is provided for create",
        ),
        (
            request({**FROZEN, "subject": "s"}),
            f"'subject', detail: frozen associations must use subject '{DEFAULT}'",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_cannot_be_associated_is_refused(ask: Ask, body: dict[str, Any], why: str) -> None:
    register(ask, "s")
    assert told(ask(f"POST {ASSOCIATIONS}", body)) == why
    assert subjects_of(ask, "/associations/resources/-/-") == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"[" * 100_000,
        {"associations": {}},
        request({**WEAK, "lifecycle": "SIDEWAYS"}),
        request({**WEAK, "frozen": "perhaps"}),
        request({**WEAK, "schema": "text"}),
        request("text"),  # type: ignore[arg-type]
        request({**WEAK, "subject": {"a": 1}}),
        request({**WEAK, "subject": "\ud800"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("line", [f"POST {ASSOCIATIONS}", f"PUT {OF_ID}"])
def test_bodies_that_are_none_are_refused(ask: Ask, line: str, body: Any) -> None:
    assert code(ask(line, body)) == (422, 422)


@pytest.mark.parametrize("subject", [":*:s", "__GLOBAL", ":.__GLOBAL:s"])
def test_names_that_are_of_no_subject_are_refused(ask: Ask, subject: str) -> None:
    register(ask, "s")
    assert code(ask(f"POST {ASSOCIATIONS}", request({**WEAK, "subject": subject}))) == (422, 42208)


def test_unknown_fields_are_taken_and_subjects_need_a_version(ask: Ask) -> None:
    assert code(ask(f"POST {ASSOCIATIONS}", request(WEAK))) == (409, 40907)
    register(ask, "s")
    assert ask(f"POST {ASSOCIATIONS}", {**request({**WEAK, "later": 1}), "later": {}})[0] == 200


def test_a_resource_that_is_made_again_takes_its_association_over(ask: Ask) -> None:
    register(ask, "s")
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK))[0] == 200
    assert ask(f"POST {ASSOCIATIONS}", of("id-2", WEAK))[0] == 200
    assert subjects_of(ask, OF_ID) == []
    assert [each["resourceId"] for each in ask(f"GET {OF_NAME}")[1]] == ["id-2"]


def test_associations_are_there_again_after_a_restart() -> None:
    async def asked(journal: MemoryJournal, *lines: tuple[str, str, Any]) -> list[Any]:
        service = RegistryService(journal)
        await service.start()
        transport = httpx.ASGITransport(app=RegistryApp(service), raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
            answers = [
                await client.request(method, path, content=None if body is None else json.dumps(body))
                for method, path, body in lines
            ]
        await service.close()
        return [answer.json() for answer in answers if answer.raise_for_status().content]

    async def replayed() -> None:
        before = MemoryJournal()
        key = {**FROZEN, "associationType": "key"}
        *_, first = await asked(
            before,
            ("POST", ASSOCIATIONS, of("id-2", key, FROZEN, resourceName="gone")),
            ("POST", "/subjects/s/versions", SCHEMA),
            ("POST", ASSOCIATIONS, request(WEAK)),
            ("PUT", OF_ID, request({"lifecycle": "STRONG"})),
            ("DELETE", "/associations/resources/id-2?cascadeLifecycle=true", None),
            ("GET", "/associations/resources/-/-", None),
        )
        [second] = await asked(MemoryJournal(before.records), ("GET", "/associations/resources/-/-", None))
        for each in (*first, *second):
            # When it was written last is the time of the record, and this one was written again.
            assert each.pop("updateTs") > 0
        assert len(first) == 1
        assert first == second

    asyncio.run(replayed())


@pytest.fixture
def their_client(registry_url: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry_url}) as made:
        yield made


@pytest.mark.integration
def test_the_client_of_confluent_associates_and_ends_that(their_client: SchemaRegistryClient) -> None:
    name = f"topic-{uuid.uuid4().hex[:12]}"
    made = their_client.create_association(
        AssociationCreateOrUpdateRequest(
            name,
            "lkc-1",
            f"id-{name}",
            "topic",
            [AssociationCreateOrUpdateInfo(association_type="value", schema=TheirSchema('"string"', "AVRO"))],
        )
    )
    assert made.associations is not None
    [info] = made.associations
    subject = f":.lkc-1:{name}-value"
    assert (info.subject, info.lifecycle, info.frozen) == (subject, "STRONG", True)
    assert info.schema is not None
    assert info.schema.schema_str == '"string"'
    [found] = their_client.get_associations_by_resource_name(name, "-", "topic", ["value"], 0, -1)
    assert (found.subject, found.resource_id, found.frozen) == (subject, f"id-{name}", True)
    with pytest.raises(SchemaRegistryError) as caught:
        their_client.delete_associations(f"id-{name}", "topic", ["value"])
    assert (caught.value.http_status_code, caught.value.error_code) == (409, 40908)
    their_client.delete_associations(f"id-{name}", "topic", ["value"], cascade_lifecycle=True)
    assert their_client.get_associations_by_resource_name(name, "lkc-1", "topic") == []
    assert subject not in their_client.get_subjects()


@pytest.mark.integration
def test_our_client_associates_changes_and_ends_that(registry_url: str) -> None:
    name = f"topic-{uuid.uuid4().hex[:12]}"
    resource = Resource(f"id-{name}", name, "lkc-1")
    with Registry(registry_url) as registry:
        registry.register(f"shared-{name}", Schema('"string"'))
        weak = Association("value", f"shared-{name}", "WEAK")
        [made] = registry.associate(resource, [weak], must_be_new=True)
        assert (made.subject, made.lifecycle, made.is_frozen) == (f"shared-{name}", "WEAK", False)
        assert registry.associate(resource, [weak], must_be_new=True) == []
        [changed] = registry.associate(resource, [Association("value", lifecycle="STRONG")])
        assert (changed.subject, changed.lifecycle) == (f"shared-{name}", "STRONG")
        [found] = registry.associations(name, namespace="lkc-1")
        assert found.guid is not None
        registry.dissociate(resource.id, association_types=["value"])
        assert registry.associations(name) == []
        with pytest.raises(RegistryError, match="not found") as caught:
            registry.dissociate(resource.id)
        assert (caught.value.status, caught.value.error_code) == (404, 40410)
        key = Association("key", schema=Schema('"long"'))
        [made] = registry.associate(resource, [key], must_be_new=True)
        assert (made.subject, made.is_frozen) == (f":.lkc-1:{name}-key", True)
        registry.dissociate(resource.id, cascade=True)
        assert registry.associations(name) == []


@pytest.mark.integration
def test_a_serializer_takes_the_subject_that_is_associated_with_the_topic(registry_url: str) -> None:
    name = f"topic-{uuid.uuid4().hex[:12]}"
    with Registry(registry_url) as registry:
        schema = Schema('"string"')
        registry.register(f"shared-{name}", schema)
        registry.associate(Resource(f"id-{name}", name, "lkc-1"), [Association("value", f"shared-{name}")])
        serializer = AvroSerializer(registry, schema)
        assert serializer(name, "a")
        assert serializer(name, "a", is_key=True)
        assert registry.versions(f"{name}-key") == [1]
        assert registry.subjects(name) == [f"{name}-key"]


@pytest.mark.integration
def test_so_does_a_serializer_of_confluent(their_client: SchemaRegistryClient) -> None:
    name = f"topic-{uuid.uuid4().hex[:12]}"
    schema = TheirSchema('"string"', "AVRO")
    their_client.register_schema(f"shared-{name}", schema)
    info = AssociationCreateOrUpdateInfo(f"shared-{name}", "value", "WEAK")
    their_client.create_association(
        AssociationCreateOrUpdateRequest(name, "lkc-1", f"id-{name}", "topic", [info])
    )
    serializer = TheirSerializer(
        their_client, schema.schema_str, conf={"subject.name.strategy.type": "ASSOCIATED"}
    )
    assert serializer("a", TheirContext(name, MessageField.VALUE))
    assert serializer("a", TheirContext(name, MessageField.KEY))
    assert their_client.get_subjects(subject_prefix=name) == [f"{name}-key"]


def test_several_resources_are_asked_for_at_once(ask: Ask) -> None:
    register(ask, "s")
    assert ask(f"POST {ASSOCIATIONS}", request(WEAK))[0] == 200
    assert ask(f"POST {ASSOCIATIONS}", of("id-2", FROZEN, resourceName="other"))[0] == 200
    named = {"resourceName": "orders", "resourceNamespace": "lkc-1"}
    wanted = [
        named,
        {"resourceId": "id-2"},
        {"resourceId": "id-1", "associationTypes": ["key"]},
        {"resourceName": "orders"},
        {},
    ]
    status, answer = ask("POST /associations:batchGet?includeSchemas=true", {"requests": wanted})
    assert status == 207
    first, second, third, fourth, fifth = answer["results"]
    [of_first], [of_second] = first["result"].pop("associations"), second["result"].pop("associations")
    assert first == {"result": {**named, "resourceId": "id-1", "resourceType": "topic"}}
    assert (of_first["subject"], of_first["schema"]["schema"]) == ("s", '"string"')
    assert second["result"]["resourceName"] == "other"
    assert (of_second["frozen"], of_second["schema"]["version"]) == (True, 1)
    assert third == {"result": {"resourceId": "id-1", "resourceType": "topic"}}
    assert [each["error"]["error_code"] for each in (fourth, fifth)] == [42212, 42212]
    for body in ({}, {"requests": []}):
        assert told(ask("POST /associations:batchGet", body)).startswith("'requests', detail: ")


def test_several_resources_are_changed_at_once_each_with_its_own_error(ask: Ask) -> None:
    register(ask, "s")
    mutate = "POST /associations:batchMutate"
    create = {"opType": "CREATE"}
    requests = [
        request({**create, **FROZEN}, {**create, "associationType": "key", "schema": {"schema": '"int"'}}),
        of("id-2", {**create, **WEAK}, {**create, **WEAK, "associationType": "key", "subject": "none"}),
        of("id-3", {"opType": "UPSERT", **WEAK}, {"opType": "DELETE", "associationType": "key"}),
    ]
    status, checked = ask(f"{mutate}?dryRun=true", {"requests": requests})
    assert (status, subjects_of(ask, "/associations/resources/-/-")) == (207, [])
    assert [*map(list, checked["results"])] == [["result"], ["error"], ["result"]]
    status, answer = ask(mutate, {"requests": requests})
    first, second, third = answer["results"]
    assert status == 207
    assert [(each["associationType"], each["schema"]["id"]) for each in first["result"]["associations"]] == [
        ("key", 2),
        ("value", 1),
    ]
    assert second["error"]["error_code"] == 40907
    assert subjects_of(ask, "/associations/resources/id-2") == []
    assert third["result"]["associations"] == [{**WEAK, "frozen": False}]
    gone = {"opType": "DELETE", "associationType": "value"}
    requests = [of("id-3", gone), request(gone), request({**gone, "cascadeLifecycle": True})]
    status, answer = ask(mutate, {"requests": requests})
    first, second, third = answer["results"]
    assert (status, first["result"].get("associations")) == (207, None)
    assert second["error"]["error_code"] == 40908
    assert [each["associationType"] for each in third["result"]["associations"]] == ["key"]
    assert ask(f"GET /subjects/{DEFAULT}/versions?deleted=true")[0] == 404
    for bad in ({"requests": [request(WEAK)]}, {"requests": [request({**WEAK, "opType": "MOVE"})]}):
        assert code(ask(mutate, bad)) == (422, 422)


def test_a_batch_has_the_context_of_its_path(ask: Ask) -> None:
    register(ask, ":.ctx:s")
    body = {"requests": [request({"opType": "CREATE", **WEAK})]}
    status, answer = ask("POST /contexts/.ctx/associations:batchMutate", body)
    assert status == 207
    [association] = answer["results"][0]["result"]["associations"]
    assert association["subject"] == ":.ctx:s"
