"""The place of `confluent_kafka.schema_registry`, which Barnabas does not have yet."""

raise ImportError(
    "Barnabas does not have confluent_kafka.schema_registry yet: it comes in a later release",
    name="confluent_kafka.schema_registry",
)
