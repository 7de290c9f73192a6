"""What the installed PySpark offers to a data source, found by looking for it and not by its version.

4.0 hands a streaming sink rows, not Arrow, and no predicates to a source; 4.0 and 4.1 ask a streaming source
for its latest offset without telling where the query stands or how much it wants. What is missing gets a
stand-in of the same name here, so that the modules beside need no conditions. Knows no Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import datasource

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )

    LIMITS_BATCHES: bool
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxBytes,
            ReadMaxRows,
            ReadMinRows,
            SupportsTriggerAvailableNow,
        )

        LIMITS_BATCHES = True
    except ImportError:

        class ReadLimit:
            pass

        class ReadAllAvailable(ReadLimit):
            pass

        @dataclass
        class ReadMaxBytes(ReadLimit):
            max_bytes: int

        @dataclass
        class ReadMaxRows(ReadLimit):
            max_rows: int

        @dataclass
        class ReadMinRows(ReadLimit):
            min_rows: int

        class SupportsTriggerAvailableNow:
            pass

        LIMITS_BATCHES = False

    DataSourceStreamArrowWriter = getattr(
        datasource, "DataSourceStreamArrowWriter", datasource.DataSourceStreamWriter
    )

STREAMS_ARROW_TO_SINKS: bool = hasattr(datasource, "DataSourceStreamArrowWriter")

__all__ = [
    "LIMITS_BATCHES",
    "STREAMS_ARROW_TO_SINKS",
    "DataSourceStreamArrowWriter",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
]
