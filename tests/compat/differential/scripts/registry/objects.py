"""What a registry keeps, as objects; mock clients; what subjects are called and where ids of schemas are."""

from __future__ import annotations

import asyncio
import copy
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.scripts.registry.clients import (
    ASSOCIATION,
    AVRO,
    CONFIG,
    FULL,
    GUID,
    METADATA,
    REGISTERED,
    RULES,
    shown,
)
from tests.compat.differential.stage import Stage


def same_hash(one: Any, other: Any) -> bool:
    return hash(one) == hash(other)


@script()
def what_a_registry_keeps_reads_and_writes_json_alike(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    common = stage.module("schema_registry.common.schema_registry_client")
    found: dict[str, list[Any]] = {
        "Schema": [FULL, {}, {"schema": None, "schemaType": None}, {"metadata": 5}, {"ruleSet": []}, 5],
        "RegisteredSchema": [FULL, REGISTERED, {}],
        "SchemaReference": [{}, {"name": "n", "subject": "s", "version": 1}],
        "Rule": [*RULES["domainRules"], {}, {"kind": "OTHER"}, {"mode": "OTHER"}],
        "RuleParams": [{"a": "b"}],
        "RuleSet": [RULES, {}, {"domainRules": None}],
        "Metadata": [METADATA, {}, {"sensitive": ["x"]}],
        "MetadataTags": [{"a.*": ["T"]}],
        "MetadataProperties": [{"a": "b"}],
        "ServerConfig": [
            CONFIG,
            {},
            {"compatibility": "BACKWARD"},
            {"compatibility": "X"},
            {"defaultRuleSet": 5},
        ],
        "Association": [ASSOCIATION, {}],
        "AssociationInfo": [{**ASSOCIATION, "lifecycle": "WEAK", "schema": FULL}, {}],
        "AssociationCreateOrUpdateInfo": [{**ASSOCIATION, "normalize": True, "schema": FULL}, {}],
        "AssociationCreateOrUpdateRequest": [{"resourceName": "n", "associations": [ASSOCIATION]}, {}],
        "AssociationResponse": [{"resourceName": "n", "associations": [ASSOCIATION]}, {"associations": []}],
    }
    for name, cases in found.items():
        kind = getattr(registry, name)
        for case in cases:
            given = copy.deepcopy(case)
            made = stage.within(f"{name} of {case}", kind.from_dict, given)
            stage.record("left as it was", given == case)
            if made is None:
                continue
            stage.record(name, repr(made))
            # The order is what goes over the wire.
            stage.record(f"{name} in JSON", list(made.to_dict().items()))
            again = kind.from_dict(case)
            stage.record("compared", [made == again, made == copy.deepcopy(made), made != 5])
            stage.attempt("hash", same_hash, made, again)
        stage.attempt(f"{name} of nothing", shown, kind)
    stage.record("version", repr(common.SchemaVersion.from_dict({"subject": "s"})))
    schema = registry.Schema(AVRO)
    for value in (schema, registry.SchemaReference("n", "s", 1), registry.Rule.from_dict({})):
        try:
            value.name = "other"
        except AttributeError as error:
            stage.record("frozen", isinstance(error, AttributeError))
    config = registry.ServerConfig()
    config.compatibility = registry.ConfigCompatibilityLevel.FULL
    stage.record("changed", config.to_dict())
    for kind in (registry.RuleKind, registry.RuleMode, common.RulePhase, registry.ConfigCompatibilityLevel):
        stage.record(kind.__name__, [(str(each), each.value, f"{each}", each == each.value) for each in kind])
    stage.record("levels", common.VALID_AUTH_PROVIDERS)
    statuses = range(100, 600)
    stage.record("successes", [each for each in statuses if common.is_success(each)])
    stage.record("to be retried", [each for each in statuses if common.is_retriable(each)])
    pauses = [common.full_jitter(100, 1000, retries) for retries in range(10) for _ in range(50)]
    stage.record("pauses", all(0 <= pause <= 1000 for pause in pauses))
    for pool in (None, "a", ["a", "b"], [], [1], 5):
        stage.attempt(f"pool {pool}", common.normalize_identity_pool, pool)


def _mock_calls(registry: ModuleType) -> list[tuple[str, tuple[Any, ...]]]:
    schema, other = registry.Schema(AVRO), registry.Schema.from_dict(FULL)
    associated = registry.AssociationCreateOrUpdateRequest(
        "topic",
        "lkc",
        "id",
        "topic",
        [
            registry.AssociationCreateOrUpdateInfo("s", "value", "WEAK"),
            registry.AssociationCreateOrUpdateInfo("k", "key", frozen=True),
        ],
    )
    return [
        ("get_subjects", ()),
        ("get_latest_version", ("s",)),
        ("register_schema", ("s", schema)),
        ("register_schema", ("s", schema)),
        ("register_schema", ("s", other)),
        ("register_schema", ("t", schema)),
        ("get_schema", (2,)),
        ("get_schema", (9,)),
        ("get_schema_by_guid", ("x",)),
        ("lookup_schema", ("s", registry.Schema("{}"))),
        ("get_subjects", ()),
        ("get_subjects", ("t",)),
        ("get_subjects", (None, False, False, 1)),
        ("get_subjects", (None, False, False, 0, 1)),
        ("delete_version", ("s", 9)),
        ("delete_version", ("s", 1)),
        ("get_versions", ("s",)),
        ("get_versions", ("nothing",)),
        ("delete_subject", ("nothing",)),
        ("delete_subject", ("t",)),
        ("get_version", ("s", 1)),
        ("get_version", ("t",)),
        ("get_latest_with_metadata", ("s", {"owner": "you"})),
        ("set_config", ()),
        ("get_config", ("s",)),
        ("get_mode", ("s",)),
        ("create_association", (associated,)),
        ("create_association", (registry.AssociationCreateOrUpdateRequest("topic"),)),
        ("get_associations_by_resource_name", ("topic", "-")),
        ("get_associations_by_resource_name", ("topic", "lkc", "topic", ["key"])),
        ("get_associations_by_resource_name", ("topic", "other")),
        ("delete_associations", ("nothing",)),
        ("delete_associations", ("id", None, ["key"])),
        ("get_associations_by_resource_name", ("topic", "-")),
        ("delete_associations", ("id",)),
        ("get_associations_by_resource_name", ("topic", "-")),
        ("clear_caches", ()),
    ]


@script()
def mock_registries_keep_schemas_alike(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    settings = {"url": "mock://a", "max.retries": 0}
    client = registry.SchemaRegistryClient.new_client(settings)
    stage.record("kinds", [type(client).__name__, type(client).__mro__[1].__name__])
    plain = registry.SchemaRegistryClient.new_client({"url": "http://127.0.0.1:1"})
    stage.record("no mock", type(plain).__name__)
    stage.record("config", [client.config() is settings, client.config()])
    for name, arguments in _mock_calls(registry):
        stage.attempt(f"{name} {len(arguments)}", shown, getattr(client, name), *arguments)
    found = client.register_schema_full_response("u", registry.Schema(AVRO))
    again = client.get_version("u", 1)
    looked_up = client.lookup_schema("u", registry.Schema(AVRO), True)
    stage.record("the same", [found == again == looked_up == client.get_latest_version("u"), found.version])
    stage.record("by guid", repr(client.get_schema_by_guid(found.guid)))


@script()
def asynchronous_mock_registries_keep_schemas_alike(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")

    async def each() -> None:
        client = registry.AsyncSchemaRegistryClient.new_client({"url": "mock://a", "max.retries": 0})
        stage.record("kind", type(client).__name__)
        for name, arguments in _mock_calls(registry):
            label = f"{name} {len(arguments)}"
            try:
                stage.record(label, repr(await getattr(client, name)(*arguments)))
            except Exception as error:
                stage.record(label, error)
        await client.aclose()

    asyncio.run(each())


@script()
def subjects_are_called_alike(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    serialization = stage.module("serialization")
    names = ("topic", "topic_record", "record", "reference")
    strategies = [getattr(registry, f"{name}_subject_name_strategy") for name in names]
    contexts = [
        None,
        serialization.SerializationContext("t", serialization.MessageField.KEY),
        serialization.SerializationContext("t", serialization.MessageField.VALUE),
    ]
    for strategy in strategies:
        for number, context in enumerate(contexts):
            for record in (None, "n.R", registry.SchemaReference("r", "s", 1)):
                stage.attempt(
                    f"{strategy.__name__} {number} {type(record).__name__}", strategy, context, record
                )
    match = stage.module("schema_registry.wildcard_matcher").wildcard_match
    texts = ["", "a", "alice", "alice.bob", "alice.bob.eve", "a+b", "a\\b", "a.b.c.d", "x(y)", "a*"]
    matchers = [
        *(
            "",
            "*",
            "**",
            "?",
            "alice.*",
            "alice.**",
            "a*",
            "a**",
            "**.eve",
            "alice.bob*",
            "alice.bob**",
            "**.*",
        ),
        *(
            "a?b",
            "a+b",
            "a\\\\b",
            "a\\b",
            "x(y)",
            "*.?.*",
            "a\\*",
            "a\\*b",
            "a\\",
            "[a]",
            "**.*",
            "{a}",
            "a**.*",
        ),
    ]
    for matcher in matchers:
        found: list[Any] = []
        for text in texts:
            try:
                found.append(match(text, matcher))
            except Exception as error:
                found.append(type(error).__name__)
        stage.record(f"match {matcher}", found)


@script()
def ids_of_schemas_are_written_and_read_alike(kafka: ModuleType, stage: Stage) -> None:
    registry = stage.module("schema_registry")
    serialization = stage.module("serialization")
    serde = stage.module("schema_registry.serde")
    guid = GUID

    def context(headers: Any, field: str = "VALUE") -> Any:
        return serialization.SerializationContext("t", serialization.MessageField[field], headers)

    ids = [
        serde.SchemaId("AVRO", 1, guid),
        serde.SchemaId("PROTOBUF", 2**31, guid, [0]),
        serde.SchemaId("PROTOBUF", 3, guid, [1, 0, 300]),
        serde.SchemaId("JSON"),
    ]
    for number, schema_id in enumerate(ids):
        stage.attempt(f"{number}: id", schema_id.id_to_bytes)
        stage.attempt(f"{number}: guid", schema_id.guid_to_bytes)
        stage.attempt(f"{number}: prefix", registry.prefix_schema_id_serializer, b"data", None, schema_id)
        for headers in (None, [], {}, ("other",)):
            for field in ("KEY", "VALUE"):
                given = copy.copy(headers)
                label = f"{number}: header {field} {headers}"
                stage.attempt(
                    label, registry.header_schema_id_serializer, b"data", context(given, field), schema_id
                )
                stage.record("headers", given)
        stage.attempt(f"{number}: no context", registry.header_schema_id_serializer, b"data", None, schema_id)
    with_id = b"\x00\x00\x00\x00\x05"
    with_guid = ids[0].guid_to_bytes()
    cases: list[tuple[bytes, Any]] = [
        (with_id + b"data", None),
        (with_id + b"\x00data", context(None)),
        (with_id + b"\x04\x02\x00data", context([])),
        (with_guid + b"data", context([("__key_schema_id", with_id)])),
        (b"data", context([("x", b"y"), ("__value_schema_id", with_guid + b"\x02\x04")])),
        (b"data", context({"__key_schema_id": with_guid + b"\x00"}, "KEY")),
        (b"data", context({"__value_schema_id": b"\x07"})),
        (b"\x02data", None),
        (with_id + b"\x01", None),
        (with_id + b"\xff\xff\xff\xff\x01", None),
    ]
    for number, (data, given) in enumerate(cases):
        for name in ("dual_schema_id_deserializer", "prefix_schema_id_deserializer"):
            for kind in ("AVRO", "PROTOBUF"):
                schema_id = serde.SchemaId(kind)
                payload = stage.within(
                    f"{number}: {name} {kind}", getattr(registry, name), data, given, schema_id
                )
                stage.record(
                    f"{number}: {name} {kind}",
                    [
                        payload and payload.read(),
                        schema_id.id,
                        str(schema_id.guid),
                        schema_id.message_indexes,
                    ],
                )
