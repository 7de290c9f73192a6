"""What the commands for topics, records and groups print with `--json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict


class Base64Json(TypedDict):
    base64: Annotated[str, "Bytes that are no text in UTF-8."]


class RecordJson(TypedDict):
    topic: str
    partition: int
    offset: int
    timestamp: Annotated[int, "In milliseconds since 1970."]
    key: Annotated[Any, "A text, or what --key-format makes of it; an object with base64 if it is no UTF-8."]
    value: Annotated[Any, "The same; null if the record has no value."]
    headers: Annotated[
        list[tuple[str, str | Base64Json | None]], "Pairs of a name and a value, in the record's order."
    ]


class PartitionFiguresJson(TypedDict):
    topic: Annotated[str, "all in the last one, which sums up several."]
    partition: int | None
    records: int
    bytes: Annotated[int, "Of keys, values and headers."]
    nulls: Annotated[int, "Records without a value."]
    keys: Annotated[int, "How many different ones."]
    min_bytes: Annotated[
        int | None, "The smallest record's size. All sizes are null if there are no records."
    ]
    p50_bytes: Annotated[int | None, "The size that half of the records do not exceed."]
    p90_bytes: int | None
    p99_bytes: int | None
    max_bytes: int | None
    first_timestamp_ms: int | None
    last_timestamp_ms: int | None


class KeyFiguresJson(TypedDict):
    key: str
    records: int
    bytes: int


class FiguresJson(TypedDict):
    partitions: list[PartitionFiguresJson]
    largest_keys: Annotated[list[KeyFiguresJson], "Those that take the most, the largest first."]
    has_more_keys: Annotated[bool, "Whether there were too many keys to count all."]


class ProducedJson(TypedDict):
    topic: str
    records: Annotated[int, "How many were stored."]


class CopiedTopicJson(TypedDict):
    source: str
    target: str
    records: int


class CarriedOffsetJson(TypedDict):
    group: str
    topic: str
    partition: int
    offset: Annotated[int, "What it has committed at the source."]
    target_topic: str
    target_offset: Annotated[int | None, "The same place at the target; null if it is not found."]
    note: Annotated[str, "Why it is not carried over; empty if it is."]


class CopiedJson(TypedDict):
    records: int
    seconds: float
    group: Annotated[str | None, "The one that keeps account."]
    topics: list[CopiedTopicJson]
    groups: Annotated[NotRequired[list[CarriedOffsetJson]], "Where groups are carried over."]


class PlannedTopicJson(TypedDict):
    source: str
    target: str
    partitions: int
    offsets: Annotated[int, "How many are to be copied; there may be fewer records."]
    is_created: Annotated[bool, "Whether the target topic would be created."]


class CopiedAclJson(TypedDict):
    topic: str
    principal: str
    host: str
    operation: str
    permission: Literal["allow", "deny"]


class CopiedGroupAclJson(TypedDict):
    group: str
    principal: str
    host: str
    operation: str
    permission: Literal["allow", "deny"]


class PlannedSubjectJson(TypedDict):
    subject: str
    versions: int
    target_subject: str
    target_versions: Annotated[int, "How many there are already."]


class CopyPlanJson(TypedDict):
    is_dry_run: Literal[True]
    topics: list[PlannedTopicJson]
    groups: Annotated[NotRequired[list[CarriedOffsetJson]], "Where groups are carried over."]
    acls: Annotated[NotRequired[list[CopiedAclJson]], "Where rules of access are carried over."]
    group_acls: Annotated[NotRequired[list[CopiedGroupAclJson]], "Those of groups that are carried over."]
    subjects: Annotated[
        NotRequired[list[PlannedSubjectJson]], "Of the topics, where schemas are registered at the target."
    ]


class LetterKindJson(TypedDict):
    topic: Annotated[str, "Where the letters came from."]
    stage: str
    field: str
    error: str
    query: str
    letters: int


class LetterChangeJson(TypedDict):
    topic: Annotated[str, "Where the letter came from."]
    partition: Annotated[int | None, "Null where keys choose it."]
    offset: int
    before: Annotated[dict[str, Any], "Of key, value, headers and timestamp those that are different."]
    after: Annotated[dict[str, Any], "The same."]


class ReplayedLettersJson(TypedDict):
    topic: str
    group: Annotated[str, "The one that keeps account."]
    is_dry_run: bool
    choice: Annotated[dict[str, Any], "The options that chose letters."]
    letters: Annotated[int, "How many were sent, or with --dry-run would be."]
    not_chosen: int
    not_dead_letters: Annotated[int, "Records that do not say where they came from."]
    kinds: list[LetterKindJson]
    edited: Annotated[int, "How many are changed."]
    dropped: Annotated[int, "How many are not sent, as their lines are gone."]
    changes: Annotated[list[LetterChangeJson], "The first of those that are edited."]


# A name with a point is no attribute.
LatencyJson = TypedDict(
    "LatencyJson",
    {
        "mean": Annotated[float, "In milliseconds, as all here."],
        "p50": Annotated[float, "What half of the records do not exceed."],
        "p95": float,
        "p99": float,
        "p99.9": float,
        "max": float,
    },
)


class BenchJson(TypedDict):
    what: Literal["produce", "consume", "latency"]
    topic: Annotated[str | None, "Null for one of its own, which is gone."]
    records: int
    bytes: Annotated[int, "Of values."]
    seconds: float
    records_per_second: float
    megabytes_per_second: float
    latency_ms: Annotated[NotRequired[LatencyJson], "Of produce and latency."]
    latency_samples: Annotated[NotRequired[int], "How many records latency_ms is about."]


class TopicJson(TypedDict):
    topic: str
    partitions: int
    replicas: Annotated[int, "How many each partition has; the most where partitions differ."]
    records: Annotated[int, "From the first offsets to the ends; at most so many."]
    bytes: Annotated[int | None, "Of one replica of each partition; null if this client may not ask."]
    groups: Annotated[list[str], "Those that have committed offsets of it."]


class OffsetRangeJson(TypedDict):
    topic: str
    partition: int
    first_offset: int
    end_offset: int


class OffsetJson(TypedDict):
    topic: str
    partition: int
    offset: Annotated[int | None, "Null if no record was found."]
    timestamp_ms: Annotated[int | None, "The record's, where the broker tells it."]


class TopicDifferenceJson(TypedDict):
    topic: str
    what: Annotated[str, "topic, partitions, replication factor, records, or a setting's name."]
    here: Annotated[str, "- for what is not there."]
    there: str


class TopicPartitionJson(TypedDict):
    partition: int
    leader: Annotated[int | None, "Null if it has none."]
    replicas: Annotated[list[int], "The preferred leader first."]
    in_sync_replicas: list[int]
    first_offset: Annotated[int | None, "Null without a leader."]
    end_offset: int | None


class TopicDescriptionJson(TypedDict):
    name: str
    topic_id: str
    is_internal: bool
    configs: Annotated[dict[str, str | None], "The settings that are not defaults."]
    partitions: list[TopicPartitionJson]


class GroupJson(TypedDict):
    group: str
    state: Annotated[str, "Stable, Empty, ..."]
    type: Annotated[str, "classic, consumer, share or streams."]
    members: Annotated[NotRequired[int | None], "With --lag, as all that follow."]
    idle_members: Annotated[NotRequired[int | None], "Members that have nothing to read."]
    topics: NotRequired[list[str]]
    lag: Annotated[NotRequired[int | None], "Records that it has not read yet; null if unknown."]
    lag_seconds: Annotated[
        NotRequired[int | None], "With --seconds: how old the oldest unread record is; null if unknown."
    ]


class GroupPartitionJson(TypedDict):
    topic: str
    partition: int
    committed: Annotated[int | None, "The committed offset."]
    end_offset: int | None
    lag: int | None
    client_id: Annotated[str | None, "Of the member that reads it, as the next two."]
    host: str | None
    member_id: str | None
    lag_seconds: Annotated[
        NotRequired[int | None], "With --seconds: how old the first record is that is not read yet."
    ]


class GroupDescriptionJson(TypedDict):
    group: str
    state: str
    assignor: str | None
    coordinator: Annotated[str | None, "The broker that has its state."]
    members: int
    lag: int | None
    partitions_without_lag: Annotated[int, "Of how many partitions the lag is unknown."]
    partitions: list[GroupPartitionJson]
    lag_seconds: Annotated[NotRequired[int | None], "With --seconds: the greatest of its partitions."]


class MemberJson(TypedDict):
    member_id: str
    instance_id: Annotated[str | None, "Its group.instance.id."]
    client_id: str
    host: str
    partitions: Annotated[NotRequired[list[str]], "As orders-0; not of Kafka Streams."]
    active_tasks: Annotated[NotRequired[list[str]], "Of Kafka Streams."]
    standby_tasks: NotRequired[list[str]]


class ForgottenOffsetJson(TypedDict):
    topic: str
    partition: int
    committed: int


class MovedOffsetJson(TypedDict):
    topic: str
    partition: int
    committed: Annotated[int | None, "Where the group was; null if nowhere."]
    new_offset: int


class MovedShareOffsetJson(TypedDict):
    topic: str
    partition: int
    start_offset: Annotated[int | None, "Where the group was; null if nowhere."]
    new_offset: int


class ShareGroupJson(TypedDict):
    group: str
    state: str


class ShareMemberJson(TypedDict):
    member_id: str
    client_id: str
    host: str
    partitions: Annotated[list[str], "As orders-0."]


class SharePartitionJson(TypedDict):
    topic: str
    partition: int
    start_offset: Annotated[int | None, "The first record that is not done with."]
    lag: int | None


class ShareGroupDescriptionJson(TypedDict):
    group: str
    state: str
    members: list[ShareMemberJson]
    partitions: list[SharePartitionJson]
