"""A listener to streaming queries that tells OpenLineage which topics they read and write.

    from barnabas.spark.lineage import LineageListener

    listener = LineageListener("localhost:9092", outputs={"copy": ["flights-copy"]})
    spark.streams.addListener(listener)

Where events go is the matter of OpenLineage's own client and its configuration (`OPENLINEAGE_URL`,
`openlineage.yml`). Needs the extra `openlineage`. Owns what an event says of a query; must not know how
offsets are planned or read.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import pyspark
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from barnabas.errors import MissingExtraError
from barnabas.settings.table import parse_server
from barnabas.spark.queries.progress import BatchProgress, batch_progress

try:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
    from openlineage.client.generated.base import InputDatasetFacet, RunFacet
    from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
    from openlineage.client.generated.input_statistics_input_dataset import InputStatisticsInputDatasetFacet
    from openlineage.client.generated.job_type_job import JobTypeJobFacet
    from openlineage.client.generated.processing_engine_run import ProcessingEngineRunFacet
except ImportError as error:
    raise MissingExtraError("barnabas.spark.lineage", "openlineage") from error

logger = logging.getLogger(__name__)

PRODUCER = "https://pypi.org/project/barnabas"


@dataclass(slots=True)
class _QueryRun:
    """One run of a query, from its start or its restart from a checkpoint to its end."""

    run_id: str
    job: str
    name: str | None
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """Offsets passed since the run began, by topic."""
    told: frozenset[str] = frozenset()
    """The topics of the last event."""
    tell_again_at: float = 0.0


class LineageListener(StreamingQueryListener):
    """Tells START when a query begins, RUNNING after batches, COMPLETE when it ends and FAIL when it fails.

    A job is a query: its name in `namespace` is that of the query, or its id, which stays over restarts from
    a checkpoint. A run is a run of the query. Topics are datasets: `kafka://host:port`, of the first of
    `bootstrap_servers`, and the topic's name. Rows of a topic are those since the run began.

    `outputs`: topics that a query writes, by the query's name: Spark does not tell a listener where a sink
    goes. `output_bootstrap_servers`: where those are on another cluster. `queries`: names of those to tell
    of, where others are none of this listener's, such as queries on other clusters.
    `running_interval_seconds`: how long no further RUNNING is sent, unless a topic was read for the first
    time. `client`: one of OpenLineage that is configured in code.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        outputs: Mapping[str, Iterable[str]] | None = None,
        output_bootstrap_servers: str | None = None,
        queries: Iterable[str] | None = None,
        namespace: str = "default",
        running_interval_seconds: float = 60.0,
        client: OpenLineageClient | None = None,
    ) -> None:
        self._namespace = namespace
        self._cluster = dataset_namespace(bootstrap_servers)
        self._output_cluster = dataset_namespace(output_bootstrap_servers or bootstrap_servers)
        self._outputs = {name: sorted(set(topics)) for name, topics in (outputs or {}).items()}
        self._queries = None if queries is None else frozenset(queries)
        self._interval_seconds = running_interval_seconds
        self._client = OpenLineageClient() if client is None else client
        self._runs: dict[str, _QueryRun] = {}
        """By run id. Spark calls a listener from one thread."""
        self._is_failing = False

    def close(self) -> None:
        """Ends the client, once what it holds is sent. The listener should be removed from its session
        before."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Called by Spark: a query began."""
        self._run_of(str(event.id), str(event.runId), event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Called by Spark after each batch."""
        progress = event.progress
        run = self._run_of(str(progress.id), str(progress.runId), progress.name)
        if run is None:
            return
        _count(run, batch_progress(json.loads(progress.json)))
        now = time.monotonic()
        if run.told != run.rows.keys() or now >= run.tell_again_at:
            run.tell_again_at = now + self._interval_seconds
            self._tell(run, RunState.RUNNING)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Called by Spark where a trigger found nothing new, of which there is nothing to tell."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Called by Spark: a query ended, by itself or because it was stopped, or failed."""
        run = self._runs.pop(str(event.runId), None)
        if run is None:
            return
        if event.exception is None:
            self._tell(run, RunState.COMPLETE)
        else:
            message = event.exception.partition("\n")[0]
            facet = ErrorMessageRunFacet(message, "JAVA", event.exception)
            self._tell(run, RunState.FAIL, facet)

    def _run_of(self, query_id: str, run_id: str, name: str | None) -> _QueryRun | None:
        """None for a query that is none of this listener's. One that began before the listener was added is
        met at a batch first, and told to have started then."""
        if self._queries is not None and name not in self._queries:
            return None
        run = self._runs.get(run_id)
        if run is None:
            run = self._runs[run_id] = _QueryRun(run_id, name or query_id, name)
            self._tell(run, RunState.START)
        return run

    def _tell(self, run: _QueryRun, state: RunState, error: RunFacet | None = None) -> None:
        """A failure is logged, once until an event goes through again: no query ends for want of lineage."""
        run.told = frozenset(run.rows)
        try:
            self._client.emit(self._event(run, state, error))
            self._is_failing = False
        except Exception as problem:
            # A transport is anyone's: there is no error that all of them have in common.
            if not self._is_failing:
                logger.warning("no %s of query %s was sent to OpenLineage: %s", state.value, run.job, problem)
            self._is_failing = True

    def _event(self, run: _QueryRun, state: RunState, error: RunFacet | None) -> RunEvent:
        facets: dict[str, RunFacet] = {
            "processing_engine": ProcessingEngineRunFacet(pyspark.__version__, "spark")
        }
        if error is not None:
            facets["errorMessage"] = error
        return RunEvent(
            eventType=state,
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(run.run_id, facets),
            job=Job(
                self._namespace,
                run.job,
                {"jobType": JobTypeJobFacet("STREAMING", "SPARK", "QUERY")},
            ),
            inputs=[
                InputDataset(self._cluster, topic, inputFacets=_statistics(rows))
                for topic, rows in sorted(run.rows.items())
            ],
            outputs=[
                OutputDataset(self._output_cluster, topic) for topic in self._outputs.get(run.name or "", ())
            ],
            producer=PRODUCER,
        )


def dataset_namespace(bootstrap_servers: str) -> str:
    """As OpenLineage names a cluster: by its first broker. Raises: InvalidSettingError."""
    host, port = parse_server(bootstrap_servers.split(",")[0].strip())
    return f"kafka://[{host}]:{port}" if ":" in host else f"kafka://{host}:{port}"


def _count(run: _QueryRun, batch: BatchProgress) -> None:
    for source in batch.sources:
        for partition, progress in source.partitions.items():
            run.rows[partition.topic] = run.rows.get(partition.topic, 0) + progress.passed


def _statistics(rows: int) -> dict[str, InputDatasetFacet]:
    return {"inputStatistics": InputStatisticsInputDatasetFacet(rowCount=rows)}
