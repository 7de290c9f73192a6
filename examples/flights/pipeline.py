"""The streaming job: flights joined with the weather of their hour, summed up by carrier, origin and day.

Owns the queries. Knows the topics' names and the form of their values, which the source decodes and the sink
encodes; not who writes them.

Event time here is the hour that the clocks in New York show, so that a day's window is a day on its calendar;
the session's time zone must be UTC, to keep Spark from shifting it. Clocks go back once a year, by less than
the watermark's delay. Flights and weather meet on the instant as well (`time_hour`), which does not repeat.

The last windows close only when event time passes them: the replay ends with a marker in `flights` and one in
`weather`, a year ahead. A marker moves the watermark and then stays in the window of its own day, which never
closes, so append mode never emits it. It must not be filtered out: Spark would move such a filter below the
watermark.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from examples.flights.figures import DELAYED_OVER_MINUTES
from examples.flights.forms import AS_JSON, Form
from examples.flights.topics import OWNER_HEADER, Topics
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

FORMAT = "barnabas"
DELAYS, ARCHIVE = QUERIES = ("delays", "archive")

MINIMUM_WATERMARK_SECONDS = 2 * 3600

_FLIGHT = """
    scheduled_departure TIMESTAMP, time_hour TIMESTAMP, carrier STRING, origin STRING,
    dep_time INT, dep_delay INT
"""
_WEATHER = "hour TIMESTAMP, time_hour TIMESTAMP, origin STRING, precip DOUBLE"
_AIRLINE = "carrier STRING, name STRING"
DELAY_SCHEMA = """
    carrier STRING, origin STRING, day DATE, airline STRING,
    flights BIGINT, cancelled BIGINT,
    departed_in_precipitation BIGINT, departed_out_of_precipitation BIGINT, flights_without_weather BIGINT,
    mean_delay_minutes DOUBLE, percentile_95_delay_minutes DOUBLE, share_delayed_over_15_minutes DOUBLE,
    mean_delay_in_precipitation_minutes DOUBLE, mean_delay_out_of_precipitation_minutes DOUBLE
"""


class Pipeline:
    """The queries of one run, on the Kafka at `bootstrap`; results and checkpoints go under `folder`.

    `watermark_seconds`: how far records may come out of event-time order before they count as late and are
    lost to the figures; at least MINIMUM_WATERMARK_SECONDS. `is_once`: results are written in transactions,
    so that readers of committed records see each of them once; else some may come again after a failure.
    """

    def __init__(
        self,
        spark: SparkSession,
        bootstrap: str,
        topics: Topics,
        folder: Path,
        watermark_seconds: int,
        *,
        is_once: bool,
        form: Form = AS_JSON,
    ) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._topics = topics
        self._folder = folder
        self._is_once = is_once
        self._form = form
        self._watermark = f"{max(watermark_seconds, MINIMUM_WATERMARK_SECONDS)} seconds"

    @property
    def parquet_folder(self) -> Path:
        return self._folder / "delays.parquet"

    def start_delays(self, trigger_seconds: float | None = None) -> StreamingQuery:
        """Writes a record for each carrier, origin and day to the topic `delays`, once its day is over.

        `trigger_seconds`: None works through what is there and ends; a number goes on for ever.
        """
        options = {
            "kafka.bootstrap.servers": self._bootstrap,
            "topic": self._topics.delays,
            **self._form.writing(self._topics.delays),
        }
        if self._is_once:
            options["delivery"] = "exactly-once"
            # A run begins anew in a folder where an earlier one was: its batches are not those of that one.
            options["transactionalIdPrefix"] = f"{self._topics.delays}-{uuid.uuid4()}"
        writer = self._delays().writeStream.format(FORMAT).options(**options)
        return self._start(writer, DELAYS, trigger_seconds)

    def start_archive(self, trigger_seconds: float | None = None) -> StreamingQuery:
        """Writes what comes into the topic `delays` to Parquet."""
        rows = self._stream(self._topics.delays, DELAY_SCHEMA).coalesce(1)
        writer = rows.writeStream.format("parquet").option("path", str(self.parquet_folder))
        return self._start(writer, ARCHIVE, trigger_seconds)

    def _start(self, writer: DataStreamWriter, name: str, trigger_seconds: float | None) -> StreamingQuery:
        writer = writer.queryName(name).outputMode("append")
        writer = writer.option("checkpointLocation", str(self._folder / "checkpoints" / name))
        if trigger_seconds is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{trigger_seconds} seconds").start()

    def _delays(self) -> DataFrame:
        joined = self._flights().join(self._weather(), ["origin", "time_hour", "hour"], "left_outer")
        delay = F.col("dep_delay")
        delay_wet = F.when(F.col("precip") > 0, delay)
        delay_dry = F.when(F.col("precip") == 0, delay)
        figures = joined.groupBy(F.window("hour", "1 day"), "carrier", "origin").agg(
            F.count("*").alias("flights"),
            F.count_if(F.col("dep_time").isNull()).alias("cancelled"),
            F.count(delay_wet).alias("departed_in_precipitation"),
            F.count(delay_dry).alias("departed_out_of_precipitation"),
            F.count_if(F.col("precip").isNull()).alias("flights_without_weather"),
            F.avg(delay).alias("mean_delay_minutes"),
            F.percentile(delay, 0.95).alias("percentile_95_delay_minutes"),
            F.avg((delay > DELAYED_OVER_MINUTES).cast("int")).alias("share_delayed_over_15_minutes"),
            F.avg(delay_wet).alias("mean_delay_in_precipitation_minutes"),
            F.avg(delay_dry).alias("mean_delay_out_of_precipitation_minutes"),
        )
        named = figures.withColumn("day", F.to_date("window.start")).drop("window")
        named = named.join(F.broadcast(self._airlines()), "carrier", "left_outer")
        owner = F.struct(F.lit(OWNER_HEADER[0]).alias("key"), F.lit(OWNER_HEADER[1]).alias("value"))
        return named.select(
            F.concat_ws("|", "carrier", "origin", "day").alias("key"),
            F.struct(*named.columns).alias("value"),
            F.array(owner).alias("headers"),
        )

    def _flights(self) -> DataFrame:
        flights = self._stream(self._topics.flights, _FLIGHT)
        hour = F.date_trunc("hour", "scheduled_departure")
        flights = flights.withColumn("hour", hour).drop("scheduled_departure")
        return flights.withWatermark("hour", self._watermark)

    def _weather(self) -> DataFrame:
        weather = self._stream(self._topics.weather, _WEATHER)
        # Avro's hours have no time zone, and event time must have one.
        weather = weather.withColumn("hour", F.col("hour").cast("timestamp"))
        return weather.withWatermark("hour", self._watermark)

    def _airlines(self) -> DataFrame:
        # a compacted topic may still hold older values of a key
        source = self._spark.read.format(FORMAT).options(**self._source(self._topics.airlines, _AIRLINE))
        latest = source.load().groupBy("key").agg(F.max_by("value", "offset").alias("value"))
        return latest.select("value.*").withColumnRenamed("name", "airline")

    def _stream(self, topic: str, schema: str) -> DataFrame:
        source = self._spark.readStream.format(FORMAT).options(**self._source(topic, schema))
        return source.option("startingOffsets", "earliest").load().select("value.*")

    def _source(self, topic: str, schema: str) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self._bootstrap,
            "kafka.isolation.level": "read_committed",
            "subscribe": topic,
            **self._form.reading(topic, schema),
        }
