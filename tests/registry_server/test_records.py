"""Records byte for byte as Jackson writes the original's classes: names, order, what is left out, escapes."""

from __future__ import annotations

import pytest

from barnabas.registry_server.content import Content
from barnabas.registry_server.records import (
    NOOP_KEY,
    AssociationKey,
    ContextKey,
    Key,
    OtherKey,
    RecordError,
    SchemaKey,
    StoredAssociation,
    StoredSchema,
    SubjectKey,
    clear_subject_value,
    config_value,
    delete_subject_value,
    mode_value,
    parse_association,
    parse_config,
    parse_delete_subject,
    parse_key,
    parse_mode,
    parse_schema,
)

KEYS = [
    (SchemaKey("orders-value", 3), b'{"keytype":"SCHEMA","subject":"orders-value","version":3,"magic":1}'),
    (SubjectKey("CONFIG", None), b'{"keytype":"CONFIG","magic":0}'),
    (SubjectKey("CONFIG", ":.ctx:"), b'{"keytype":"CONFIG","subject":":.ctx:","magic":0}'),
    (SubjectKey("MODE", "s"), b'{"keytype":"MODE","subject":"s","magic":0}'),
    (SubjectKey("DELETE_SUBJECT", "s"), b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}'),
    (SubjectKey("CLEAR_SUBJECT", "s"), b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}'),
    (
        AssociationKey("orders", "lkc-1", "topic", "value", ":.ctx:s"),
        b'{"keytype":"ASSOC","tenant":"default","resourceName":"orders","resourceNamespace":"lkc-1",'
        b'"resourceType":"topic","associationType":"value","subject":":.ctx:s","magic":0}',
    ),
    (ContextKey(".ctx"), b'{"keytype":"CONTEXT","tenant":"default","context":".ctx","magic":0}'),
]


@pytest.mark.parametrize(("key", "data"), KEYS, ids=[data.decode() for _, data in KEYS])
def test_keys_are_written_and_read_as_the_original_does(key: Key, data: bytes) -> None:
    assert bytes(key) == data  # type: ignore[call-overload]
    assert parse_key(data) == key


def test_keys_of_other_kinds_are_known_as_such() -> None:
    assert NOOP_KEY == b'{"keytype":"NOOP","magic":0}'
    assert parse_key(NOOP_KEY) == OtherKey("NOOP")
    assert parse_key(b'{"keytype":"WHO_KNOWS","tenant":"default","magic":7}') == OtherKey("WHO_KNOWS")
    # Before 2017 there was no `deleted`, and the magic was 0.
    assert parse_key(b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":0}') == SchemaKey("s", 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01",
        b"[]",
        b'{"keytype":"SCHEMA","magic":1}',
        b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":2}',
        b'{"keytype":"MODE","subject":5,"magic":0}',
        b'{"keytype":"CONTEXT","magic":0}',
        b'{"keytype":"ASSOC","tenant":"default","magic":0}',
        b"[" * 100_000,
    ],
)
def test_keys_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        parse_key(data)


FULL = (
    b'{"subject":"s","version":2,"id":7,"md5":"AAAAAAAAAAAAAAAAAAAAAA==","schemaType":"JSON",'
    b'"references":[{"name":"n","subject":"r","version":1}],'
    b'"metadata":{"tags":{"**.a":["PII","X"]},"properties":{"a":"1","b":"2"},"sensitive":["a"]},'
    b'"ruleSet":{"domainRules":[{"name":"r","doc":"d","kind":"TRANSFORM","mode":"WRITEREAD","type":"ENCRYPT",'
    b'"tags":["PII"],"params":{"x":"y"},"expr":"e","onSuccess":"NONE","onFailure":"ERROR","disabled":false}]},'
    b'"schema":"{\\"a\\": \\"\\u001F/\xc3\xa9\xe2\x80\xa8\\\\u001f\\n\\"}","deleted":true}'
)


def test_schemas_are_written_and_read_with_all_that_they_have() -> None:
    schema = parse_schema(FULL, 99)
    assert (schema.subject, schema.version, schema.id, schema.content.type) == ("s", 2, 7, "JSON")
    assert schema.content.text == '{"a": "\x1f/é\u2028\\u001f\n"}'
    assert (schema.is_deleted, schema.timestamp_ms) == (True, 99)
    assert bytes(schema) == FULL


def test_a_schema_of_the_first_registries_is_read() -> None:
    schema = parse_schema(b'{"subject":"s","version":1,"id":1,"schema":"\\"string\\""}')
    assert schema == StoredSchema("s", 1, 1, Content('"string"'))
    assert bytes(schema) == (
        b'{"subject":"s","version":1,"id":1,"schemaType":"AVRO","schema":"\\"string\\"","deleted":false}'
    )


def test_what_is_there_and_empty_differs_from_what_is_not_there() -> None:
    schema = StoredSchema("s", 1, 1, Content("x", metadata={}, rule_set={}))
    assert b'"metadata":{},"ruleSet":{}' in bytes(schema)
    assert parse_schema(bytes(schema)) == schema


@pytest.mark.parametrize("data", [b"{}", b"null", b"{", b'{"subject":"s","version":"x"}', b'{"subject":[]}'])
def test_schemas_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        parse_schema(data)


def test_settings_are_written_and_read_with_all_that_they_have() -> None:
    config = {
        "alias": "a",
        "normalize": True,
        "validateFields": False,
        "compatibilityLevel": "FULL",
        "compatibilityGroup": "g",
        "defaultMetadata": {"properties": {"owner": "x"}},
        "overrideRuleSet": {"domainRules": [{"name": "r", "disabled": False}]},
    }
    written = config_value("s", config)
    assert written == (
        b'{"subject":"s","alias":"a","normalize":true,"validateFields":false,"compatibilityLevel":"FULL",'
        b'"compatibilityGroup":"g","defaultMetadata":{"properties":{"owner":"x"}},'
        b'"overrideRuleSet":{"domainRules":[{"name":"r","disabled":false}]}}'
    )
    assert parse_config(written) == config
    assert config_value(None, {"compatibilityLevel": "NONE"}) == b'{"compatibilityLevel":"NONE"}'


def test_modes_and_deletions_are_written_and_read() -> None:
    assert mode_value("s", "READONLY") == b'{"subject":"s","mode":"READONLY"}'
    assert parse_mode(b'{"mode":"IMPORT"}') == "IMPORT"
    assert delete_subject_value("s", 4) == b'{"subject":"s","version":4}'
    assert parse_delete_subject(delete_subject_value("s", 4)) == ("s", 4)
    assert clear_subject_value("s") == b'{"subject":"s"}'
    for data in (b'{"mode":"SIDEWAYS"}', b"{}"):
        with pytest.raises(RecordError):
            parse_mode(data)


def test_associations_are_written_and_read_as_the_original_does() -> None:
    key = AssociationKey("orders", "lkc-1", "topic", "value", "s")
    data = (
        b'{"guid":"g","tenant":"default","resourceName":"orders","resourceNamespace":"lkc-1",'
        b'"resourceId":"id-1","resourceType":"topic","associationType":"value","subject":"s",'
        b'"lifecycle":"STRONG","frozen":true,"createTs":1754000000000}'
    )
    found = parse_association(key, data, 99)
    assert found == StoredAssociation(key, "g", "id-1", "STRONG", True, 1754000000000, 99)
    assert bytes(found) == data


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"guid":"g","resourceId":"id-1","lifecycle":"OTHER"}',
        b'{"guid":"g","resourceId":"id-1"}',
        b'{"guid":"g","resourceId":"id-1","lifecycle":"WEAK","createTs":9223372036854775808}',
    ],
)
def test_associations_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        parse_association(AssociationKey("orders", "lkc-1", "topic", "value", "s"), data)
