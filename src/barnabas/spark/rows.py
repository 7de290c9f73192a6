"""Arrow record batches in exactly the shape that Spark expects. Must not know a broker."""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import pyarrow as pa

_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
    ]
)
SCHEMA_WITH_HEADERS = SCHEMA.append(pa.field("headers", pa.list_(pa.field("element", _HEADER))))

TARGET_BYTES = 4 * 1024 * 1024
MIN_ROWS = 100
MAX_ROWS = 50_000


def spark_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of the consumer with the names and nullability of Spark's schema. Copies no data."""
    schema = SCHEMA_WITH_HEADERS if batch.num_columns > len(SCHEMA) else SCHEMA
    return batch if batch.schema.equals(schema) else batch.cast(schema)


class BatchSize:
    """How many rows to ask for, so that batches are large enough to be quick and small enough for the JVM."""

    def __init__(self) -> None:
        self.rows = 10_000

    def learn(self, batch: pa.RecordBatch) -> None:
        """Adapts to the size of the rows that came."""
        bytes_per_row = max(1, batch.nbytes // batch.num_rows)
        self.rows = min(MAX_ROWS, max(MIN_ROWS, TARGET_BYTES // bytes_per_row))
