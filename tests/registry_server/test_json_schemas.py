"""JSON Schemas in the registry: kept, compared, refused; and the original's serializers with them."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.registry_server.conftest import Ask


def order(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def schema(given: Any, *references: tuple[str, str], spaced: bool = False) -> dict[str, Any]:
    text = given if isinstance(given, str) else json.dumps(given, separators=None if spaced else (",", ":"))
    named = [{"name": name, "subject": subject, "version": 1} for name, subject in references]
    return {"schema": text, "schemaType": "JSON", **({"references": named} if named else {})}


SCHEMAS = "json-schema.org"
# The draft of a schema, and what it refers to.
META = [
    (f"http://{SCHEMAS}/draft-04/schema#", f"http://{SCHEMAS}/draft-04/schema#/properties/title"),
    (f"http://{SCHEMAS}/draft-04/schema#", f"http://{SCHEMAS}/draft-04/schema#/definitions/positiveInteger"),
    (f"http://{SCHEMAS}/draft-07/schema#", f"http://{SCHEMAS}/draft-07/schema#/definitions/stringArray"),
    (f"http://{SCHEMAS}/draft-07/schema#", f"http://{SCHEMAS}/draft-04/schema#/properties/title"),
    (f"https://{SCHEMAS}/draft/2019-09/schema", f"https://{SCHEMAS}/draft/2019-09/meta/applicator"),
    (f"https://{SCHEMAS}/draft/2020-12/schema", f"https://{SCHEMAS}/draft/2020-12/meta/core"),
    (f"https://{SCHEMAS}/draft/2020-12/schema", f"https://{SCHEMAS}/draft/2020-12/schema#/allOf/0"),
]
ITEM = {"type": "string", "maxLength": 5}
ID = order(id={"type": "integer"})


def test_a_json_schema_is_kept_without_spaces_and_found_however_it_is_spaced(ask: Ask) -> None:
    status, answer = ask("POST /subjects/s/versions", schema(ID, spaced=True))
    assert status == 200
    assert ask("GET /subjects/s/versions/1")[1]["schema"] == schema(ID)["schema"]
    assert ask("GET /subjects/s/versions/1")[1]["schemaType"] == "JSON"
    assert ask("POST /subjects/s/versions", schema(ID))[1]["id"] == answer["id"]
    assert ask("POST /subjects/s", schema(ID))[1]["version"] == 1
    turned = dict(reversed(ID.items()))
    assert ask("POST /subjects/s", schema(turned))[0] == 404
    ask("POST /subjects/t/versions?normalize=true", schema(turned))
    assert ask("POST /subjects/t?normalize=true", schema(ID))[1]["version"] == 1
    assert json.loads(ask("GET /subjects/t/versions/1")[1]["schema"]) == ID


def test_json_schemas_follow_each_other_by_their_content_models(ask: Ask) -> None:
    ask("POST /subjects/s/versions", schema(ID))
    more = order(id={"type": "integer"}, note={"type": "string"})
    assert ask("POST /compatibility/subjects/s/versions/latest?verbose=true", schema(more)) == (
        200,
        {"is_compatible": True, "messages": []},
    )
    other = order(id={"type": "string"})
    words = [
        '{errorType:"TYPE_CHANGED", description:"A type at path \'#/properties/id\' is different between the '
        "new schema and the old schema'}",
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{schema(ID)['schema']}'}}",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    ]
    asked = ask("POST /compatibility/subjects/s/versions/latest?verbose=true", schema(other))
    assert asked == (200, {"is_compatible": False, "messages": words})
    status, refused = ask("POST /subjects/s/versions", schema(other))
    assert (status, refused["error_code"]) == (409, 409)
    assert words[0] in refused["message"]
    # By the policy LENIENT a model is what it tells of.
    without = order()
    assert ask("POST /subjects/s/versions", schema(without))[0] == 409
    ask("PUT /config/s", {"compatibility": "BACKWARD", "compatibilityPolicy": "LENIENT"})
    assert ask("POST /subjects/s/versions", schema(without))[0] == 200


def test_json_schemas_refer_to_others_by_name(ask: Ask) -> None:
    ask("POST /subjects/item/versions", schema(ITEM))
    referring = order(item={"$ref": "item.json"})
    assert ask("POST /subjects/s/versions", schema(referring))[0] == 422
    assert ask("POST /subjects/s/versions", schema(referring, ("item.json", "item")))[0] == 200
    shorter = order(item={"type": "string", "maxLength": 4})
    _, answer = ask("POST /compatibility/subjects/s/versions/latest?verbose=true", schema(shorter))
    assert "MAX_LENGTH_DECREASED" in answer["messages"][0]
    assert ask("DELETE /subjects/item")[0] == 422


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ('{"type": "text"}', "#/type of the JSON Schema has the type 'text'"),
        ('{"$ref": "nothing.json"}', "refers to 'nothing.json', which is none of its references"),
        ('{"pattern": "("}', "the pattern '(' of the JSON Schema is broken"),
        ('{"not":' * 20_000 + "{}" + "}" * 20_000, "deep"),
    ],
)
def test_what_is_no_json_schema_is_refused(ask: Ask, text: str, words: str) -> None:
    status, answer = ask("POST /subjects/s/versions", schema(text))
    assert (status, answer["error_code"]) == (422, 42201)
    assert words in answer["message"]


def test_schemas_that_would_be_compared_for_ever_are_refused_soon(ask: Ask) -> None:
    many = {"anyOf": [{"type": "string", "maxLength": number} for number in range(600)]}
    others = {"anyOf": [{"type": "integer", "maximum": number} for number in range(600)]}
    assert ask("POST /subjects/s/versions", schema(many))[0] == 200
    started = time.process_time()
    status, answer = ask("POST /subjects/s/versions", schema(others))
    assert status == 422
    assert "comparisons" in answer["message"]
    assert time.process_time() - started < 30


@pytest.mark.integration
def test_the_originals_serializers_register_and_find_json_schemas(registry_url: str) -> None:
    topic = f"topic-{uuid.uuid4().hex[:12]}"
    context = SerializationContext(topic, MessageField.VALUE)
    with SchemaRegistryClient({"url": registry_url}) as client:
        text = json.dumps({"title": "Order", **ID})
        serialize, deserialize = (
            JSONSerializer(text, client),
            JSONDeserializer(None, schema_registry_client=client),
        )
        data = serialize({"id": 5}, context)
        assert deserialize(data, context) == {"id": 5}
        latest = client.get_latest_version(f"{topic}-value")
        assert latest.schema.schema_type == "JSON"
        assert json.loads(latest.schema.schema_str) == json.loads(text)


@pytest.mark.parametrize(("draft", "reference"), META)
def test_a_meta_schema_of_json_schema_may_be_referred_to(ask: Ask, draft: str, reference: str) -> None:
    made = {"$schema": draft, **order(x={"$ref": reference})}
    assert ask("POST /subjects/s/versions", schema(made))[0] == 200
    assert ask("GET /subjects/s/versions/1")[1]["schema"] == schema(made)["schema"]
    check = "POST /compatibility/subjects/s/versions/latest"
    assert ask(check, schema({**made, "title": "x"})) == (200, {"is_compatible": True})
    other = {"$schema": draft, **order(x={"type": "null"})}
    assert ask(check, schema(other)) == (200, {"is_compatible": False})


@pytest.mark.parametrize(
    "reference",
    [
        f"http://{SCHEMAS}/draft-04/schema#/properties/nothing",
        f"http://{SCHEMAS}/draft-99/schema",
        f"https://{SCHEMAS}/draft/2020-12/meta/../../../../etc/passwd",
        "http://elsewhere/draft-04/schema#/properties/title",
    ],
)
def test_what_is_no_part_of_a_meta_schema_is_refused(ask: Ask, reference: str) -> None:
    assert ask("POST /subjects/s/versions", schema(order(x={"$ref": reference})))[0] == 422
