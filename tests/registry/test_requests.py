"""Method, path, query and body of each call, as Confluent's documentation of its REST API has them."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.registry import Association, Metadata, RegistrySettings, Resource, Schema, requests
from barnabas.registry.requests import RegistryRequest
from barnabas.registry.schemas import BadAnswerError

SCHEMA = Schema('"int"')
BODY = {"schema": '"int"', "schemaType": "AVRO"}

CALLS: list[tuple[RegistryRequest[Any], str, list[tuple[str, str]], Any]] = [
    (requests.schema_by_id(7), "GET /schemas/ids/7", [], None),
    (
        requests.schema_by_id(7, ":.c:s", "resolved"),
        "GET /schemas/ids/7",
        [("subject", ":.c:s"), ("format", "resolved")],
        None,
    ),
    (requests.schema_by_guid("a-b"), "GET /schemas/guids/a-b", [], None),
    (
        requests.subjects_of_schema(7, None, True, 2, 3),
        "GET /schemas/ids/7/subjects",
        [("deleted", "true"), ("offset", "2"), ("limit", "3")],
        None,
    ),
    (requests.versions_of_schema(7, None, False, 0, None), "GET /schemas/ids/7/versions", [], None),
    (
        requests.schemas("a", False, True, 0, 5),
        "GET /schemas",
        [("subjectPrefix", "a"), ("latestOnly", "true"), ("limit", "5")],
        None,
    ),
    (requests.schema_types(), "GET /schemas/types", [], None),
    (
        requests.subjects("a", True, True, 0, None),
        "GET /subjects",
        [("subjectPrefix", "a"), ("deleted", "true"), ("deletedOnly", "true")],
        None,
    ),
    (requests.versions("a/b ü", False, False, 0, None), "GET /subjects/a%2Fb%20%C3%BC/versions", [], None),
    (requests.version("s", 3, False), "GET /subjects/s/versions/3", [], None),
    (requests.version("s", "latest", True), "GET /subjects/s/versions/latest", [("deleted", "true")], None),
    (
        requests.latest_with_metadata("s", {"a": "1", "b": "2"}, False),
        "GET /subjects/s/metadata",
        [("key", "a"), ("key", "b"), ("value", "1"), ("value", "2")],
        None,
    ),
    (requests.register("s", SCHEMA, True), "POST /subjects/s/versions", [("normalize", "true")], BODY),
    (
        requests.look_up("s", SCHEMA, False, True),
        "POST /subjects/s",
        [("deleted", "true")],
        BODY,
    ),
    (requests.delete_subject("s", True), "DELETE /subjects/s", [("permanent", "true")], None),
    (requests.delete_version("s", "latest", False), "DELETE /subjects/s/versions/latest", [], None),
    (requests.referenced_by("s", 1, 0, None), "GET /subjects/s/versions/1/referencedby", [], None),
    (
        requests.check("s", SCHEMA, "latest", False),
        "POST /compatibility/subjects/s/versions/latest",
        [("verbose", "true")],
        BODY,
    ),
    (
        requests.check("s", SCHEMA, "all", True),
        "POST /compatibility/subjects/s/versions",
        [("normalize", "true"), ("verbose", "true")],
        BODY,
    ),
    (requests.settings(None, False), "GET /config", [], None),
    (requests.settings("s", True), "GET /config/s", [("defaultToGlobal", "true")], None),
    (
        requests.set_settings(":.c:", RegistrySettings("FULL", normalize=False)),
        "PUT /config/%3A.c%3A",
        [],
        {"compatibility": "FULL", "normalize": False},
    ),
    (requests.delete_settings("s"), "DELETE /config/s", [], None),
    (requests.mode("s", False), "GET /mode/s", [], None),
    (requests.set_mode(None, "IMPORT", True), "PUT /mode", [("force", "true")], {"mode": "IMPORT"}),
    (requests.delete_mode("s"), "DELETE /mode/s", [], None),
    (requests.contexts(0, None), "GET /contexts", [], None),
    (
        requests.associations("t", "-", "topic", ["key", "value"], 0, None),
        "GET /associations/resources/-/t",
        [("resourceType", "topic"), ("associationType", "key"), ("associationType", "value")],
        None,
    ),
    (
        requests.associate(
            Resource("id", "t", "lkc"), [Association("key", "s")], must_be_new=False, normalize=True
        ),
        "PUT /associations/resources/id",
        [],
        {
            "resourceName": "t",
            "resourceNamespace": "lkc",
            "resourceId": "id",
            "resourceType": "topic",
            "associations": [
                {"associationType": "key", "subject": "s", "normalize": True},
            ],
        },
    ),
    (
        requests.dissociate("id", None, [], True),
        "DELETE /associations/resources/id",
        [("cascadeLifecycle", "true")],
        None,
    ),
    (requests.server_version(), "GET /v1/metadata/version", [], None),
    (requests.cluster_id(), "GET /v1/metadata/id", [], None),
]


@pytest.mark.parametrize(("request_", "place", "query", "body"), CALLS)
def test_each_call_has_its_place(
    request_: RegistryRequest[Any], place: str, query: list[tuple[str, str]], body: Any
) -> None:
    assert f"{request_.method} {request_.path}" == place
    assert list(request_.query) == query
    assert request_.body == body


def test_an_old_registry_answers_a_registration_by_an_id_alone() -> None:
    read = requests.register("s", SCHEMA, False).read
    assert read({"id": 5}) == 5
    assert read({"id": 5, "version": 2, "guid": "g"}).schema == SCHEMA


def test_properties_are_those_of_metadata_or_as_they_are_given() -> None:
    assert requests.properties_of(None) == {}
    assert requests.properties_of({"a": "1"}) == {"a": "1"}
    assert requests.properties_of(Metadata(properties={"a": "1"})) == {"a": "1"}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (requests.schema_types(), {}),
        (requests.schema_types(), [1]),
        (requests.versions("s", False, False, 0, None), ["1"]),
        (requests.delete_version("s", 1, False), "1"),
        (requests.mode(None, False), {"mode": 1}),
        (requests.register("s", SCHEMA, False), {"id": None}),
    ],
)
def test_an_answer_of_another_form_is_refused(request_: RegistryRequest[Any], answer: Any) -> None:
    with pytest.raises(BadAnswerError):
        request_.read(answer)
