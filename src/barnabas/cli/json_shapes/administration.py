"""What the commands that administer a cluster print with `--json`."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict


class ClusterJson(TypedDict):
    cluster_id: str | None
    controller: Annotated[int | None, "The controller's id."]
    brokers: Annotated[int, "How many there are."]
    authorized_operations: Annotated[
        list[str] | None, "What this client may do with the cluster: describe, alter, ...; null if unknown."
    ]


class BrokerJson(TypedDict):
    id: int
    host: str
    port: int
    rack: str | None
    controller: Annotated[bool, "Whether it is the controller."]
    fenced: Annotated[bool, "Whether it is registered but does not serve."]


class ApiVersionsJson(TypedDict):
    api: Annotated[str, "Produce, Fetch, ..."]
    brokers: Annotated[list[int], "The brokers that speak these versions."]
    lowest: Annotated[int | None, "Null if they do not speak it."]
    highest: int | None


class HealthFindingJson(TypedDict):
    status: Literal["ok", "skipped", "warning", "unknown", "critical"]
    what: Annotated[str, "The broker, partition, folder, transaction or group that has the problem."]
    problem: Annotated[str, "The same text for all that have the same problem."]
    detail: Annotated[str, "What is particular to this one; may be empty."]


class HealthCheckJson(TypedDict):
    check: Annotated[str, "A name that --check takes."]
    status: Annotated[str, "The most severe of its findings."]
    summary: Annotated[str, "A sentence, where there are no findings."]
    findings: list[HealthFindingJson]


class HealthJson(TypedDict):
    status: Annotated[str, "The most severe of all checks."]
    checks: list[HealthCheckJson]


class DeletedRecordsJson(TypedDict):
    topic: str
    partition: int
    first_offset: Annotated[int, "Of the oldest record before."]
    new_first_offset: Annotated[int, "Of the oldest record afterwards."]
    end_offset: int


class ElectionJson(TypedDict):
    topic: str
    partition: int
    elected: Annotated[bool, "Whether there was an election, or with --dry-run would be."]
    leader: Annotated[NotRequired[int], "With --dry-run: who leads now, -1 if nobody."]
    replicas: Annotated[NotRequired[list[int]], "With --dry-run."]
    in_sync_replicas: Annotated[NotRequired[list[int]], "With --dry-run."]


class AclJson(TypedDict):
    resource_type: Literal["topic", "group", "cluster", "transactional-id", "delegation-token", "user"]
    resource_name: str
    pattern_type: Annotated[Literal["literal", "prefixed"], "How the resource's name is meant."]
    principal: Annotated[str, "As User:alice."]
    host: Annotated[str, "The address of clients; * for all."]
    operation: Annotated[str, "read, write, describe, all, ..."]
    permission: Literal["allow", "deny"]


class ConfigResourceJson(TypedDict):
    type: Literal["topic", "broker", "broker-logger", "client-metrics", "group"]
    name: str


class ConfigJson(TypedDict):
    resource: Annotated[str, "The topic, broker, ... that has the setting; <default> for all brokers."]
    name: Annotated[str, "The setting, as retention.ms."]
    value: Annotated[str | None, "Null for passwords, which brokers keep to themselves."]
    source: Annotated[str, "default-config, dynamic-topic-config, static-broker-config, ..."]
    note: Literal["read-only", "sensitive"] | None
    documentation: Annotated[NotRequired[str | None], "With --documentation: Kafka's text."]


class ConfigChangeJson(TypedDict):
    resource: str
    name: Annotated[str, "The setting."]
    value: Annotated[str | None, "Before."]
    new_value: Annotated[str | None, "Afterwards; null for a default that the brokers do not tell."]


class FeatureJson(TypedDict):
    feature: Annotated[str, "As metadata.version."]
    level: Annotated[int | None, "What the cluster has settled on; null if it does not use the feature."]
    lowest: Annotated[int | None, "The lowest level that the brokers support."]
    highest: int | None


class LogDirJson(TypedDict):
    broker: int
    path: str
    replicas: Annotated[int, "How many replicas are there."]
    size_bytes: Annotated[int, "Of all replicas there."]
    total_bytes: Annotated[int | None, "Of the disk."]
    usable_bytes: Annotated[int | None, "Of the disk: what is free."]
    error: Annotated[str | None, "What is wrong with the folder."]


class LogDirReplicaJson(TypedDict):
    topic: str
    partition: int
    broker: int
    path: str
    size_bytes: int
    offset_lag: Annotated[int, "How many records it is behind."]
    moves_here: Annotated[bool, "Whether it is the copy of a replica that moves to this folder."]


class LogDirMoveJson(TypedDict):
    topic: str
    partition: int
    broker: int
    path: Annotated[str | None, "The folder that it is in."]
    new_path: str
    bytes_left: Annotated[int | None, "How many bytes are still to be copied."]


class QuorumReplicaJson(TypedDict):
    id: int
    role: Literal["leader", "voter", "observer"]
    end_offset: int
    lag: Annotated[int, "How many records of metadata it is behind the leader."]
    caught_up_at_ms: Annotated[int | None, "When it last had all, in milliseconds since 1970."]
    directory_id: str


class QuorumJson(TypedDict):
    leader: Annotated[int, "The leader's id, -1 if there is none."]
    leader_epoch: int
    high_watermark: int
    replicas: list[QuorumReplicaJson]


class QuotaJson(TypedDict):
    user: Annotated[str | None, "<default> for all without a quota of their own; null if it is not of users."]
    client_id: str | None
    ip: str | None
    quota: Annotated[str, "producer_byte_rate, consumer_byte_rate, request_percentage, ..."]
    value: float


class PlannedMoveJson(TypedDict):
    topic: str
    partition: int
    replicas: Annotated[list[int], "The brokers that have it now, the preferred leader first."]
    new_replicas: list[int]


class MoveStateJson(TypedDict):
    topic: str
    partition: int
    replicas: Annotated[list[int] | None, "The brokers that have it now; null if it is missing."]
    new_replicas: Annotated[list[int], "Where they are to be."]
    state: Literal["done", "moving", "elsewhere", "missing"]
    bytes_left: Annotated[int | None, "How much is to be copied still; null if nothing moves, or if unknown."]


class MoveJson(TypedDict):
    topic: str
    partition: int
    replicas: Annotated[list[int], "All, those that are added and removed as well."]
    adding: list[int]
    removing: list[int]
    bytes_left: Annotated[int | None, "How much is to be copied still; null if unknown."]


class PlacedPartitionJson(TypedDict):
    topic: str
    partition: int
    replicas: list[int]


class PlanJson(TypedDict):
    version: Literal[1]
    partitions: list[PlacedPartitionJson]


class TokenJson(TypedDict):
    token_id: str
    owner: Annotated[str, "As User:alice."]
    requester: str
    renewers: list[str]
    issued_at_ms: Annotated[int, "In milliseconds since 1970, as the next two."]
    expires_at_ms: int
    ends_at_ms: Annotated[int, "However often it is renewed."]


class NewTokenJson(TokenJson):
    hmac: Annotated[str, "Its password, in base64."]


class TransactionJson(TypedDict):
    transactional_id: str
    producer_id: int
    state: Annotated[str, "Ongoing, PrepareCommit, CompleteCommit, Empty, ..."]
    coordinator: Annotated[int, "The broker that has its state."]


class TransactionStateJson(TypedDict):
    transactional_id: str
    state: Annotated[str, "Ongoing, PrepareCommit, CompleteCommit, Empty, ..."]
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    began_at_ms: Annotated[int | None, "In milliseconds since 1970; null if none is open."]
    coordinator: int
    partitions: Annotated[list[str], "Those that it has written to, as orders-0."]


class ProducerStateJson(TypedDict):
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: Annotated[int, "Of its last record, in milliseconds since 1970."]
    coordinator_epoch: int | None
    start_offset: Annotated[int | None, "Where its open transaction begins; null if none is open."]


class ScramUserJson(TypedDict):
    user: str
    mechanism: Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
    iterations: int


class ProfileJson(TypedDict):
    name: str
    bootstrap_servers: str | None
    is_default: bool
