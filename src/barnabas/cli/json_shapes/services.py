"""What the commands for servers, faults, schemas, Spark and programs print with `--json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict


class AddressesJson(TypedDict):
    bootstrap: Annotated[NotRequired[str], "Of the broker, or of all brokers with commas."]
    faults: Annotated[NotRequired[str], "A URL; with --faults-port, or of barnabas faults."]
    registry: Annotated[NotRequired[str], "A URL; of a schema registry."]
    ui: Annotated[NotRequired[str], "A URL; of the page."]
    listeners: Annotated[
        NotRequired[dict[str, dict[str, str]]], "By listener, where there are several: a client's settings."
    ]


class FaultJson(TypedDict):
    id: str
    matched: Annotated[int, "How many requests are like those that it is for."]
    hits: Annotated[int, "Of how many of these it has changed what becomes of them."]
    is_used_up: bool
    requests: Annotated[list[int], "The numbers of the requests that it hit, as requests prints them."]
    rule: Annotated[dict[str, Any], "What was added, by the names of the options of add."]


class FaultRequestJson(TypedDict):
    number: int
    api: Annotated[str, "Produce, Fetch, ..."]
    version: int
    node: int
    client_id: str | None
    client: Annotated[str, "The client's address."]
    partitions: Annotated[dict[str, list[int]], "By topic."]
    groups: list[str]
    transactional_id: str | None


class FaultNodeJson(TypedDict):
    node_id: int
    is_running: bool
    is_paused: bool
    is_parted: bool
    is_lagging: bool


# `with` and `from` are words of Python.
MigrationFindingJson = TypedDict(
    "MigrationFindingJson",
    {
        "file": str,
        "line": int,
        "column": Annotated[int, "From 1."],
        "effect": Literal["breaks", "changes", "unread"],
        "with": Annotated[str, "What it breaks or changes with, as kafka-python 2."],
        "what": Annotated[str, "What stands there, by its full name."],
        "reason": str,
        "instead": Annotated[str, "What to write instead; empty where nothing has to be written."],
    },
)


class PlannedRangeJson(TypedDict):
    task: int
    topic: str
    partition: int
    start: int
    end: int
    offsets: int
    bytes: Annotated[int, "An estimate."]
    leader: Annotated[int, "-1 if there is none."]


class ReadPlanJson(TypedDict):
    mode: Literal["batch", "stream"]
    tasks: int
    partitions: int
    offsets: int
    bytes: Annotated[int, "An estimate."]
    largest_task_offsets: int
    skew: Annotated[float, "The largest task, in times the mean."]
    ranges: list[PlannedRangeJson]


class QueryPartitionJson(TypedDict):
    source: Annotated[int | None, "Which of the query's sources."]
    topic: str
    partition: int
    position: int
    end_offset: int | None
    lag: int | None
    rows_per_second: float | None
    bytes_per_second: float | None


QueryJson = TypedDict(
    "QueryJson",
    {
        "from": Annotated[str, "The listener, checkpoint or group that says it."],
        "name": str | None,
        "id": str | None,
        "state": Literal["running", "ended", "failed", "down", "unknown"],
        "error": str | None,
        "batch_id": int | None,
        "batch_time": Annotated[str | None, "When the last batch began or was done, in ISO 8601."],
        "is_batch_done": bool,
        "lag": int | None,
        "partitions": list[QueryPartitionJson],
    },
)


class PipelineStatusJson(TypedDict):
    queries: list[QueryJson]


class StartingOffsetsJson(TypedDict):
    source: int
    starting_offsets: Annotated[dict[str, dict[str, int]], "By topic and partition."]


class CarriedCheckpointJson(TypedDict):
    last_batch: int | None
    is_committed: bool
    changes: Annotated[list[str], "What is to be done, or with --execute was."]
    executed: bool
    sources: list[StartingOffsetsJson]


class RegisteredSchemaJson(TypedDict):
    subject: NotRequired[str]
    version: NotRequired[int]
    id: int
    guid: Annotated[NotRequired[str], "The same in every registry; old registries have none."]


class SchemaJson(RegisteredSchemaJson):
    schema: Annotated[str, "The schema's text."]
    schemaType: Literal["AVRO", "JSON", "PROTOBUF"]
    references: Annotated[NotRequired[list[dict[str, Any]]], "As the registry has them, like what follows."]
    metadata: NotRequired[dict[str, Any]]
    ruleSet: NotRequired[dict[str, Any]]


class CompatibilityJson(TypedDict):
    is_compatible: bool
    messages: Annotated[list[str], "Why not."]


class RegistrySettingsJson(TypedDict):
    """What is not set is left out."""

    compatibility: Annotated[NotRequired[str], "NONE, BACKWARD, FORWARD, FULL, or one with _TRANSITIVE."]
    compatibilityGroup: NotRequired[str]
    compatibilityPolicy: NotRequired[str]
    alias: NotRequired[str]
    normalize: NotRequired[bool]
    validateFields: NotRequired[bool]
    validateRules: NotRequired[bool]
    validateNames: NotRequired[bool]
    defaultMetadata: NotRequired[dict[str, Any]]
    overrideMetadata: NotRequired[dict[str, Any]]
    defaultRuleSet: NotRequired[dict[str, Any]]
    overrideRuleSet: NotRequired[dict[str, Any]]


class CompiledArchiveJson(TypedDict):
    path: str
    compiled_for: Annotated[str | None, "A version of Python; null for an archive as PySpark comes."]
    modules: int
