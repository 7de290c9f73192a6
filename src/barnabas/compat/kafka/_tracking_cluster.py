"""What ClusterMetadata is in kafka-python 3: it keeps which topics are wanted and makes the request for them,
knows the ids of topics, and takes hints about leaders."""

from __future__ import annotations

import logging
import socket
import uuid
from collections.abc import Iterable
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka._known_cluster import KnownCluster
from barnabas.compat.kafka.future import Future
from barnabas.compat.kafka.protocol.metadata.find_coordinator import CoordinatorType
from barnabas.compat.kafka.util import ensure_valid_topic_name
from barnabas.compat.kafka_engine.wire.api_messages import api_message
from barnabas.net.addresses import look_up

__all__ = ["TrackingCluster", "expand_to_canonical_bootstrap_hosts"]

log = logging.getLogger("kafka.cluster")

_EPOCHS_ARE_RIGHT_SINCE = 9
"""KAFKA-9212: brokers that do not speak this version of Metadata tell epochs that are out of date."""
_IDS_SINCE = 10
_CANONICAL = "resolve_canonical_bootstrap_servers_only"


class TrackingCluster(KnownCluster):
    """Brokers are objects with node_id, host, port and rack. Errors are told of topics that are wanted."""

    __module__ = "barnabas.compat.kafka.cluster"

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        self._topics: set[str] = set()
        self._topic_ids: dict[str, uuid.UUID] = {}

    def _bootstrap_hosts(self) -> list[tuple[str, int, int]]:
        hosts = super()._bootstrap_hosts()
        is_canonical = self.config["client_dns_lookup"] == _CANONICAL
        return expand_to_canonical_bootstrap_hosts(hosts) if is_canonical else hosts

    def _broker(self, node_id: Any, host: str, port: int, rack: str | None) -> Any:
        return api_message("MetadataResponse").MetadataResponseBroker(node_id, host, port, rack)

    # What there is

    def brokers(self) -> list[Any]:
        """Those that a broker has told of."""
        return list(self._brokers.values())

    def bootstrap_brokers(self) -> list[Any]:
        """What stands for bootstrap_servers."""
        return list(self._bootstrap_brokers.values())

    def is_replica_node(self, partition: Any, node_id: Any) -> Any:
        """The broker, if it is known and has a replica of the partition; else None."""
        found = self._partitions.get(partition.topic, {}).get(partition.partition)
        return self.broker_metadata(node_id) if found is not None and node_id in found.replicas else None

    def leader_epoch_for_partition(self, partition: Any) -> int | None:
        found = self._partitions.get(partition.topic, {}).get(partition.partition)
        return None if found is None else found.leader_epoch

    def update_partition_leader(self, partition: Any, leader_id: int, leader_epoch: int) -> bool:
        """Takes what an answer told of a partition's leader (KIP-951); whether that was news."""
        with self._lock:
            found = self._partitions.get(partition.topic, {}).get(partition.partition)
            if found is None or leader_epoch < 0 or leader_epoch <= found.leader_epoch:
                return False
            self._partitions[partition.topic][partition.partition] = found._replace(
                leader=leader_id, leader_epoch=leader_epoch
            )
            if found.leader != leader_id:
                self._broker_partitions.get(found.leader, set()).discard(partition)
                if leader_id != -1:
                    self._broker_partitions[leader_id].add(partition)
            return True

    def topic_id(self, topic_name: str) -> uuid.UUID | None:
        """The id of a topic (KIP-516), where a broker has told it."""
        return self._topic_ids.get(topic_name)

    def topic_name_for_id(self, topic_id: uuid.UUID) -> str | None:
        return next((name for name, each in list(self._topic_ids.items()) if each == topic_id), None)

    # What is wanted

    def set_topics(self, topics: Iterable[str]) -> Any:
        """Has metadata kept for exactly these topics; a future of it. Raises: TypeError, ValueError for what
        is no name of a topic."""
        wanted = set(topics)
        for topic in wanted:
            ensure_valid_topic_name(topic)
        if not wanted - self._topics:
            return Future().success(self)
        self._topics = wanted
        return self.request_update()

    def add_topic(self, topic: str) -> Any:
        """Has metadata kept for this topic too; a future of it. Raises: TypeError, ValueError for what is no
        name of a topic."""
        ensure_valid_topic_name(topic)
        if topic in self._topics:
            return Future().success(self)
        self._topics.add(topic)
        return self.request_update()

    def metadata_request(self) -> Any:
        """For what is wanted."""
        request = api_message("MetadataRequest")
        topics: Any = [request.MetadataRequestTopic(name=topic) for topic in self._topics]
        if self.need_all_topic_metadata or not topics:
            topics = request.ALL_TOPICS if self.need_all_topic_metadata else request.NO_TOPICS
        return request(
            topics=topics,
            allow_auto_topic_creation=self.config["allow_auto_create_topics"],
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )

    def refresh_backoff(self) -> float:
        """How many milliseconds to wait after a failure."""
        return self.config["retry_backoff_ms"]

    def _take(self, answer: dict[str, Any], version: int) -> None:
        recreated = self._take_ids(answer, version)
        for each in answer["topics"]:
            if version < _EPOCHS_ARE_RIGHT_SINCE or each["name"] in recreated:
                for partition in each["partitions"]:
                    partition["leader_epoch"] = -1
        super()._take(answer, version)
        for each in answer["topics"]:
            error = Errors.for_code(each["error_code"])
            if each["name"] in self._topics and error is Errors.InvalidTopicError:
                self._topics.remove(each["name"])

    def _take_ids(self, answer: dict[str, Any], version: int) -> set[str]:
        """The topics that have another id than before."""
        ids = {
            each["name"]: each["topic_id"] for each in answer["topics"] if each.get("topic_id") is not None
        }
        recreated: set[str] = set()
        for name, topic_id in ids.items():
            before = self._topic_ids.get(name, topic_id)
            if before != topic_id:
                recreated.add(name)
                log.warning(
                    "Topic %s topic_id changed from %s to %s -- likely recreated; resetting cached leader "
                    "epochs.",
                    *(name, before, topic_id),
                )
        if version >= _IDS_SINCE:
            self._topic_ids = ids
        return recreated

    def _needs_more(self, answer: dict[str, Any]) -> bool:
        return any(
            issubclass(Errors.for_code(each["error_code"]), Errors.RetriableError)
            for each in answer["topics"]
            if each["name"] in self._topics
        )

    def _is_told(self, topic: str) -> bool:
        return topic in self._topics

    def remove_listener(self, listener: Any) -> None:
        self._listeners.discard(listener)

    # Coordinators

    def coordinator_for_group(self, group: str) -> Any:
        """The name of the connection to a group's coordinator, or None."""
        return self.get_coordinator(group)

    def get_coordinator(self, key: str, key_type: Any = CoordinatorType.GROUP) -> Any:
        """The name of the connection to the coordinator of a group, or of transactions; or None."""
        return self._coordinators.get((key_type, key))

    def add_coordinator(  # pyright: ignore[reportIncompatibleMethodOverride] each generation has its own
        self, response: Any, key_type: Any, key: str, synthesize_node_id: bool = True
    ) -> Any:
        """Takes a FindCoordinatorResponse; the name of the coordinator's own connection, or without
        `synthesize_node_id` the broker's number. Raises: BrokerResponseError."""
        kind = CoordinatorType.build_from(key_type)
        error = Errors.for_code(response.error_code)
        if error is not Errors.NoError:
            reason = getattr(response, "error_message", "")
            raise error(f"FindCoordinatorResponse error for {kind.name}/{key}: {reason}")
        node_id = f"coordinator-{response.node_id}" if synthesize_node_id else response.node_id
        coordinator = self._broker(node_id, response.host, response.port, None)
        log.info("Coordinator for %s/%s is %s", kind.name, key, coordinator)
        self._coordinator_brokers[node_id] = coordinator
        self._coordinators[kind, key] = node_id
        return node_id


def expand_to_canonical_bootstrap_hosts(hosts: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """For each of the hosts, the canonical names that the resolver gives; itself where it gives none."""
    expanded: list[tuple[str, int, int]] = []
    for host, port, family in hosts:
        try:
            found = look_up(host, port, family, socket.AI_CANONNAME)
        except socket.gaierror as error:
            text = "Canonical bootstrap resolution failed for %s:%s: %s; keeping original entry"
            log.warning(text, host, port, error)
            expanded.append((host, port, family))
            continue
        names: dict[str, int] = {}
        for found_family, _, _, name, _ in found:
            names.setdefault(name or host, found_family)
        expanded += [(name, port, found_family) for name, found_family in names.items()]
    return expanded
