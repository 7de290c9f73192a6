"""How near micro-batches come to Spark's real-time mode: `python -m bench.pipelines.way`.

A thousand records a second go through a query from topic to topic, at least once, on real Spark, local[2],
and a real Kafka: in micro-batches by ours and by Spark's own connector, and in real-time mode by the latter,
which takes no source in Python. Each runs twice, so that all are warm, and the second time counts.
"""

from __future__ import annotations

from pathlib import Path

from bench import spark_connector
from bench.broker import kafka
from bench.runs import Topics
from bench.spark import compile_ours
from bench.spark_session import session
from bench.spark_works import OURS, PEER_FORMAT, Works, percentile

BATCH = "5 seconds"
WAYS = (
    ("micro-batches, ours", OURS, None),
    ("micro-batches, Spark's connector", PEER_FORMAT, None),
    ("real-time mode, Spark's connector", PEER_FORMAT, BATCH),
)


def main() -> None:
    compile_ours()
    with kafka(None) as bootstrap:
        topics = Topics(bootstrap)
        with topics.fresh() as unused:
            spark = session(spark_connector.fetch(Path("build/spark-connector").absolute()))
            works = Works(spark, bootstrap, unused, 0, topics)
            print("| | p50, ms | p99, ms |\n| --- | ---: | ---: |")
            for title, format_name, real_time in WAYS:
                works.way(format_name, real_time)
                taken = works.way(format_name, real_time)
                p50, p99 = (1000 * percentile(taken, percent) for percent in (50, 99))
                print(f"| {title} | {p50:.0f} | {p99:.0f} |", flush=True)
            spark.stop()


if __name__ == "__main__":
    main()
