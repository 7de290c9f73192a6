"""Where older programs look for `Decimal`."""

from barnabas.compat.confluent_kafka.schema_registry.confluent.type.decimal_pb2 import (
    DESCRIPTOR as DESCRIPTOR,
)
from barnabas.compat.confluent_kafka.schema_registry.confluent.type.decimal_pb2 import Decimal as Decimal
