# pyright: basic
"""`confluent.type.Decimal`: a number without loss."""

from barnabas.compat.confluent_kafka.schema_registry.confluent._files import known_file, message_of

DESCRIPTOR = known_file("confluent/type/decimal.proto")
Decimal = message_of(DESCRIPTOR, "Decimal")
