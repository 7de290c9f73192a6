#!/usr/bin/env python3
"""No two classes of one name in src/barnabas: a name says which one is meant. Ends with status 1 otherwise.

Generated messages have Kafka's names, which repeat.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "barnabas"
GENERATED = SOURCES / "protocol" / "messages"

# The same client, once for asyncio and once for those who wait.
FRONTS = {"Admin", "Consumer", "ParallelConsumer", "Producer", "ShareConsumer"}

# What classes in compat/ are called in the packages that they stand in for.
NAMED_BY_ORIGINALS = {
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "BrokerMetadata",
    "ClusterMetadata",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "Consumer",
    "ElectionType",
    "GroupMember",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "Node",
    "Producer",
    "ResourcePatternType",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "ShareConsumer",
    "TopicDescription",
    "TopicMetadata",
    "TopicPartition",
}


def main() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        if GENERATED in path.parents:
            continue
        wing = path.relative_to(SOURCES).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ClassDef):
                continue
            is_allowed = node.name in {"compat": NAMED_BY_ORIGINALS, "sync": FRONTS}.get(wing, set())
            if not is_allowed:
                homes[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    doubled = {name: places for name, places in homes.items() if len(places) > 1}
    for name, places in sorted(doubled.items()):
        print(f"{name} is the name of {len(places)} classes: {', '.join(places)}")
    if doubled:
        sys.exit(1)


if __name__ == "__main__":
    main()
