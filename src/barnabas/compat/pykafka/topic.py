"""A topic with its partitions, and the producers and consumers of it."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

from barnabas.compat.pykafka.balancedconsumer import BalancedConsumer
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import LeaderNotFoundError
from barnabas.compat.pykafka.handlers import ThreadingHandler
from barnabas.compat.pykafka.managedbalancedconsumer import ManagedBalancedConsumer
from barnabas.compat.pykafka.partition import Partition, milliseconds_of
from barnabas.compat.pykafka.producer import Producer
from barnabas.compat.pykafka.protocol import PartitionOffsetRequest
from barnabas.compat.pykafka.rdkafka import RdKafkaProducer, RdKafkaSimpleConsumer
from barnabas.compat.pykafka.simpleconsumer import SimpleConsumer

__all__ = ["Topic"]

log = logging.getLogger("pykafka.topic")


class Topic:
    """A topic, made of a TopicMetadata. Raises: LeaderNotFoundError for a partition without a leader."""

    def __init__(self, cluster: Any, topic_metadata: Any) -> None:
        self._name = topic_metadata.name
        self._cluster = cluster
        self._partitions: dict[int, Partition] = {}
        self.update(topic_metadata)

    def __repr__(self) -> str:
        cls = type(self)
        return f"<{cls.__module__}.{cls.__name__} at {hex(id(self))} (name={self._name})>"

    @property
    def name(self) -> bytes:
        return self._name

    @property
    def partitions(self) -> dict[int, Partition]:
        """By their ids."""
        return self._partitions

    def fetch_offset_limits(self, offsets_before: Any, max_offsets: int = 1) -> dict[int, Any]:
        """An OffsetPartitionResponse for each partition, with offsets from before a time, in milliseconds or
        a datetime of UTC, or with those of an OffsetType."""
        offsets_before = milliseconds_of(offsets_before)
        requests: defaultdict[Any, list[PartitionOffsetRequest]] = defaultdict(list)
        for each in self.partitions.values():
            requests[each.leader].append(
                PartitionOffsetRequest(self.name, each.id, offsets_before, max_offsets)
            )
        output: dict[int, Any] = {}
        for broker, of_broker in requests.items():
            output.update(broker.request_offset_limits(of_broker).topics[self.name])
        return output

    def earliest_available_offsets(self) -> dict[int, Any]:
        return self.fetch_offset_limits(OffsetType.EARLIEST)

    def latest_available_offsets(self) -> dict[int, Any]:
        """Of the next messages."""
        return self.fetch_offset_limits(OffsetType.LATEST)

    def update(self, metadata: Any) -> None:
        """As a TopicMetadata has it. Raises: LeaderNotFoundError."""
        told = metadata.partitions
        removed = set(self._partitions) - set(told)
        if removed:
            log.info("Removing %d partitions", len(removed))
        for id_ in removed:
            log.debug("Removing partition %s", self._partitions[id_])
            self._partitions.pop(id_)
        brokers = self._cluster.brokers
        if told:
            log.info("Adding %d partitions", len(told))
        for id_, each in told.items():
            if each.leader not in brokers:
                raise LeaderNotFoundError()
            if id_ in self._partitions:
                self._partitions[id_].update(brokers, each)
                continue
            log.debug("Adding partition %s/%s", self.name, id_)
            self._partitions[id_] = Partition(
                self,
                id_,
                brokers[each.leader],
                [brokers[replica] for replica in each.replicas if replica in brokers],
                [brokers[replica] for replica in each.isr if replica in brokers],
            )

    def get_producer(self, use_rdkafka: bool = False, **kwargs: Any) -> Any:
        """A Producer. `use_rdkafka` is what there is anyway. Raises: ImportError for that with greenlets."""
        if use_rdkafka:
            self._refuse_greenlets()
            kwargs.pop("block_on_queue_full", None)
            return RdKafkaProducer(self._cluster, self, **kwargs)
        return Producer(self._cluster, self, **kwargs)

    def get_sync_producer(self, **kwargs: Any) -> Any:
        """A Producer that waits for each message."""
        return Producer(self._cluster, self, sync=True, **kwargs)

    def get_simple_consumer(
        self, consumer_group: Any = None, use_rdkafka: bool = False, **kwargs: Any
    ) -> Any:
        """A SimpleConsumer. `use_rdkafka` is what there is anyway. Raises: ImportError for that with
        greenlets."""
        if use_rdkafka:
            self._refuse_greenlets()
        cls = RdKafkaSimpleConsumer if use_rdkafka else SimpleConsumer
        return cls(self, self._cluster, consumer_group=consumer_group, **kwargs)

    def _refuse_greenlets(self) -> None:
        if not isinstance(self._cluster.handler, ThreadingHandler):
            raise ImportError("use_rdkafka cannot be used with gevent")

    def get_balanced_consumer(self, consumer_group: Any, managed: bool = False, **kwargs: Any) -> Any:
        """A BalancedConsumer, which shares the topic by way of ZooKeeper; `managed`: by way of Kafka."""
        if managed:
            return ManagedBalancedConsumer(self, self._cluster, consumer_group, **kwargs)
        zookeeper = self._cluster._zookeeper_connect
        if "zookeeper_connect" not in kwargs and zookeeper is not None:
            kwargs["zookeeper_connect"] = zookeeper
        return BalancedConsumer(self, self._cluster, consumer_group, **kwargs)
