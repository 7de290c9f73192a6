"""An application that copies a topic.

`python -m bench.pipelines.new_application FORMAT BOOTSTRAP TOPIC TARGET`: the last line that it prints has
the seconds from `load()` to the query's end, and the number of records.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench import spark_connector
from bench.spark_session import session
from bench.spark_works import OURS, copy_all


def main() -> None:
    format_name, bootstrap, topic, target = sys.argv[1:]
    jars = "" if format_name == OURS else spark_connector.fetch(Path("build/spark-connector").absolute())
    spark = session(jars)
    figures = copy_all(spark, format_name, bootstrap, topic, target)
    spark.stop()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
