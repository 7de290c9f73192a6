"""Every option of the Spark source and sink: its name, its default and its meaning, in one table.

`options` and `columns.format_options` take names from here, docs/reference/spark-options.md is made of it.
Knows nothing of how an option is read.
"""

from __future__ import annotations

from barnabas.values import frozen


@frozen
class Option:
    """`default` as people are told: empty where there is none. `doc` is Markdown, a sentence or two."""

    name: str
    default: str
    doc: str


READING = (
    Option(
        "subscribe", "", "Topics, separated by commas. This, `assign` or `subscribePattern` has to be given."
    ),
    Option("assign", "", 'Partitions as JSON: `{"flights": [0, 1]}`.'),
    Option("subscribePattern", "", "Topics by a regular expression of Java."),
    Option(
        "startingTimestamp",
        "",
        "Begin with the first record of this time or later, in milliseconds since 1970. Stands above the "
        "next two.",
    ),
    Option(
        "startingOffsetsByTimestamp",
        "",
        'The same by partition, as JSON: `{"flights": {"0": 1764000000000}}`. Stands above '
        "`startingOffsets`.",
    ),
    Option(
        "startingOffsets",
        "`earliest` in a batch, `latest` in a stream",
        'Or offsets as JSON, where -2 is the earliest and -1 the latest: `{"flights": {"0": 23, "1": -2}}`. '
        "A stream that has a checkpoint goes on from that.",
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        "`error`",
        "What becomes of a partition without a record that young: `latest` begins at its end.",
    ),
    Option(
        "endingTimestamp",
        "",
        "End before the first record of this time or later, in milliseconds since 1970.",
    ),
    Option("endingOffsetsByTimestamp", "", "The same by partition, as JSON."),
    Option(
        "endingOffsets",
        "`latest`",
        "Where a batch ends, or a stream with `boundedStream`: exclusive, as JSON.",
    ),
    Option(
        "boundedStream",
        "`false`",
        "Streaming only: read to that end and no further, whatever is written later.",
    ),
    Option("includeHeaders", "`false`", "The column `headers`, `array<struct<key: string, value: binary>>`."),
    Option("failOnDataLoss", "`true`", "`false` goes on with what is there, and logs what is not."),
    Option(
        "minOffsetsPerTrigger", "", "Streaming only: a batch waits for so many records, or `maxTriggerDelay`."
    ),
    Option(
        "maxOffsetsPerTrigger",
        "",
        "Streaming only: records of a batch at most, split in proportion to what partitions have.",
    ),
    Option(
        "maxBytesPerTrigger",
        "",
        "Streaming only: a batch takes about so many bytes (`64m`, `1g`), the same part of what each "
        "partition has. "
        "Beside `maxOffsetsPerTrigger`, whichever is less.",
    ),
    Option("maxTriggerDelay", "`15m`", "Streaming only: the longest wait for `minOffsetsPerTrigger`."),
    Option("minPartitions", "", "Cut ranges into at least so many tasks."),
    Option(
        "maxPartitions",
        "100 to 500, one for 1000 records",
        "Put small ranges together into so many tasks, by leader, where there are more. The default is no "
        "less than `minPartitions`.",
    ),
    Option("maxRecordsPerPartition", "", "Cut ranges into tasks of at most so many records."),
    Option("maxBytesPerPartition", "", "The same by bytes, such as `64m`, which are estimated."),
    Option("groupIdPrefix", "", "An id for brokers that want one begins so; the source joins no group."),
    Option(
        "commitOffsetsToGroup",
        "",
        "Streaming only: offsets of each finished batch are committed to this group when the next one "
        "begins, for "
        "lag monitors to see. Spark's checkpoint counts.",
    ),
    Option(
        "kafkaConsumer.pollTimeoutMs", "120000", "How long a task waits for records that should be there."
    ),
    Option(
        "fetchOffset.numRetries",
        "3",
        "How often topics that do not exist are looked for, and offsets that went back asked for, again.",
    ),
    Option("fetchOffset.retryIntervalMs", "1000", "Milliseconds between these."),
)

OF_A_REGISTRY = (
    Option("schema.subject", "`TOPIC-value`", "With a registry: needed where there is not one topic."),
    Option(
        "schema.version",
        "`latest`",
        "With a registry: a number, or what is latest when the query is planned.",
    ),
    Option("schema.id", "", "With a registry: in place of subject and version."),
    Option(
        "schema.ignoreRules",
        "`false`",
        "With a registry: read and write as if schemas had no rules. What is encrypted comes encrypted, and "
        "what should be encrypted is written as it is. Otherwise values of schemas with rules cannot be "
        "read, and a query that would have to run rules to write does not start.",
    ),
)

OF_A_SIDE = (
    Option("format", "`binary`", "`string`, `json`, `avro` or `protobuf`."),
    Option(
        "schema",
        "",
        "Needed except for `string`, and where a registry has it. JSON: Spark's DDL (`id BIGINT, name "
        "STRING`) or its JSON; not for writing. Avro: the schema's JSON. Protocol Buffers: a descriptor "
        "set in base64. With a registry: the schema's text as a registry has it.",
    ),
    Option(
        "schemaFile",
        "",
        "The same out of a file that the driver can read; for Protocol Buffers what "
        "`protoc --include_imports --descriptor_set_out` writes.",
    ),
    Option(
        "message",
        "",
        "Needed by `protobuf` without a registry: `package.Name` or, where that is clear, `Name`. With one, "
        "the "
        "file's first.",
    ),
    Option(
        "framing",
        "`none`, with a registry `confluent`",
        "`confluent`: values begin with the header of a schema registry (a zero, the schema's id, and with "
        "Protocol Buffers the way to the message). `none` beside a registry: this side of the record has "
        "none.",
    ),
    Option(
        "schemaId",
        "",
        "Reading: the only id in that header that is taken. Writing without a registry: needed.",
    ),
    *OF_A_REGISTRY,
)

OF_A_WRITTEN_SIDE = (
    Option(
        "schema.register",
        "`true`",
        "`value.schema` is registered under the subject when the query is planned; `false` looks it up.",
    ),
    Option("schema.normalize", "`false`", "The schema is registered as the registry writes it."),
)

DECODING = (
    Option(
        "mode",
        "`failfast`",
        "What becomes of records that cannot be read. `failfast`: the query fails, with the record's place. "
        "`permissive`: null, and what came is in the column `valueError`. `dead-letter`: it goes to another "
        "topic.",
    ),
    Option("deadLetterTopic", "", "With `mode=dead-letter`: where they go."),
)

WRITING = (
    Option("topic", "the column `topic`", "Where all rows go. Stands above the column."),
    Option("includeHeaders", "`false`", "Means nothing: headers are written where there is such a column."),
    Option("delivery", "`at-least-once`", "Or `exactly-once`: each batch is in Kafka's transactions."),
    Option(
        "transactionalIdPrefix",
        "made from `checkpointLocation`",
        "Names this sink; the same whenever the query is started, and no other's.",
    ),
    Option(
        "decisionTopic",
        "`barnabas-sink-decisions`",
        "Where the driver writes down what it commits; made if it is not there.",
    ),
    Option(
        "onPartialCommit",
        "`fail`",
        "What becomes of a batch of which only a part could be committed: `rewrite` or `skip`.",
    ),
)


def names(options: tuple[Option, ...]) -> tuple[str, ...]:
    """What users write, in the table's order."""
    return tuple(option.name for option in options)
