#!/usr/bin/env python3
"""No two classes of one name in src/barnabas, no two public types of one name in kernel/src: a name says
which one is meant. Ends with status 1 otherwise.

Generated messages have Kafka's names, which repeat. In Rust an alias may fix the parameters of a type.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "barnabas"
KERNEL = ROOT / "kernel" / "src"
PUBLIC_TYPE = re.compile(r"pub(?:\([a-z]+\))? (?:struct|enum|trait|union) (\w+)")
GENERATED = SOURCES / "protocol" / "messages"
# Only what kafka-python and pykafka call so, under the module names that it has there.
ALL_NAMED_BY_ORIGINALS = {SOURCES / "compat" / "kafka", SOURCES / "compat" / "pykafka"}

# The same client, once for asyncio and once for those who wait.
FRONTS = {
    "Admin",
    "AvroDeserializer",
    "AvroSerializer",
    "Consumer",
    "JSONDeserializer",
    "JSONSerializer",
    "ParallelConsumer",
    "Producer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "Registry",
    "ShareConsumer",
}

# What classes in compat/ are called in the packages that they stand in for.
NAMED_BY_ORIGINALS = {
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "Association",
    "AvroDeserializer",
    "AvroSerializer",
    "AwsKmsDriver",
    "AzureKmsDriver",
    "BrokerMetadata",
    "CelExecutor",
    "CelFieldExecutor",
    "ClusterMetadata",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "Consumer",
    "Dek",
    "DekId",
    "DlqAction",
    "ElectionType",
    "EncryptionExecutor",
    "ErrorAction",
    "FieldEncryptionExecutor",
    "FieldRedactionExecutor",
    "GcpKmsDriver",
    "GroupMember",
    "HcVaultKmsDriver",
    "JSONDeserializer",
    "JSONSerializer",
    "JsonataExecutor",
    "KafkaError",
    "Kek",
    "KekId",
    "LocalKmsDriver",
    "LogTruncationError",
    "MemberDescription",
    "MemberState",
    "Message",
    "Metadata",
    "NewPartitions",
    "NewTopic",
    "Node",
    "Producer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "RegisteredSchema",
    "Request",
    "ResourcePatternType",
    "ResourceType",
    "Response",
    "Rule",
    "RuleKind",
    "RuleMode",
    "RulePhase",
    "RuleSet",
    "Schema",
    "SchemaId",
    "SchemaReference",
    "ScramCredentialInfo",
    "ScramMechanism",
    "SerializationContext",
    "SerializationError",
    "ShareConsumer",
    "Struct",
    "TopicDescription",
    "TopicMetadata",
    "TopicPartition",
}


def main() -> None:
    doubled = [*doubled_in(classes()), *doubled_in(kernel_types())]
    for name, places in doubled:
        print(f"{name} is the name of {len(places)} types: {', '.join(places)}")
    if doubled:
        sys.exit(1)


def doubled_in(named: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """What several places define, by name."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in named:
        homes[name].append(place)
    return [(name, places) for name, places in sorted(homes.items()) if len(places) > 1]


def classes() -> Iterator[tuple[str, str]]:
    """Name and place of each class in Python."""
    for path in sorted(SOURCES.rglob("*.py")):
        if GENERATED in path.parents or not ALL_NAMED_BY_ORIGINALS.isdisjoint(path.parents):
            continue
        wing = path.relative_to(SOURCES).parts[0]
        if path.name == "waiting.py":
            wing = "sync"
        allowed = {"compat": NAMED_BY_ORIGINALS, "sync": FRONTS}.get(wing, set())
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in allowed:
                yield node.name, f"{path.relative_to(ROOT)}:{node.lineno}"


def kernel_types() -> Iterator[tuple[str, str]]:
    """Name and place of each public struct, enum and trait in Rust."""
    for path in sorted(KERNEL.rglob("*.rs")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if found := PUBLIC_TYPE.match(line):
                yield found[1], f"{path.relative_to(ROOT)}:{number}"


if __name__ == "__main__":
    main()
