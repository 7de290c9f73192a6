"""Copies whose schemas are registered in another registry."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cli.copying.test_copy import read

from barnabas import Admin, NewTopic, Producer, Registry
from barnabas.cli.copying.schemas import SubjectNames
from barnabas.cli.options import UsageError
from barnabas.registry import RegistrySettings, Schema, SchemaReference
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry

Here = Callable[..., Any]
Headers = list[tuple[str, bytes | None]] | None

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
WITH_NOTE = ORDER.replace("]}", ', {"name": "note", "type": "string", "default": ""}]}')


@dataclass
class Registries:
    source: Registry
    target: Registry
    options: tuple[str, ...]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[str, str]]:
    with EmbeddedRegistry() as source, EmbeddedRegistry() as target:
        yield source.url, target.url


@pytest.fixture
def registries(servers: tuple[str, str]) -> Iterator[Registries]:
    """The second has schemas already, so that the ids of the first are others' there."""
    with Registry(servers[0]) as source, Registry(servers[1]) as target:
        for number in range(3):
            target.register(f"other-{number}", Schema(ORDER.replace("Order", f"Other{number}")))
        yield Registries(source, target, ("-r", servers[0], "--to-schema-registry", servers[1]))


@pytest.fixture
def named(embedded_broker: EmbeddedBroker, topic: Callable[[], str]) -> Callable[[], str]:
    """A topic, and `dr.` before its name."""

    def create() -> str:
        name = topic()
        with Admin(embedded_broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, 1), NewTopic(f"dr.{name}", 1)])
        return name

    return create


def by_id(schema_id: int, body: bytes = b"\x0a") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + body


def by_guid(guid: str | None, body: bytes = b"") -> bytes:
    return b"\1" + uuid.UUID(guid).bytes + body


def put(broker: EmbeddedBroker, topic: str, *records: tuple[bytes | None, bytes | None, Headers]) -> None:
    with Producer(broker.bootstrap) as producer:
        for key, value, headers in records:
            producer.send(topic, value, key=key, headers=headers, partition=0)


def test_values_name_the_schemas_of_the_other_registry(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    source, target = registries.source, registries.target
    first = source.register(f"{name}-value", Schema(ORDER))
    second = source.register(f"{name}-value", Schema(WITH_NOTE))
    put(
        embedded_broker,
        name,
        # Not in the order of the versions.
        (b"k-1", by_id(second.id, b"\x0a\x02a"), None),
        (None, by_id(first.id), None),
        (b"k-1", None, [("h", b"1"), ("h", None)]),
        (b"k-2", by_id(first.id, b""), [("h", b"")]),
    )
    arguments = ("copy", name, "--prefix", "dr.", *registries.options)
    shown = here(*arguments, "--dry-run", "--json").stdout
    assert json.loads(shown)["subjects"] == [
        {
            "subject": f"{name}-value",
            "versions": 2,
            "target_subject": f"{name}-value",
            "target_versions": 0,
        }
    ]
    assert f"{name}-value" in here(*arguments, "--dry-run").stdout
    assert f"{name}-value" not in target.subjects()
    here(*arguments)
    assert target.versions(f"{name}-value") == [1, 2]
    there = [target.version(f"{name}-value", version).id for version in (1, 2)]
    assert set(there).isdisjoint({first.id, second.id})
    assert [
        (record.key, record.value, list(record.headers))
        for record in read(embedded_broker.bootstrap, f"dr.{name}")
    ] == [
        (b"k-1", by_id(there[1], b"\x0a\x02a"), []),
        (None, by_id(there[0]), []),
        (b"k-1", None, [("h", b"1"), ("h", None)]),
        (b"k-2", by_id(there[0], b""), [("h", b"")]),
    ]


def test_keys_and_headers_name_them_too(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    source, target = registries.source, registries.target
    part = source.register(f"part-{name}", Schema(ORDER.replace("Order", "Part")))
    whole = Schema(
        '{"type": "record", "name": "Whole", "fields": [{"name": "part", "type": "Part"}]}',
        references=[SchemaReference("Part", part.subject, part.version)],
    )
    key = source.register(f"{name}-key", Schema(ORDER))
    # The version that the reference names is another one at the target.
    target.register(f"dr.part-{name}", Schema(WITH_NOTE.replace("Order", "Part")))
    value = source.register(f"{name}-value", whole)
    put(
        embedded_broker,
        name,
        (by_id(key.id), by_id(value.id), None),
        (
            b"\x0a",
            b"\0\0\0\0\x01 is no id here",
            [
                ("h", b"1"),
                ("__value_schema_id", by_guid(value.guid)),
                ("__key_schema_id", by_guid(key.guid, b"\0")),
            ],
        ),
    )
    here("copy", name, "--prefix", "dr.", *registries.options, "--to-subject", "dr.{subject}")
    key_there, value_there = (target.latest(f"dr.{name}-{side}") for side in ("key", "value"))
    assert list(value_there.schema.references) == [SchemaReference("Part", f"dr.part-{name}", 2)]
    plain, headed = read(embedded_broker.bootstrap, f"dr.{name}")
    assert (plain.key, plain.value) == (by_id(key_there.id), by_id(value_there.id))
    assert (headed.key, headed.value) == (b"\x0a", b"\0\0\0\0\x01 is no id here")
    assert list(headed.headers) == [
        ("h", b"1"),
        ("__value_schema_id", by_guid(value_there.guid)),
        ("__key_schema_id", by_guid(key_there.guid, b"\0")),
    ]
    assert value_there.guid != value.guid


@pytest.mark.parametrize(
    ("way", "left"),
    [("skip", []), ("keep", [(b"k", b"by hand", []), (b"k", None, [("__value_schema_id", b"?")])])],
)
def test_records_that_name_no_schema_end_the_copy_unless_something_else_is_asked_for(
    here: Here,
    embedded_broker: EmbeddedBroker,
    registries: Registries,
    named: Callable[[], str],
    way: str,
    left: list[Any],
) -> None:
    name = named()
    schema_id = registries.source.register(f"{name}-value", Schema(ORDER)).id
    put(
        embedded_broker,
        name,
        (b"k", by_id(schema_id), None),
        (b"k", b"by hand", None),
        (b"k", None, [("__value_schema_id", b"?")]),
    )
    arguments = ("copy", name, "--prefix", "dr.", *registries.options)
    refused = here(*arguments, ok=False)
    assert f"error: {name}-0 at offset 1: the value names no schema: it is not copied" in refused.stderr
    done = here(*arguments, "--on-error", way)
    what = "left out" if way == "skip" else "copied as they are"
    assert f"2 records named no schema that is there: {what}" in done.stderr
    new_id = registries.target.latest(f"{name}-value").id
    found = [(r.key, r.value, list(r.headers)) for r in read(embedded_broker.bootstrap, f"dr.{name}")]
    assert found == [(b"k", by_id(new_id), []), *left]


def test_a_schema_that_the_source_does_not_have_is_named_in_the_error(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    put(embedded_broker, name, (b"k", by_id(9999), None))
    refused = here("copy", name, "--prefix", "dr.", *registries.options, ok=False)
    assert "names schema 9999, which the registry of the source does not have" in refused.stderr
    keys = here("copy", name, "--prefix", "dr.", *registries.options, "--schemas-in", "key", ok=False)
    assert "the key names no schema" in keys.stderr
    assert "--schemas-in value where keys have no schemas" in keys.stderr


def test_keys_that_may_name_schemas_are_asked_about_unless_there_is_a_subject_for_them(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    value_id = registries.source.register(f"{name}-value", Schema(ORDER)).id
    key_id = registries.source.register(f"Key{name}", Schema(WITH_NOTE)).id
    put(
        embedded_broker,
        name,
        # Numbers of eight bytes begin as ids do.
        ((7).to_bytes(8), by_id(value_id), None),
        (by_id(key_id), by_id(value_id), None),
    )
    arguments = ("copy", name, "--prefix", "dr.", *registries.options)
    asked = here(*arguments, ok=False)
    assert f"keys of {name} look as if they named schemas, and there is no subject {name}-key" in asked.stderr
    here(*arguments, "--schemas-in", "value")
    assert [record.key for record in read(embedded_broker.bootstrap, f"dr.{name}")] == [
        (7).to_bytes(8),
        by_id(key_id),
    ]
    here(*arguments, "--schemas-in", "both", "--offset", "1")
    *_, last = read(embedded_broker.bootstrap, f"dr.{name}")
    assert last.key == by_id(registries.target.latest(f"Key{name}").id)


def test_subjects_of_records_instead_of_topics_are_kept(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    record = f"shop.Order{name}"
    schema_id = registries.source.register(record, Schema(ORDER)).id
    put(embedded_broker, name, (None, by_id(schema_id), None))
    here("copy", name, "--prefix", "dr.", *registries.options)
    (found,) = read(embedded_broker.bootstrap, f"dr.{name}")
    assert found.value == by_id(registries.target.latest(record).id)


def test_options_about_schemas_are_checked_before_anything_is_asked(here: Here) -> None:
    for arguments, message in [
        (("--to-subject", "{topic}"), "--to-subject means nothing without --to-schema-registry"),
        (("--on-error", "skip"), "--on-error means nothing without --to-schema-registry"),
        (("--to-schema-registry", "http://h", "--schemas-in", "header"), "one of key, value, both"),
        (("--to-schema-registry", "http://h", "--on-error", "hex"), "--on-error is one of stop, skip, keep"),
        (("--to-schema-registry", "http://h", "--to-subject", "x"), "would be the subject of all schemas"),
    ]:
        assert message in here("copy", "a", "--to", "b", *arguments, ok=False).stderr


def test_the_secrets_of_one_registry_do_not_go_to_the_other(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    class Asked(Registry):
        def __init__(self, url: str, **settings: Any) -> None:
            asked.append((url, settings))
            super().__init__(url, **settings)

    monkeypatch.setattr("barnabas.Registry", Asked)
    of_source = ("-X", "schema.registry.basic.auth.user.info=ann:secret", "-r", "http://a")
    here("copy", "no-such-topic", "--to", "b", *of_source, "--to-schema-registry", "http://b", ok=False)
    assert asked == [("http://a", {"basic_auth_user_info": "ann:secret"}), ("http://b", {})]


def test_a_template_makes_the_names_of_subjects() -> None:
    both = SubjectNames("{topic}-{side}")
    assert both.of("a-value", "dr.a", "value") == "dr.a-value"
    assert both.of_reference("part", "dr.a", "value") == "part"
    prefixed = SubjectNames(":.dr:{subject}")
    assert prefixed.of_reference("part", "dr.a", "value") == ":.dr:part"
    assert SubjectNames(None).of("a-value", "dr.a", "value") == "a-value"
    with pytest.raises(UsageError, match=r"no field \{name\}; there are \{subject\}, \{topic\}, \{side\}"):
        SubjectNames("{name}")


def test_a_subject_that_is_new_at_the_target_has_the_compatibility_of_the_source(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    subject = f"{name}-value"
    registries.source.set_settings(RegistrySettings(compatibility="NONE"), subject)
    registries.source.register(subject, Schema('"string"'))
    schema_id = registries.source.register(subject, Schema(ORDER)).id
    put(embedded_broker, name, (None, by_id(schema_id), None))
    here("copy", name, "--prefix", "dr.", *registries.options)
    assert registries.target.versions(subject) == [1, 2]
    assert registries.target.settings(subject).compatibility == "NONE"


def test_compatibility_of_the_target_is_told_where_it_refuses_a_schema(
    here: Here, embedded_broker: EmbeddedBroker, registries: Registries, named: Callable[[], str]
) -> None:
    name = named()
    schema_id = registries.source.register(f"{name}-value", Schema(ORDER)).id
    registries.target.register(f"{name}-value", Schema(json.dumps("string")))
    put(embedded_broker, name, (None, by_id(schema_id), None))
    refused = here("copy", name, "--prefix", "dr.", *registries.options, ok=False)
    assert f"{name}-value" in refused.stderr
    assert "0 records copied before this" in refused.stderr
