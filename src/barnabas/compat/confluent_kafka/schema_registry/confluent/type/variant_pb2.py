# pyright: basic
"""`confluent.type.Variant`: a value whose type is told with it."""

from barnabas.compat.confluent_kafka.schema_registry.confluent._files import known_file, message_of

DESCRIPTOR = known_file("confluent/type/variant.proto")
Variant = message_of(DESCRIPTOR, "Variant")
