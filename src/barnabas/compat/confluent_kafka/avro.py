"""The place of `confluent_kafka.avro`, which Barnabas does not have yet."""

raise ImportError(
    "Barnabas does not have confluent_kafka.avro yet: it comes in a later release",
    name="confluent_kafka.avro",
)
