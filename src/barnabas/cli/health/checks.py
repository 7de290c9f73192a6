"""The checks of `barnabas health`: what each asks the cluster for, and what it finds there.

Owns that one check that cannot be made does not end the others. What counts as a fault is in `findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from barnabas import TopicPartition
from barnabas.broker_errors import UnsupportedVersionError
from barnabas.cli.admin.transactions import hanging
from barnabas.cli.groups.lags import lags_of
from barnabas.cli.health import findings
from barnabas.cli.health.findings import HealthFinding, Severity
from barnabas.cli.output import plural
from barnabas.client.admin.types import (
    ClusterDescription,
    ConfigResource,
    PartitionReassignment,
    ResourceType,
    TopicDescription,
)
from barnabas.errors import AuthenticationError, BarnabasError, NoCommonVersionError
from barnabas.types import PartitionInfo
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas import Admin

MIN_IN_SYNC = "min.insync.replicas"


@frozen
class Checked:
    """`summary`: what was looked at, or why it was not."""

    name: str
    status: Severity
    summary: str
    findings: Sequence[HealthFinding] = ()


class ClusterChecks:
    """The checks, by name, of one cluster. What several need is asked for once."""

    def __init__(self, admin: Admin, *, most_lag: int | None, least_free_percent: float) -> None:
        self._admin = admin
        self._most_lag = most_lag
        self._least_free_percent = least_free_percent

    def run(self, name: str) -> Checked:
        """Raises: BarnabasError where the cluster cannot be reached at all."""
        try:
            found, summary = CHECKS[name](self)
        except (UnsupportedVersionError, NoCommonVersionError):
            return Checked(name, Severity.SKIPPED, "these brokers cannot tell")
        except AuthenticationError:
            raise
        except BarnabasError as error:
            return Checked(name, Severity.UNKNOWN, f"{type(error).__name__}: {error}")
        return Checked(name, max((each.status for each in found), default=Severity.OK), summary, found)

    def brokers(self) -> tuple[list[HealthFinding], str]:
        controller = self._cluster.controller
        told = "no controller" if controller is None else f"controller {controller.node_id}"
        found = findings.brokers(self._cluster, self._topics)
        return found, f"{plural(len(self._cluster.nodes), 'broker')}, {told}"

    def partitions(self) -> tuple[list[HealthFinding], str]:
        lacking = findings.lack_replicas(self._infos)
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(lacking)]
        configs = self._admin.describe_configs(resources) if resources else {}
        needed = {
            resource.name: int(entries[MIN_IN_SYNC].value or 1)
            for resource, entries in configs.items()
            if MIN_IN_SYNC in entries
        }
        found = findings.partitions(self._infos, needed, self._moving)
        topics = plural(len(self._topics), "topic")
        return found, f"{plural(len(self._infos), 'partition')} of {topics}"

    def leaders(self) -> tuple[list[HealthFinding], str]:
        found = findings.leaders(self._infos, self._moving.keys())
        return found, f"preferred leaders of {plural(len(self._infos), 'partition')}"

    def log_dirs(self) -> tuple[list[HealthFinding], str]:
        folders = self._admin.describe_log_dirs()
        count = sum(map(len, folders.values()))
        found = findings.log_dirs(folders, self._least_free_percent)
        return found, f"{plural(count, 'folder')} of {plural(len(folders), 'broker')}"

    def quorum(self) -> tuple[list[HealthFinding], str]:
        info = self._admin.describe_metadata_quorum()
        return findings.quorum(info), f"{plural(len(info.voters), 'voter')}, leader {info.leader_id}"

    def versions(self) -> tuple[list[HealthFinding], str]:
        ids = [each.node_id for each in self._cluster.nodes if each.node_id not in self._cluster.fenced]
        features = {each: self._admin.describe_features(node_id=each) for each in ids}
        apis = {each: self._admin.describe_api_versions(node_id=each) for each in ids}
        found = findings.versions(features, apis)
        count = len({name for each in apis.values() for name in each})
        return found, f"{plural(count, 'API')} and features of {plural(len(ids), 'broker')}"

    def transactions(self) -> tuple[list[HealthFinding], str]:
        led = [TopicPartition(info.topic, info.partition) for info in self._infos if info.leader >= 0]
        found = findings.transactions(hanging(self._admin, led))
        return found, f"open transactions in {plural(len(led), 'partition')}"

    def groups(self) -> tuple[list[HealthFinding], str]:
        listed = self._admin.list_groups()
        found = findings.groups(listed, lags_of(self._admin, listed), self._most_lag)
        return found, plural(len(listed), "group")

    @cached_property
    def _cluster(self) -> ClusterDescription:
        try:
            return self._admin.describe_cluster(include_fenced_brokers=True)
        except (UnsupportedVersionError, NoCommonVersionError):
            return self._admin.describe_cluster()

    @cached_property
    def _topics(self) -> list[TopicDescription]:
        return list(self._admin.describe_topics(internal=True).values())

    @cached_property
    def _infos(self) -> list[PartitionInfo]:
        return [info for topic in self._topics for info in topic.partitions]

    @cached_property
    def _moving(self) -> dict[TopicPartition, PartitionReassignment]:
        try:
            return self._admin.list_partition_reassignments()
        except BarnabasError:
            # It only explains what is found; older brokers cannot tell, and not everybody may ask.
            return {}


CHECKS: dict[str, Callable[[ClusterChecks], tuple[list[HealthFinding], str]]] = {
    "brokers": ClusterChecks.brokers,
    "partitions": ClusterChecks.partitions,
    "leaders": ClusterChecks.leaders,
    "log-dirs": ClusterChecks.log_dirs,
    "quorum": ClusterChecks.quorum,
    "versions": ClusterChecks.versions,
    "transactions": ClusterChecks.transactions,
    "groups": ClusterChecks.groups,
}
"""In the order in which they are made and shown."""
