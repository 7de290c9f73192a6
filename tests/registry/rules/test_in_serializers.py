"""Rules in serializers: what the original's wrote, ours read, and the other way round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import confluent_kafka.schema_registry as theirs
import pytest
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry.rule_registry import RuleRegistry as TheirRules
from confluent_kafka.schema_registry.rules.encryption import encrypt_executor
from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import (
    DekRegistryClient,
)
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.serialization import SerializationContext
from tests.registry.rules.dek_server import DekServer
from tests.registry.serializers.conftest import TheirRegistry

from barnabas.errors import SerializationError
from barnabas.registry import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    Metadata,
    Rule,
    RuleSet,
    Schema,
)
from barnabas.registry.config import load_registry_config

SECRET = {"secret": "mysecret"}
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Person",
        "fields": [
            {"name": "name", "type": "string", "confluent:tags": ["PII"]},
            {"name": "age", "type": "int"},
            {
                "name": "mails",
                "type": ["null", {"type": "array", "items": "string"}],
                "confluent:tags": ["PII"],
            },
        ],
    }
)
JSON = json.dumps(
    {
        "title": "Person",
        "type": "object",
        "properties": {
            "name": {"type": "string", "confluent:tags": ["PII"]},
            "age": {"type": "integer"},
            "mails": {"type": "array", "items": {"type": "string"}, "confluent:tags": ["PII"]},
        },
    }
)
PERSON = {"name": "Ada", "age": 36, "mails": ["a@x", "b@x"]}
KEK = {"encrypt.kek.name": "kek1", "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "mykey"}
FIELDS = Rule("fields", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT", tags=["PII"])
PAYLOAD = Rule("payload", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT_PAYLOAD")
FORMATS: list[tuple[str, str, Any, Any, Any, Any]] = [
    (AVRO, "AVRO", AvroSerializer, AvroDeserializer, their_avro.AvroSerializer, their_avro.AvroDeserializer),
    (JSON, "JSON", JSONSerializer, JSONDeserializer, their_json.JSONSerializer, their_json.JSONDeserializer),
]


@pytest.fixture
def their_client() -> theirs.SchemaRegistryClient:
    return theirs.SchemaRegistryClient.new_client({"url": "mock://"})


@pytest.fixture
def registry(their_client: Any, dek_server: DekServer) -> TheirRegistry:
    made = TheirRegistry(their_client)
    made.config = load_registry_config(dek_server.url, {})
    return made


@pytest.fixture
def their_rules(their_client: Any, dek_server: DekServer) -> Iterator[TheirRules]:
    LocalKmsDriver.register()
    rules, client = TheirRules(), DekRegistryClient({"url": dek_server.url})
    # A serializer tells its executors of the schema registry, which for this one is in memory.
    client._conf = their_client.config()
    for executor in (encrypt_executor.FieldEncryptionExecutor(), encrypt_executor.EncryptionExecutor()):
        getattr(executor, "executor", executor).client = client
        rules.register_executor(executor)
    yield rules
    client.__exit__()


@pytest.mark.parametrize(("text", "type", "writes", "reads", "they_write", "they_read"), FORMATS)
@pytest.mark.parametrize("rules", [RuleSet(domain_rules=[FIELDS]), RuleSet(encoding_rules=[PAYLOAD])])
def test_what_one_encrypts_the_other_decrypts(
    registry: TheirRegistry,
    their_rules: TheirRules,
    text: str,
    type: str,
    writes: Any,
    reads: Any,
    they_write: Any,
    they_read: Any,
    rules: RuleSet,
) -> None:
    schema = Schema(text, type, metadata=Metadata(properties=KEK), rule_set=rules)
    registry.run(registry.calls.register("people-value", schema))
    place = SerializationContext("people", "value")  # type: ignore[arg-type]
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    if type == "AVRO":
        their_writer = they_write(registry.client, text, None, conf, SECRET, their_rules)
        their_reader = they_read(registry.client, rule_conf=SECRET, rule_registry=their_rules)
    else:
        their_writer = they_write(text, registry.client, None, conf, SECRET, their_rules)
        their_reader = they_read(
            None, schema_registry_client=registry.client, rule_conf=SECRET, rule_registry=their_rules
        )
    own_writer, own_reader = (
        writes(registry, schema, rule_settings=SECRET),
        reads(registry, rule_settings=SECRET),
    )
    # The original changes what it is given.
    for data in (their_writer(json.loads(json.dumps(PERSON)), place), own_writer("people", PERSON)):
        assert b"Ada" not in data
        assert own_reader("people", data) == PERSON
        assert their_reader(data, place) == PERSON


@pytest.mark.parametrize(("text", "type", "writes", "reads"), [each[:4] for each in FORMATS])
def test_the_package_s_own_rules_need_not_be_registered(
    registry: TheirRegistry, text: str, type: str, writes: Any, reads: Any
) -> None:
    rules = RuleSet(
        domain_rules=[
            Rule(
                "adults",
                kind="CONDITION",
                mode="WRITE",
                type="CEL",
                expr="message.age > 17",
                doc="only adults",
            ),
            Rule("loud", kind="TRANSFORM", mode="WRITE", type="CEL_FIELD", tags=["PII"], expr="value + '!'"),
            Rule(
                "age",
                kind="TRANSFORM",
                mode="READ",
                type="CEL",
                expr="{'name': message.name, 'age': 1, 'mails': []}",
            ),
        ]
    )
    write = writes(registry, Schema(text, type, rule_set=rules))
    found = reads(registry)("people", write("people", PERSON))
    assert found == {"name": "Ada!", "age": 1, "mails": []}
    with pytest.raises(
        SerializationError, match=r"rule 'adults' .* of subject 'people-value' failed: only adults"
    ):
        write("people", {**PERSON, "age": 5})
