"""A listener to streaming queries that gives lag, rows and bytes a second of each partition as metrics.

    from barnabas.spark.listener import PipelineListener

    listener = PipelineListener(port=9464, bootstrap_servers="localhost:9092")
    spark.streams.addListener(listener)

`http://localhost:9464/metrics` is what Prometheus scrapes, `/status` what `barnabas pipeline status` reads.
Needs the extra `prometheus`. Works in classic sessions and in those of Spark Connect, where it listens in
the client's process.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from barnabas.http.server import Page, PageServer
from barnabas.observe.prometheus import CONTENT_TYPE, exposition
from barnabas.spark.queries.progress import batch_progress
from barnabas.spark.queries.query_figures import Queries
from barnabas.spark.queries.record_sizes import RecordSizes
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

JSON_CONTENT_TYPE = "application/json"


class PipelineListener(StreamingQueryListener):
    """`port`: where to serve over HTTP, 0 for any free one; nothing is served without it. `textfile`: a file
    to keep up to date with the metrics, for the textfile collector of Prometheus' node exporter.
    `bootstrap_servers` and the settings of a client that follow: which brokers to ask how large records are;
    without them there are no figures in bytes.
    """

    def __init__(
        self,
        *,
        port: int | None = None,
        host: str = "127.0.0.1",
        textfile: str | Path | None = None,
        bootstrap_servers: str | None = None,
        **settings: Any,
    ) -> None:
        self._queries = Queries()
        self._textfile = None if textfile is None else Path(textfile)
        self._sizes = None if bootstrap_servers is None else RecordSizes(bootstrap_servers, settings)
        self._problem: str | None = None
        pages = {
            "/metrics": Page(CONTENT_TYPE, self.metrics),
            "/status": Page(JSON_CONTENT_TYPE, lambda: json.dumps(self.status()).encode()),
        }
        self._endpoint = None if port is None else PageServer(host, port, pages)

    @property
    def url(self) -> str | None:
        """Where figures are served, None where they are not."""
        return None if self._endpoint is None else self._endpoint.url

    def metrics(self) -> bytes:
        """The figures as Prometheus' text."""
        return exposition(self._queries.families())

    def status(self) -> dict[str, Any]:
        """The figures for JSON."""
        return {"queries": self._queries.status()}

    def close(self) -> None:
        """Ends the serving. The listener should be removed from its session before."""
        if self._endpoint is not None:
            self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Called by Spark: a query began, and is shown from now on."""
        self._queries.started(str(event.id), str(event.runId), event.name)
        self._write()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Called by Spark after each batch: rows, lag and rates are those of this batch."""
        progress = event.progress
        batch = batch_progress(json.loads(progress.json))
        partitions = [partition for source in batch.sources for partition in source.partitions]
        sizes: Mapping[TopicPartition, float] = {}
        if self._sizes is not None:
            sizes = self._sizes.of(partitions)
            self._tell_once(self._sizes.problem)
        self._queries.progressed(str(progress.id), str(progress.runId), batch, sizes)
        self._write()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Called by Spark where a trigger found nothing new."""
        self._queries.idle(str(event.id), str(event.runId))
        self._write()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Called by Spark: a query ended, and is shown as down, with its error if it had one."""
        self._queries.terminated(str(event.id), str(event.runId), event.exception)
        self._write()

    def _tell_once(self, problem: str | None) -> None:
        if problem is not None and self._problem is None:
            logger.warning("no figures in bytes: %s", problem)
        self._problem = problem

    def _write(self) -> None:
        """A collector may read at any time, so the file is replaced as a whole."""
        if self._textfile is None:
            return
        try:
            handle, name = tempfile.mkstemp(dir=self._textfile.parent, prefix=f".{self._textfile.name}.")
            try:
                with open(handle, "wb") as new:
                    new.write(self.metrics())
                Path(name).chmod(0o644)
                os.replace(name, self._textfile)
            except OSError:
                with contextlib.suppress(OSError):
                    Path(name).unlink()
                raise
        except OSError as error:
            logger.warning("the metrics were not written to %s: %s", self._textfile, error)
