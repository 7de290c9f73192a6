"""Rules of schemas, with executors and actions of a program's own."""

from __future__ import annotations

import copy
import logging
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_client import recording_client
from tests.compat.differential.recording_registry import RecordingRegistry
from tests.compat.differential.script import script
from tests.compat.differential.scripts.registry.avro import UNREGISTERED, context
from tests.compat.differential.scripts.registry.clients import AVRO
from tests.compat.differential.stage import Stage

TAGGED = """{"type": "record", "name": "R", "namespace": "n", "fields": [
    {"name": "f", "type": "string", "confluent:tags": ["PII"]},
    {"name": "g", "type": ["null", "string"], "default": null},
    {"name": "list", "type": {"type": "array", "items": "string"}, "confluent:tags": ["PII"]},
    {"name": "map", "type": {"type": "map", "values": "int"}},
    {"name": "inner", "type": {"type": "record", "name": "I", "fields": [
        {"name": "x", "type": "bytes", "confluent:tags": ["OTHER"]}]}}]}"""
SIV = "encrypt.dek.algorithm"
VALUE = {"f": "a", "g": "b", "list": ["c", "d"], "map": {"e": 1}, "inner": {"x": b"y"}}


def _rule(registry: ModuleType, **words: Any) -> Any:
    return registry.Rule.from_dict({"kind": "TRANSFORM", "mode": "WRITEREAD", **words})


def _seen(ctx: Any) -> dict[str, Any]:
    """What an executor sees of its context."""
    field = ctx.current_field()
    return {
        "rule": [
            ctx.rule.name,
            str(ctx.rule.kind),
            str(ctx.rule.mode),
            ctx.rule.type,
            ctx.index,
            len(ctx.rules),
        ],
        "subject": ctx.subject,
        "mode": str(ctx.rule_mode),
        "schemas": [
            schema is not None and schema.schema_str is not None for schema in (ctx.source, ctx.target)
        ],
        "parameters": [ctx.get_parameter(name) for name in ("own", "of the schema", "of nobody")],
        # Fields are changed in their place by the original, in what the message was too.
        "original": None if field else [ctx.original_key, ctx.original_value],
        "topic": ctx.ser_ctx.topic,
        "field": field
        and [field.full_name, field.name, field.type_name(), field.is_primitive(), sorted(field.tags)],
        "environment": ctx.enabled_env,
    }


def _kinds(stage: Stage) -> Any:
    """Executors and actions, by the library's base classes."""
    serde = stage.module("schema_registry.serde")

    class Message(serde.RuleExecutor):
        def configure(self, client_conf: Any, rule_conf: Any) -> None:
            stage.record("configured", [client_conf, rule_conf])

        def type(self) -> str:
            return "MESSAGE"

        def transform(self, ctx: Any, message: Any) -> Any:
            stage.record("transform", [_seen(ctx), message if isinstance(message, dict) else "bytes"])
            verdict = ctx.rule.expr
            if verdict == "raise":
                raise RuntimeError("the executor failed")
            if verdict in ("true", "false", "none"):
                return {"true": True, "false": False, "none": None}[verdict]
            if not isinstance(message, dict):
                # Of what is read, the original gives a file.
                data = message.read() if hasattr(message, "read") else message
                stage.record("bytes", data)
                return data[::-1]
            return {**message, "f": message["f"] + "!"}

        def close(self) -> None:
            stage.record("closed", self.type())

    class Field(serde.FieldRuleExecutor):
        def type(self) -> str:
            return "FIELD"

        def new_transform(self, ctx: Any) -> Any:
            def transform(ctx: Any, field: Any, value: Any) -> Any:
                stage.record("field", [_seen(ctx), value])
                if ctx.rule.kind == "CONDITION":
                    return value != "a"
                return value.upper() if isinstance(value, str | bytes) else value

            return transform

    class Action(serde.RuleAction):
        def __init__(self, name: str) -> None:
            self.name = name

        def type(self) -> str:
            return self.name

        def run(self, ctx: Any, message: Any, ex: Any) -> None:
            stage.record(f"action {self.name}", [ctx.rule.name, message, type(ex).__name__, str(ex)])
            if self.name == "RAISES":
                raise KeyError("the action failed")

        def close(self) -> None:
            stage.record("closed", self.name)

    return Message(), Field(), [Action("NOTES"), Action("RAISES")]


def _registry_of(stage: Stage) -> Any:
    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    message, field, actions = _kinds(stage)
    rules.register_executor(message)
    rules.register_executor(field)
    for action in actions:
        rules.register_action(action)
    return rules


def _cause(error: BaseException) -> list[str]:
    found: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        found.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    return found


def _attempt(stage: Stage, label: str, call: Any, *arguments: Any) -> Any:
    try:
        result = call(*arguments)
    except Exception as error:
        stage.record(label, _cause(error))
        return None
    stage.record(label, result)
    return result


@script(alone=True)
def rules_of_avro_run_alike(kafka: ModuleType, stage: Stage) -> None:
    logging.getLogger("confluent_kafka").addHandler(logging.NullHandler())
    logging.getLogger("barnabas").addHandler(logging.NullHandler())
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    make = lambda **words: _rule(registry, **words)  # noqa: E731
    condition = {"kind": "CONDITION", "type": "MESSAGE"}
    cases: dict[str, Any] = {
        "a change": {"domain_rules": [make(name="r", type="MESSAGE", params={"own": "p"})]},
        "lower case": {"domain_rules": [make(name="r", type="message")]},
        "two": {"domain_rules": [make(name="one", type="MESSAGE"), make(name="two", type="MESSAGE")]},
        "writing": {"domain_rules": [make(name="r", type="MESSAGE", mode="WRITE")]},
        "reading": {"domain_rules": [make(name="r", type="MESSAGE", mode="READ")]},
        "upgrading": {"domain_rules": [make(name="r", type="MESSAGE", mode="UPGRADE")]},
        "holds": {
            "domain_rules": [make(name="r", expr="true", on_success="x", onSuccess="NOTES", **condition)]
        },
        "does not hold": {"domain_rules": [make(name="r", expr="false", **condition)]},
        "with words": {"domain_rules": [make(name="r", doc="why not", expr="false", **condition)]},
        "noted": {"domain_rules": [make(name="r", expr="false", onFailure="NOTES", **condition)]},
        "passed over": {"domain_rules": [make(name="r", expr="false", onFailure="NONE", **condition)]},
        "fails": {"domain_rules": [make(name="r", expr="raise", type="MESSAGE")]},
        "fails, noted": {
            "domain_rules": [make(name="r", expr="raise", type="MESSAGE", onFailure="NOTES,NONE")]
        },
        "the action fails": {"domain_rules": [make(name="r", type="MESSAGE", onSuccess="RAISES")]},
        "no action": {"domain_rules": [make(name="r", type="MESSAGE", onSuccess="NOBODY")]},
        "gives nothing": {"domain_rules": [make(name="r", expr="none", type="MESSAGE")]},
        "no executor": {"domain_rules": [make(name="r", type="NOBODY")]},
        "no executor, noted": {"domain_rules": [make(name="r", type="NOBODY", onFailure="NOTES")]},
        "no type": {"domain_rules": [make(name="r")]},
        "disabled": {"domain_rules": [make(name="r", type="MESSAGE", disabled=True)]},
        "elsewhere": {"domain_rules": [make(name="r", type="MESSAGE")], "enable_at": "SERVER"},
        "here": {"domain_rules": [make(name="r", type="MESSAGE")], "enable_at": "CLIENT"},
        "bytes": {"domain_rules": None, "encoding_rules": [make(name="r", type="MESSAGE")]},
        "fields": {"domain_rules": [make(name="r", type="FIELD")]},
        "tagged fields": {"domain_rules": [make(name="r", type="FIELD", tags=["PII"])]},
        "tags of the metadata": {"domain_rules": [make(name="r", type="FIELD", tags=["META"])]},
        "the same tags twice": {
            "domain_rules": [
                make(name="one", type="FIELD", tags=["PII"]),
                make(name="two", type="FIELD", tags=["PII"]),
            ]
        },
        "fields that have to hold": {"domain_rules": [make(name="r", type="FIELD", kind="CONDITION")]},
    }
    metadata = registry.Metadata(
        registry.MetadataTags({"n.R.g": ["META"], "**.x": ["META"]}),
        registry.MetadataProperties({"of the schema": "yes", "own": "no"}),
        None,
    )
    rules = _registry_of(stage)
    for label, rule_set in cases.items():
        client = recording_client(registry, stage)
        schema = registry.Schema(
            TAGGED, "AVRO", [], metadata, registry.RuleSet(**{"migration_rules": None, **rule_set})
        )
        client.register_schema("t-value", schema)
        latest = {**UNREGISTERED, "use.latest.version": True}
        serializer = avro.AvroSerializer(client, None, None, latest, {"a": "b"}, rules)
        data = _attempt(stage, f"{label}: written", serializer, copy.deepcopy(VALUE), context(stage))
        own = avro.AvroSerializer(client, schema, None, None, None, rules)
        _attempt(stage, f"{label}: written by its own schema", own, copy.deepcopy(VALUE), context(stage))
        deserializer = avro.AvroDeserializer(client, None, None, False, None, {"c": "d"}, rules)
        if data is not None:
            _attempt(stage, f"{label}: read", deserializer, data, context(stage))
        if data is not None and label != "bytes":
            replayed = context(stage, headers=[("__rule.name", b"r")])
            _attempt(stage, f"{label}: read again", deserializer, data, replayed)
    serializer.close()
    override = stage.module("schema_registry.rule_registry").RuleOverride
    client = recording_client(registry, stage)
    rule_set = registry.RuleSet(None, [make(name="r", expr="false", **condition)])
    client.register_schema("t-value", registry.Schema(TAGGED, "AVRO", [], metadata, rule_set))
    for label, more in {
        "disabled": (None, None, True),
        "noted": (None, "NOTES", None),
        "as it is": (None, None, None),
    }.items():
        rules.register_override(override("MESSAGE", *more))
        serializer = avro.AvroSerializer(client, None, None, latest, None, rules)
        _attempt(stage, f"overridden: {label}", serializer, copy.deepcopy(VALUE), context(stage))
        key = avro.AvroSerializer(client, '"string"', None, None, None, rules)
        _attempt(stage, "a key", key, "the key", context(stage, field="KEY"))
    stage.record("overrides", [repr(each) for each in rules.get_overrides()])
    rules.clear()
    stage.record("cleared", [rules.get_executors(), rules.get_actions(), rules.get_executor("MESSAGE")])


@script()
def values_migrate_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    serde = stage.module("schema_registry.serde")

    class Renames(serde.RuleExecutor):
        def type(self) -> str:
            return "RENAMES"

        def transform(self, ctx: Any, message: Any) -> Any:
            stage.record("renames", [_seen(ctx), message])
            old, new = ctx.rule.expr.split()
            return {new: message[old]}

    rules.register_executor(Renames())

    def schema(field: str, *migrations: tuple[str, str]) -> Any:
        text = AVRO.replace('"f"', f'"{field}"')
        made = [
            _rule(registry, name=f"to {field}", type="RENAMES", mode=mode, expr=expr)
            for mode, expr in migrations
        ]
        properties = registry.Metadata(None, registry.MetadataProperties({"version": field}), None)
        return registry.Schema(text, "AVRO", [], properties, registry.RuleSet(made, None))

    client = recording_client(registry, stage)
    client.register_schema("t-value", schema("a"))
    client.register_schema("t-value", schema("b", ("UPGRADE", "a b"), ("DOWNGRADE", "b a")))
    client.register_schema("t-value", schema("c", ("UPGRADE", "b c"), ("DOWNGRADE", "c b")))
    client.record("registered")
    data: dict[str, Any] = {}
    for field in ("a", "b", "c"):
        conf = {**UNREGISTERED, "use.latest.with.metadata": {"version": field}}
        serializer = avro.AvroSerializer(client, None, None, conf, None, rules)
        data[field] = stage.attempt(f"{field} written", serializer, {field: "x"}, context(stage))
    for wanted in ("a", "b", "c"):
        conf = {"use.latest.with.metadata": {"version": wanted}}
        deserializer = avro.AvroDeserializer(client, None, None, False, conf, None, rules)
        for field, message in data.items():
            for _ in range(2):
                stage.attempt(f"{field} as {wanted}", deserializer, message, context(stage))
                client.record(f"{field} as {wanted}")


@script()
def conditions_that_schemas_have_are_checked_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    serde = stage.module("schema_registry.serde")
    text = """{"type": "record", "name": "R", "confluent:rules": [{"name": "whole", "expr": "text"}],
        "fields": [
        {"name": "f", "type": "string", "confluent:rules": [
            {"name": "one", "doc": "why", "expr": "false"}, {"name": "two", "expr": "raise"},
            {"expr": "true"}, {"name": "sql", "sql": "f > 1", "expr": "false"}]},
        {"name": "g", "type": ["null", "int"], "confluent:rules": [{"name": "null", "expr": "false"}]},
        {"name": "list", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields": [
            {"name": "x", "type": "int", "confluent:rules": [{"name": "each", "expr": "false"}]}]}}}]}"""

    class Checks(serde.ValidationRuleExecutor):
        def __init__(self) -> None:
            self.odd = False

        def execute(self, rule: Any, schema: Any, message: Any) -> Any:
            stage.record("checked", [rule.name, rule.expr, message])
            if rule.expr == "raise":
                raise serde.RuleError("cannot say")
            if self.odd:
                return 5
            return {"true": True, "false": False, "text": "it said so"}[rule.expr]

    value = {"f": "x", "g": None, "list": [{"x": 1}, {"x": 2}]}
    checks = Checks()
    for execution in ("DISABLED", "BEFORE_DOMAIN_RULES", serde.ValidationRulesExecution.AFTER_DOMAIN_RULES):
        for fail_fast in (False, True):
            conf = {
                "validation.rules.execution": execution,
                "validation.rules.fail.fast": fail_fast,
                "validation.rules.executor": checks,
            }
            client = registry.SchemaRegistryClient.new_client({"url": "mock://"})
            serializer = avro.AvroSerializer(client, text, conf=conf)
            stage.attempt(f"{execution} {fail_fast}", serializer, dict(value), context(stage))
            latest = {**UNREGISTERED, "use.latest.version": True}
            client.register_schema("t-value", registry.Schema(text))
            serializer = avro.AvroSerializer(client, None, conf=conf | latest)
            stage.attempt(f"{execution} {fail_fast}, latest", serializer, dict(value), context(stage))
    checks.odd = True
    stage.attempt("odd", serializer, dict(value), context(stage))
    rule = serde.ValidationRule("name", "doc", "expr", "sql")
    error = serde.ValidationRuleError(rule, "a.b", None, KeyError("x"))
    stage.record(
        "shown",
        [repr(rule), str(error), repr(error), rule == serde.ValidationRule("name", "doc", "expr", "sql")],
    )
    stage.record("parsed", [repr(each) for each in serde.parse_validation_rules([{"name": "a"}, 5])])
    stage.record("none", serde.parse_validation_rules({"name": "a"}))


@script(alone=True)
def rules_in_cel_run_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    cel = "schema_registry.rules.cel"
    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    rules.register_executor(stage.module(f"{cel}.cel_executor").CelExecutor())
    rules.register_executor(stage.module(f"{cel}.cel_field_executor").CelFieldExecutor())
    stage.record("types", sorted(each.type() for each in rules.get_executors()))
    others = ", ".join(f"'{name}': message.{name}" for name in ("g", "list", "map", "inner"))
    whole = f"{{'f': message.f + '!', {others}}}"
    cases: dict[str, dict[str, Any]] = {
        "holds": {"kind": "CONDITION", "type": "CEL", "expr": "message.f == 'a' && size(message.list) == 2"},
        "does not hold": {"kind": "CONDITION", "type": "CEL", "expr": "message.map.e > 1"},
        "is broken": {"kind": "CONDITION", "type": "CEL", "expr": "message."},
        "a change": {"type": "CEL", "expr": whole},
        "fields": {"type": "CEL_FIELD", "expr": "typeName == 'STRING' ; value + '-' + name"},
        "tagged": {"type": "CEL_FIELD", "tags": ["PII"], "expr": "typeName == 'STRING' ; value + '!'"},
        "fields hold": {"kind": "CONDITION", "type": "CEL_FIELD", "expr": "name == 'f' ; value == 'b'"},
    }
    for label, words in cases.items():
        client = recording_client(registry, stage)
        rule_set = registry.RuleSet(None, [_rule(registry, **{"name": "r", "mode": "WRITE", **words})])
        client.register_schema("t-value", registry.Schema(TAGGED, "AVRO", [], None, rule_set))
        latest = {**UNREGISTERED, "use.latest.version": True}
        serializer = avro.AvroSerializer(client, None, None, latest, None, rules)
        try:
            stage.record(label, serializer(copy.deepcopy(VALUE), context(stage)))
        except Exception as error:
            # Of what is no CEL, the original's library tells.
            cause = None if label == "is broken" else type(error.__cause__).__name__
            stage.record(label, [type(error).__name__, cause])
    for class_ in ("cel_executor.CelExecutor", "cel_field_executor.CelFieldExecutor"):
        module, _, name = class_.partition(".")
        getattr(stage.module(f"{cel}.{module}"), name).register()
    everyones = stage.module("schema_registry.rule_registry").RuleRegistry.get_global_instance()
    stage.record("registered", [everyones.get_executor(name) is not None for name in ("CEL", "CEL_FIELD")])
    everyones.clear()


class Producer:
    """Says what it is asked to send."""

    def __init__(self, stage: Stage, *, fails: bool = False) -> None:
        self.stage, self.fails = stage, fails

    def produce(self, topic: str, **words: Any) -> None:
        words.pop("on_delivery")
        self.stage.record(f"produced to {topic}", [words["key"], words["value"], list(words["headers"])])
        if self.fails:
            raise BufferError("full")

    def poll(self, timeout: float) -> None:
        self.stage.record("polled", timeout)

    def flush(self) -> None:
        self.stage.record("flushed", True)


@script(alone=True)
def records_of_failed_rules_go_to_a_dead_letter_topic(kafka: ModuleType, stage: Stage) -> None:
    logging.getLogger("confluent_kafka").addHandler(logging.NullHandler())
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    action = stage.module("schema_registry.rules.dlq.dlq_action").DlqAction
    for label, conf in {
        "a topic": {"dlq.topic": "dead", "producer": Producer(stage)},
        "at once": {"dlq.topic": "dead", "producer": Producer(stage), "dlq.auto.flush": "true"},
        "no topic": {"producer": Producer(stage)},
        "no way": {"dlq.topic": "dead", "producer": Producer(stage, fails=True)},
        "secrets": {"dlq.topic": "dead", "producer": Producer(stage), "dlq.redact.rule.types": "MESSAGE, X"},
    }.items():
        rules = _registry_of(stage)
        rules.register_action(action(conf))
        words = {"name": "r", "kind": "CONDITION", "type": "MESSAGE", "tags": ["PII"], "onFailure": "DLQ"}
        for expr in ("false", "raise"):
            client = recording_client(registry, stage)
            rule_set = registry.RuleSet(None, [_rule(registry, expr=expr, **words)])
            client.register_schema("t-value", registry.Schema(TAGGED, "AVRO", [], None, rule_set))
            latest = {**UNREGISTERED, "use.latest.version": True}
            key = avro.AvroSerializer(client, '"string"', None, None, None, rules)
            key("the key", context(stage, field="KEY"))
            serializer = avro.AvroSerializer(client, None, None, latest, None, rules)
            given = context(stage, headers=[("mine", b"x"), ("text", "y")])
            _attempt(stage, f"{label} {expr}: written", serializer, copy.deepcopy(VALUE), given)
            plain = avro.AvroSerializer(client, TAGGED)(copy.deepcopy(VALUE), context(stage, "u"))
            deserializer = avro.AvroDeserializer(client, None, None, False, None, None, rules)
            _attempt(stage, f"{label} {expr}: read", deserializer, b"\0\0\0\0\1" + plain[5:], context(stage))
        serializer.close()


@script()
def values_migrate_by_jsonata_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    executor = stage.module("schema_registry.rules.jsonata.jsonata_executor").JsonataExecutor
    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    rules.register_executor(executor())
    client = recording_client(registry, stage)
    client.register_schema("t-value", registry.Schema(AVRO))
    words = {"name": "m", "type": "JSONATA", "mode": "UPGRADE"}
    rule = _rule(registry, expr="$merge([$sift($, function($v, $k) {$k != 'f'}), {'g': f}])", **words)
    newer = AVRO.replace('"f"', '"g"')
    client.register_schema(
        "t-value", registry.Schema(newer, "AVRO", [], None, registry.RuleSet([rule], None))
    )
    data = b"\0\0\0\0\1\2x"
    latest = {"use.latest.version": True}
    deserializer = avro.AvroDeserializer(client, None, None, False, latest, None, rules)
    stage.attempt("migrated", deserializer, data, context(stage))


@script(alone=True)
def fields_are_encrypted_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    encryption = "schema_registry.rules.encryption"
    executors = stage.module(f"{encryption}.encrypt_executor")
    keys = stage.module(f"{encryption}.kms_driver_registry")
    keys.reset_kms_drivers()
    stage.module(f"{encryption}.localkms.local_driver").LocalKmsDriver.register()
    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    executor = executors.FieldEncryptionExecutor()
    rules.register_executor(executor)
    rules.register_executor(executors.EncryptionExecutor())
    stage.record("types", sorted(each.type() for each in rules.get_executors()))
    params = {"encrypt.kek.name": "kek", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "mykey"}
    for label, words in {
        "fields": {"type": "ENCRYPT", "tags": ["PII"]},
        "payload": {"type": "ENCRYPT_PAYLOAD"},
        "no key": {"type": "ENCRYPT", "tags": ["PII"], "params": {}},
        # The same value gives the same bytes.
        "always alike": {"type": "ENCRYPT", "tags": ["PII"], "params": {**params, SIV: "AES256_SIV"}},
    }.items():
        client = recording_client(registry, stage)
        rule = _rule(registry, name="r", **{"params": params, **words})
        of_bytes = [rule] if label == "payload" else None
        rule_set = registry.RuleSet(None, None if of_bytes else [rule], of_bytes)
        client.register_schema("t-value", registry.Schema(TAGGED, "AVRO", [], None, rule_set))
        latest = {**UNREGISTERED, "use.latest.version": True}
        secret = {"secret": "a secret"}
        serializer = avro.AvroSerializer(client, None, None, latest, secret, rules)
        try:
            data = serializer(copy.deepcopy(VALUE), context(stage))
        except Exception as error:
            stage.record(label, [type(error).__name__, type(error.__cause__).__name__])
            continue
        stage.record(label, len(data))
        plain = avro.AvroDeserializer(client, None, None, False, None, secret, rules)
        stage.attempt(f"{label}: read", plain, data, context(stage))
    dek_registry = executor.executor.client
    stage.record("client", type(dek_registry).__name__)
    kek = dek_registry.get_kek("kek")
    stage.record("kek", kek.to_dict())
    module = stage.module(f"{encryption}.dek_registry.dek_registry_client")
    dek = dek_registry.get_dek("kek", "t-value", module.DekAlgorithm.AES256_GCM, -1)
    stage.record("dek", [dek.kek_name, dek.subject, dek.version, str(dek.algorithm)])
    stage.attempt("no kek", dek_registry.get_kek, "other")
    stage.attempt("no dek", dek_registry.get_dek, "other", "s")
    keys.reset_kms_drivers()


@script()
def keys_are_asked_for_alike(kafka: ModuleType, stage: Stage) -> None:
    module = stage.module("schema_registry.rules.encryption.dek_registry.dek_registry_client")
    kek = {"name": "a b", "kmsType": "aws-kms", "kmsKeyId": "arn", "kmsProps": {"a": "b"}, "shared": True}
    dek = {
        "kekName": "a b",
        "subject": "s/t",
        "version": 2,
        "algorithm": "AES256_SIV",
        "encryptedKeyMaterial": "eA==",
        "keyMaterial": "eQ==",
        "ts": 5,
    }
    server = RecordingRegistry(stage, (200, kek))
    client = module.DekRegistryClient.new_client({"url": server.url, "max.retries": 0})
    calls: list[tuple[str, tuple[Any, ...], Any]] = [
        ("register_kek", ("a b", "aws-kms", "arn", True, {"a": "b"}, "doc", ".ctx"), (200, kek)),
        ("register_kek", ("a b", "aws-kms", "arn", True, {"a": "b"}, "doc", ".ctx"), (500, {})),
        ("register_kek", ("other", "aws-kms", "arn"), (409, {"error_code": 40971, "message": "is there"})),
        ("get_kek", ("a b",), (200, kek)),
        ("get_kek", ("a/b", True, ".ctx"), (200, {"name": "a/b"})),
        ("get_kek", ("c",), (404, {"error_code": 40470, "message": "Key not found"})),
        ("get_dek", ("a b", "s/t"), (200, dek)),
        ("get_dek", ("a b", "s/t"), (500, {})),
        ("get_dek", ("a b", "s", module.DekAlgorithm.AES256_SIV, -1, True), (200, dek)),
        ("register_dek", ("a b", "s/t", "eA=="), (200, {"error_code": 1})),
        ("register_dek", ("a b", "s/t", "eA==", module.DekAlgorithm.AES128_GCM, 3), (405, {})),
    ]
    for name, arguments, answer in calls:
        server.answer_with(answer)
        found = stage.within(name, getattr(client, name), *arguments)
        stage.record(name, found and found.to_dict())
        server.record(name)
    found = module.Dek.from_dict(dek)
    stage.record("a key", [found.get_key_material_bytes(), found.get_encrypted_key_material_bytes()])
