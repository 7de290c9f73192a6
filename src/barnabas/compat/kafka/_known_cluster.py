"""What ClusterMetadata is in kafka-python 1 and 2: brokers, topics and partitions, out of answers of brokers.

Owns when it is out of date, and who is told of changes. Asks nobody itself.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.conn import collect_hosts
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka_engine.config.merging import known
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.values.structs import STRUCTS

log = logging.getLogger("kafka.cluster")

TopicPartition = STRUCTS["TopicPartition"]
Listener = Callable[["KnownCluster"], object]

_FIELDS_OF_PARTITIONS = {
    "partition": ("partition", "partition_index"),
    "leader": ("leader", "leader_id"),
    "leader_epoch": ("leader_epoch",),
    "replicas": ("replicas", "replica_nodes"),
    "isr": ("isr", "isr_nodes"),
    "offline_replicas": ("offline_replicas",),
    "error": ("error_code",),
}
"""By the field of a PartitionMetadata: what it may be called in answers."""
_WHERE_MISSING: dict[str, Any] = {"leader_epoch": -1, "offline_replicas": []}


class KnownCluster:
    """Filled by `update_metadata`; all threads may read it."""

    __module__ = "barnabas.compat.kafka.cluster"

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = default_config("ClusterMetadata")

    def __init__(self, **configs: Any) -> None:
        self.config = known(self.DEFAULT_CONFIG, configs)
        self._brokers: dict[Any, Any] = {}
        self._partitions: dict[str, dict[int, Any]] = {}
        self._broker_partitions: dict[Any, set[Any]] = {}
        self._coordinators: dict[tuple[str, str], Any] = {}
        self._coordinator_brokers: dict[Any, Any] = {}
        self._bootstrap_brokers = self._generate_bootstrap_brokers()
        self._last_refresh_ms = 0.0
        self._last_successful_refresh_ms = 0.0
        self._need_update = generation().cluster_has_bootstrap_brokers
        self._future: Any = None
        self._listeners: set[Listener] = set()
        self._lock = threading.Lock()
        self.need_all_topic_metadata = False
        self.unauthorized_topics: set[str] = set()
        self.internal_topics: set[str] = set()
        self.controller: Any = None
        self.cluster_id: str | None = None

    def _generate_bootstrap_brokers(self) -> dict[str, Any]:
        if not generation().cluster_has_bootstrap_brokers:
            return {}
        return {
            node_id: self._broker(node_id, host, port, None)
            for node_id, (host, port, _) in (
                (f"bootstrap-{place}", each) for place, each in enumerate(self._bootstrap_hosts())
            )
        }

    def _bootstrap_hosts(self) -> list[tuple[str, int, int]]:
        return collect_hosts(self.config["bootstrap_servers"])

    def _broker(self, node_id: Any, host: str, port: int, rack: str | None) -> Any:
        struct = STRUCTS["BrokerMetadata"]
        return struct(node_id, host, port, rack) if "rack" in struct._fields else struct(node_id, host, port)

    # What there is

    def is_bootstrap(self, node_id: Any) -> bool:
        """Whether that stands for one of bootstrap_servers."""
        return node_id in self._bootstrap_brokers

    def brokers(self) -> Any:
        """All brokers; until they are known, bootstrap_servers."""
        return set(self._brokers.values()) or set(self._bootstrap_brokers.values())

    def node_ids(self) -> list[Any]:
        """Of all brokers; until they are known, of bootstrap_servers."""
        return list(self._brokers or self._bootstrap_brokers)

    def broker_metadata(self, broker_id: Any) -> Any:
        """One broker, or None."""
        for brokers in (self._brokers, self._bootstrap_brokers, self._coordinator_brokers):
            if broker_id in brokers:
                return brokers[broker_id]
        return None

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions, or None where the topic is unknown."""
        partitions = self._partitions.get(topic)
        return None if partitions is None else set(partitions)

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of those of a topic's partitions that have a leader."""
        partitions = self._partitions.get(topic)
        if partitions is None:
            return None
        return {number for number, metadata in partitions.items() if metadata.leader != -1}

    def leader_for_partition(self, partition: Any) -> Any:
        """The number of the leader, -1 where there is none, None where the partition is unknown."""
        found = self._partitions.get(partition.topic, {}).get(partition.partition)
        return None if found is None else found.leader

    def leader_epoch_for_partition(self, partition: Any) -> int | None:
        return self._partitions[partition.topic][partition.partition].leader_epoch

    def partitions_for_broker(self, broker_id: Any) -> set[Any] | None:
        """What a broker leads."""
        return self._broker_partitions.get(broker_id)

    def coordinator_for_group(self, group: str) -> Any:
        """The number of a group's coordinator, or None."""
        return self._coordinators.get(("group", group))

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:
        """The names of all topics; without those of Kafka itself, where the generation knows them."""
        if generation().cluster_has_bootstrap_brokers and exclude_internal_topics:
            return set(self._partitions) - self.internal_topics
        return set(self._partitions)

    # Being up to date

    @property
    def need_update(self) -> bool:
        return self._need_update

    def ttl(self) -> float:
        """How many milliseconds until metadata is to be asked for."""
        age_ms = time.time() * 1000 - self._last_successful_refresh_ms
        remaining_ms = 0 if self._need_update else self.config["metadata_max_age_ms"] - age_ms
        return max(remaining_ms, self._remaining_backoff_ms(), 0)

    def refresh_backoff(self) -> float:
        """How many milliseconds until metadata may be asked for again."""
        return self._remaining_backoff_ms()

    def _remaining_backoff_ms(self) -> float:
        return max(0, self.config["retry_backoff_ms"] - (time.time() * 1000 - self._last_refresh_ms))

    def request_update(self) -> Any:
        """Has metadata asked for as soon as may be; a future of this object."""
        with self._lock:
            self._need_update = True
            if not self._future or self._future.is_done:
                self._future = Future()
            return self._future

    def failed_update(self, exception: Any) -> None:
        """A request for metadata came to nothing."""
        with self._lock:
            future, self._future = self._future, None
        if future is not None:
            future.failure(exception)
        self._last_refresh_ms = time.time() * 1000

    def update_metadata(self, metadata: Any) -> None:
        """Takes a MetadataResponse, of whichever version."""
        answer = metadata.to_object() if hasattr(metadata, "to_object") else metadata.to_dict(json=False)
        chosen = generation()
        if not answer["brokers"] and chosen.cluster_has_bootstrap_brokers:
            log.warning("No broker metadata found in MetadataResponse -- ignoring.")
            self.failed_update(Errors.MetadataEmptyBrokerList(metadata))
            return
        failure = _failure_of_one_topic(answer["topics"])
        if failure is not None and not chosen.cluster_has_bootstrap_brokers:
            self.failed_update(failure)
            return
        if not answer["brokers"]:
            log.warning("No broker metadata found in MetadataResponse")
        self._take(answer, getattr(metadata, "API_VERSION", 0))
        now_ms = time.time() * 1000
        self._last_refresh_ms = self._last_successful_refresh_ms = now_ms
        with self._lock:
            self._need_update = self._needs_more(answer)
            future, self._future = self._future, None
        if future is not None:
            if failure is None:
                future.success(self)
            else:
                future.failure(failure)
        log.debug("Updated cluster metadata to %s", self)
        for listener in list(self._listeners):
            listener(self)
        if self.need_all_topic_metadata:
            self._need_update = False

    def _take(self, answer: dict[str, Any], version: int) -> None:
        brokers = {
            each["node_id"]: self._broker(each["node_id"], each["host"], each["port"], each.get("rack"))
            for each in answer["brokers"]
        }
        partitions: dict[str, dict[int, Any]] = {}
        of_brokers: dict[Any, set[Any]] = defaultdict(set)
        unauthorized: set[str] = set()
        internal: set[str] = set()
        for each in answer["topics"]:
            topic = each["topic"] if "topic" in each else each["name"]
            if each.get("is_internal"):
                internal.add(topic)
            if each["error_code"]:
                self._tell_of_topic(topic, Errors.for_code(each["error_code"]), unauthorized)
                continue
            partitions[topic] = {}
            for partition in each["partitions"]:
                found = _partition(topic, partition)
                partitions[topic][found.partition] = found
                if found.leader != -1:
                    of_brokers[found.leader].add(TopicPartition(topic, found.partition))
        with self._lock:
            self._brokers = brokers if generation().cluster_has_bootstrap_brokers else self._brokers | brokers
            self._partitions = partitions
            self._broker_partitions = of_brokers
            self.unauthorized_topics = unauthorized
            self.internal_topics = internal
            self.controller = brokers.get(answer.get("controller_id"))
            self.cluster_id = answer.get("cluster_id")

    def _needs_more(self, answer: dict[str, Any]) -> bool:
        """Whether metadata is to be asked for again at once."""
        return False

    def _is_told(self, topic: str) -> bool:
        """Whether an error of this topic is logged."""
        return not (self.need_all_topic_metadata and generation().cluster_has_bootstrap_brokers)

    def _tell_of_topic(self, topic: str, error: Any, unauthorized: set[str]) -> None:
        if not self._is_told(topic):
            return
        if error is Errors.LeaderNotAvailableError:
            log.warning("Topic %s is not available during auto-create initialization", topic)
        elif error is Errors.UnknownTopicOrPartitionError:
            log.error("Topic %s not found in cluster metadata", topic)
        elif error is Errors.TopicAuthorizationFailedError:
            log.error("Topic %s is not authorized for this client", topic)
            unauthorized.add(topic)
        elif error is Errors.InvalidTopicError:
            log.error("'%s' is not a valid topic name", topic)
        else:
            log.error("Error fetching metadata for topic %s: %s", topic, error)

    def add_listener(self, listener: Listener) -> None:
        """Has it called with this object after each update."""
        self._listeners.add(listener)

    def remove_listener(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    # Coordinators

    def add_group_coordinator(self, group: str, response: Any) -> bool:
        """Takes a GroupCoordinatorResponse, as 1.2 does; whether it was none of an error."""
        error = Errors.for_code(response.error_code)
        if error is not Errors.NoError:
            log.error("GroupCoordinatorResponse error: %s", error)
            self._coordinators["group", group] = -1
            return False
        node_id = response.coordinator_id
        coordinator = self._broker(node_id, response.host, response.port, None)
        self._coordinators["group", group] = node_id
        if self._brokers.setdefault(node_id, coordinator) != coordinator:
            log.error(
                "GroupCoordinator metadata conflicts with existing broker metadata. Coordinator: %s, "
                "Broker: %s",
                coordinator,
                self._brokers[node_id],
            )
            return False
        log.info("Group coordinator for %s is %s", group, coordinator)
        return True

    def add_coordinator(self, response: Any, coord_type: str, coord_key: str) -> Any:
        """Takes a FindCoordinatorResponse; the name of the coordinator's own connection, or None."""
        error = Errors.for_code(response.error_code)
        if error is not Errors.NoError:
            log.error("FindCoordinatorResponse error: %s", error)
            self._coordinators[coord_type, coord_key] = -1
            return None
        node_id = f"coordinator-{response.coordinator_id}"
        coordinator = self._broker(node_id, response.host, response.port, None)
        log.info("Coordinator for %s/%s is %s", coord_type, coord_key, coordinator)
        self._coordinator_brokers[node_id] = coordinator
        self._coordinators[coord_type, coord_key] = node_id
        return node_id

    def with_partitions(self, partitions_to_add: Any) -> KnownCluster:
        """A copy in which there are these PartitionMetadata as well."""
        changed = type(self)(**self.config)
        changed._brokers = copy.deepcopy(self._brokers)
        changed._partitions = copy.deepcopy(self._partitions)
        changed._broker_partitions = defaultdict(set, copy.deepcopy(self._broker_partitions))
        changed._coordinators = copy.deepcopy(self._coordinators)
        changed.internal_topics = set(self.internal_topics)
        changed.unauthorized_topics = set(self.unauthorized_topics)
        for each in partitions_to_add:
            changed._partitions.setdefault(each.topic, {})[each.partition] = each
            if each.leader is not None and each.leader != -1:
                changed._broker_partitions[each.leader].add(TopicPartition(each.topic, each.partition))
        return changed

    def __str__(self) -> str:
        return generation().cluster_text.format(
            brokers=len(self._brokers), topics=len(self._partitions), coordinators=len(self._coordinators)
        )


def _partition(topic: str, answer: dict[str, Any]) -> Any:
    struct = STRUCTS["PartitionMetadata"]
    values: dict[str, Any] = {"topic": topic}
    for name, names in _FIELDS_OF_PARTITIONS.items():
        if name in struct._fields:
            found = [answer[each] for each in names if each in answer]
            values[name] = found[0] if found else copy.copy(_WHERE_MISSING[name])
    return struct(**values)


def _failure_of_one_topic(topics: list[dict[str, Any]]) -> Any:
    """Where only one topic was asked for, and there is something the matter with it: that."""
    if len(topics) != 1 or not topics[0]["error_code"]:
        return None
    topic = topics[0]["topic"] if "topic" in topics[0] else topics[0]["name"]
    return Errors.for_code(topics[0]["error_code"])(topic)
