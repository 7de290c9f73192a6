"""What the records of a journal make together, those of an existing registry as well."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from tests.registry_server.schemas import TEAM, USER, USER_2

from barnabas.registry_server.content import Content
from barnabas.registry_server.records import (
    NOOP_KEY,
    ContextKey,
    SchemaKey,
    StoredSchema,
    SubjectKey,
    clear_subject_value,
    config_value,
    delete_subject_value,
    mode_value,
)
from barnabas.registry_server.state import RegistryState

Record = tuple[bytes, bytes | None]


def state_of(records: Sequence[Record]) -> RegistryState:
    state = RegistryState()
    for offset, (key, value) in enumerate(records):
        state.apply(key, value, offset, 1000 + offset)
    return state


def put(subject: str, version: int, schema_id: int, text: str = USER, **others: object) -> Record:
    schema = StoredSchema(subject, version, schema_id, Content(text), **others)  # type: ignore[arg-type]
    return bytes(schema.key), bytes(schema)


def numbers(state: RegistryState, subject: str, *, deleted: bool = False) -> list[int]:
    return [each.version for each in state.versions(subject, deleted=deleted)]


def test_a_topic_of_another_registry_is_taken_over() -> None:
    state = state_of(
        [
            (NOOP_KEY, None),
            (
                b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
                b'{"subject":"s","version":1,"id":7,"schema":"\\"string\\"","deleted":false}',
            ),
            (
                b'{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}',
                b'{"subject":"s","version":2,"id":9,"md5":"2DU8H0ZwjHTpMPzFMZqhgA==","schemaType":"AVRO",'
                b'"schema":"\\"int\\"","deleted":false,"offset":5,"ts":6,"later":{"a":1}}',
            ),
            (b'{"keytype":"CONFIG","magic":0}', b'{"compatibilityLevel":"FULL"}'),
            (b'{"keytype":"MODE","subject":"s","magic":0}', b'{"subject":"s","mode":"READONLY"}'),
            (
                b'{"keytype":"ASSOC","tenant":"default","resourceName":"t","resourceNamespace":"lkc",'
                b'"resourceType":"topic","associationType":"value","subject":"s","magic":0}',
                b'{"guid":"g","tenant":"default","resourceName":"t","resourceNamespace":"lkc",'
                b'"resourceId":"id","resourceType":"topic","associationType":"value","subject":"s",'
                b'"lifecycle":"WEAK","frozen":false}',
            ),
            (b'{"keytype":"WHO_KNOWS","magic":7}', b"\x00"),
        ]
    )
    assert numbers(state, "s") == [1, 2]
    assert state.highest_id(".") == 9
    assert (state.configs, state.modes) == ({None: {"compatibilityLevel": "FULL"}}, {"s": "READONLY"})
    latest = state.latest("s")
    assert latest is not None
    assert (latest.timestamp_ms, state.id_of(latest.digest, ".")) == (1002, 9)
    [association] = state.associations.of_subject("s")
    assert (association.guid, association.resource_id, association.created_ms) == ("g", "id", 1005)


def test_records_that_are_none_are_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        state = state_of(
            [
                (b"\xff", b"x"),
                (bytes(SchemaKey("s", 1)), b"{"),
                (bytes(SubjectKey("MODE", "s")), b'{"mode":"SIDEWAYS"}'),
                put("s", 2, 1),
            ]
        )
    assert numbers(state, "s") == [2]
    assert [record.getMessage().split(" is left out")[0] for record in caplog.records] == [
        f"record {offset} of the journal" for offset in range(3)
    ]


def test_an_id_is_of_one_text(caplog: pytest.LogCaptureFixture) -> None:
    state = state_of([put("s", 1, 1), put("t", 1, 1, USER_2), put(":.c:t", 1, 1, USER_2)])
    assert numbers(state, "t") == []
    assert numbers(state, ":.c:t") == [1]
    assert "another schema of the context has the id 1" in caplog.text


def test_a_deleted_subject_keeps_what_came_after() -> None:
    gone = bytes(SubjectKey("DELETE_SUBJECT", "s")), delete_subject_value("s", 2)
    state = state_of([put("s", 1, 1), put("s", 2, 2, USER_2), gone, put("s", 3, 1)])
    assert numbers(state, "s") == [3]
    assert numbers(state, "s", deleted=True) == [1, 2, 3]
    # The record of the deletion may go from the topic.
    state.apply(gone[0], None, 9, 9)
    assert numbers(state, "s") == [3]


def test_an_id_stays_while_any_version_has_it() -> None:
    records: list[Record] = [put("s", 1, 1), put("s", 2, 1), put("t", 1, 1)]
    state = state_of(records)
    assert state.places_of(1, ".") == {"s": 2, "t": 1}
    state.apply(bytes(SchemaKey("s", 2)), None, 3, 0)
    assert state.places_of(1, ".") == {"s": 1, "t": 1}
    state.apply(bytes(SchemaKey("s", 1)), None, 4, 0)
    state.apply(bytes(SchemaKey("t", 1)), None, 5, 0)
    assert state.places_of(1, ".") == {}
    assert state.id_of(Content(USER).digest, ".") is None
    assert list(state.subjects) == []
    # An id is not given twice.
    assert state.highest_id(".") == 1
    # What is gone is gone once.
    state.apply(bytes(SchemaKey("t", 1)), None, 6, 0)


def test_references_are_known_while_who_refers_is_there() -> None:
    team = Content(TEAM, references=({"name": "User", "subject": "user", "version": 1},))
    schema = StoredSchema(":.c:team", 1, 2, team)
    state = state_of([put(":.c:user", 1, 1), (bytes(schema.key), bytes(schema))])
    assert state.referenced_by(SchemaKey(":.c:user", 1)) == [(".c", 2)]
    state.apply(bytes(schema.key), bytes(schema.deleted()), 2, 0)
    assert state.referenced_by(SchemaKey(":.c:user", 1)) == [(".c", 2)]
    state.apply(bytes(schema.key), None, 3, 0)
    assert state.referenced_by(SchemaKey(":.c:user", 1)) == []


def test_clearing_takes_what_was_deleted_of_a_context() -> None:
    clear = bytes(SubjectKey("CLEAR_SUBJECT", ":.c:")), clear_subject_value(":.c:")
    state = state_of(
        [put(":.c:s", 1, 1, is_deleted=True), put(":.c:t", 1, 1), put("s", 1, 1, is_deleted=True), clear]
    )
    assert sorted(state.subjects) == [":.c:t", "s"]


def test_contexts_settings_and_modes_come_and_go() -> None:
    key, config, mode = ContextKey(".c"), SubjectKey("CONFIG", "s"), SubjectKey("MODE", None)
    state = state_of(
        [
            (bytes(key), key.value),
            (bytes(config), config_value("s", {"alias": "a"})),
            (bytes(mode), mode_value(None, "IMPORT")),
        ]
    )
    assert (state.contexts, state.configs, state.modes) == ([".c"], {"s": {"alias": "a"}}, {None: "IMPORT"})
    for each in (key, config, mode):
        state.apply(bytes(each), None, 5, 0)
    assert (state.contexts, state.configs, state.modes) == ([], {}, {})


def test_only_deleted_schemas_are_no_subject() -> None:
    state = state_of([put("s", 1, 1, is_deleted=True), put(":.c:t", 1, 1)])
    assert (state.has("s"), state.has("s", deleted=True)) == (False, True)
    assert (state.has(":.c:"), state.has(":.d:"), state.has(None)) == (True, False, True)
