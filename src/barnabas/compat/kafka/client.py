"""SimpleClient: the client of Kafka 0.8, whose calls are requests of that time.

Brokers get them as they take them today (`kafka_engine/simple`). Offsets of groups are in Kafka for all
calls; to ZooKeeper goes nothing any more.
"""

from __future__ import annotations

import copy
import importlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from barnabas.chance import chance
from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.structs import (  # pyright: ignore[reportAttributeAccessIssue]
    BrokerMetadata,  # pyright: ignore[reportUnknownVariableType]
    ConsumerMetadataResponse,  # pyright: ignore[reportUnknownVariableType]
    TopicPartition,  # pyright: ignore[reportUnknownVariableType]
)
from barnabas.compat.kafka_engine.config.servers import hosts_in
from barnabas.compat.kafka_engine.simple import requests
from barnabas.compat.kafka_engine.simple.cluster import SimpleCluster
from barnabas.compat.kafka_engine.simple.grouping import group_by_topic_and_partition
from barnabas.compat.kafka_engine.simple.requests import EARLIEST, LATEST, text_of
from barnabas.compat.kafka_engine.values.failures import failure_of
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.list_offsets import ListOffsetsResponse

__all__ = ["SimpleClient"]

log = logging.getLogger("kafka.client")

DEFAULT_SOCKET_TIMEOUT_SECONDS = 120

_Callback = Callable[[Any], Any] | None


def __getattr__(name: str) -> Any:
    """The asynchronous KafkaClient is here as well."""
    if name != "KafkaClient":
        raise AttributeError(f"module 'kafka.client' has no attribute {name!r}")
    return importlib.import_module("barnabas.compat.kafka.client_async").KafkaClient


def __dir__() -> list[str]:
    return sorted({*globals(), "KafkaClient"})


class SimpleClient:
    """The brokers at `hosts` ("host:port,..." or a list), whose metadata is loaded when it is made.
    `timeout`: how long, in seconds, a broker may take to answer.

    Raises: KafkaUnavailableError where no broker answers.
    """

    CLIENT_ID = b"kafka-python"

    def __init__(
        self,
        hosts: Any,
        client_id: Any = CLIENT_ID,
        timeout: float = DEFAULT_SOCKET_TIMEOUT_SECONDS,
        correlation_id: int = 0,
    ) -> None:
        self.client_id = client_id
        self.timeout = timeout
        self.hosts = hosts_in(hosts)
        chance.shuffle(self.hosts)
        self.correlation_id = correlation_id
        servers = hosts.split(",") if isinstance(hosts, str) else list(hosts)
        self._cluster = SimpleCluster(servers, text_of(client_id), timeout)
        self.brokers: dict[int, Any] = {}
        self.topics_to_brokers: dict[Any, Any] = {}
        self.topic_partitions: dict[str, dict[int, int]] = {}
        try:
            self.load_metadata_for_topics()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<KafkaClient client_id={self.client_id}>"

    def close(self) -> None:
        """Closes the connections. Calls that come later open them again."""
        self._cluster.close()

    def copy(self) -> SimpleClient:
        """Another client that knows the same, for another thread or process, without any connection."""
        return copy.deepcopy(self)

    def reinit(self) -> None:
        """Lets go of all connections: each is opened anew when it is needed."""
        self._cluster.close()

    # Metadata

    @property
    def topics(self) -> list[str]:
        """Those that are known."""
        return list(self.topic_partitions)

    def has_metadata_for_topic(self, topic: Any) -> bool:
        """Whether partitions of it are known."""
        return bool(self.topic_partitions.get(text_of(topic)))

    def get_partition_ids_for_topic(self, topic: Any) -> list[int]:
        """The numbers of a topic's partitions, as far as they are known."""
        return sorted(self.topic_partitions.get(text_of(topic), ()))

    def reset_topic_metadata(self, *topics: Any) -> None:
        """Forgets topics."""
        names = {text_of(topic) for topic in topics}
        for partition in list(self.topics_to_brokers):
            if partition.topic in names:
                self.topics_to_brokers.pop(partition, None)
        for name in names:
            self.topic_partitions.pop(name, None)

    def reset_all_metadata(self) -> None:
        """Forgets all topics."""
        self.topics_to_brokers.clear()
        self.topic_partitions.clear()

    def ensure_topic_exists(self, topic: Any, timeout: float = 30) -> None:
        """Waits until partitions of a topic are known, which brokers may create. Raises: KafkaTimeoutError
        after so many seconds; UnknownTopicOrPartitionError where there is none and none is created."""
        deadline = time.monotonic() + timeout
        while not self.has_metadata_for_topic(topic):
            if time.monotonic() > deadline:
                raise Errors.KafkaTimeoutError(f"Unable to create topic {topic}")
            self.load_metadata_for_topics(topic, ignore_leadernotavailable=True)
            if not self.has_metadata_for_topic(topic):
                time.sleep(0.1)

    def load_metadata_for_topics(self, *topics: Any, **kwargs: Any) -> None:
        """Asks for brokers and partitions of these topics, or of all.

        Raises: of topics that were named, UnknownTopicOrPartitionError for one that is not there, and
        LeaderNotAvailableError for one that is being created, unless `ignore_leadernotavailable`;
        KafkaUnavailableError.
        """
        is_patient = kwargs.get("ignore_leadernotavailable", False)
        names = [text_of(topic) for topic in topics]
        answer = self.send_metadata_request(names)
        self.reset_topic_metadata(*names) if names else self.reset_all_metadata()
        self.brokers = {node: _broker(node, host, port) for node, host, port in answer.brokers}
        for code, topic, partitions in answer.topics:
            if code:
                self._check_topic(code, topic, names, is_patient=is_patient)
                continue
            self.topic_partitions[topic] = {}
            for partition_code, partition, leader, _, _ in partitions:
                self._take_partition(TopicPartition(topic, partition), leader, partition_code)

    def _check_topic(self, code: int, topic: str, names: list[str], *, is_patient: bool) -> None:
        error = Errors.kafka_errors.get(code, Errors.UnknownError)
        if error in (Errors.UnknownTopicOrPartitionError, Errors.LeaderNotAvailableError):
            log.error("Error loading topic metadata for %s: %s (%s)", topic, error, code)
            if topic not in names or (error is Errors.LeaderNotAvailableError and is_patient):
                return
        raise error(topic)

    def _take_partition(self, partition: Any, leader: int, code: int) -> None:
        self.topic_partitions[partition.topic][partition.partition] = leader
        error = Errors.kafka_errors.get(code, Errors.UnknownError) if code else None
        if error is Errors.LeaderNotAvailableError:
            log.error("No leader for topic %s partition %d", partition.topic, partition.partition)
            self.topics_to_brokers[partition] = None
            return
        # Replicas are the brokers' affair: a client speaks to leaders.
        if error is not None and error is not Errors.ReplicaNotAvailableError:
            raise error(partition)
        known = self.brokers.get(leader)
        self.topics_to_brokers[partition] = _broker(leader, None, None) if known is None else known

    def _get_leader_for_partition(self, topic: Any, partition: int) -> Any:
        """The leader's BrokerMetadata. Raises: UnknownTopicOrPartitionError, LeaderNotAvailableError; as
        `load_metadata_for_topics`, which is called where it is not known."""
        key = TopicPartition(text_of(topic), partition)
        known = self.topics_to_brokers.get(key)
        if known is not None:
            return known
        self.load_metadata_for_topics(topic)
        leader = self.topic_partitions.get(key.topic, {}).get(partition)
        if leader is None:
            raise Errors.UnknownTopicOrPartitionError(key)
        if leader == -1 or leader not in self.brokers:
            raise Errors.LeaderNotAvailableError((topic, partition))
        return self.brokers[leader]

    # Requests. Where `fail_on_error`, the first error is raised; else errors are among the answers.

    def send_metadata_request(
        self, payloads: Iterable[Any] = (), fail_on_error: bool = True, callback: _Callback = None
    ) -> Any:
        """A MetadataResponse of version 0. Raises: KafkaUnavailableError."""
        try:
            response = self._cluster.ask_any(requests.metadata_request(payloads))
            is_missing = any(topic.error_code for topic in response.topics)
            creates_topics = is_missing and self._cluster.creates_topics()
        except BarnabasError as error:
            raise self._unavailable() from error
        return requests.metadata_struct(response, creates_topics=creates_topics)

    def send_consumer_metadata_request(
        self, payloads: Any = (), fail_on_error: bool = True, callback: _Callback = None
    ) -> Any:
        """A ConsumerMetadataResponse: the coordinator of a group, whose name `payloads` is."""
        try:
            node = self._cluster.coordinator(text_of(payloads))
        except BarnabasError as error:
            raise failure_of(error) from error
        return ConsumerMetadataResponse(0, node.node_id, node.host, node.port)

    def send_produce_request(
        self,
        payloads: Iterable[Any] = (),
        acks: int = 1,
        timeout: int = 1000,
        fail_on_error: bool = True,
        callback: _Callback = None,
    ) -> list[Any]:
        """Writes ProduceRequestPayloads; a ProduceResponsePayload for each, in their order, or what
        `callback` makes of it. `timeout`: how long, in milliseconds, a leader waits for `acks`; with 0 there
        is no answer."""
        payloads = list(payloads)
        if acks not in (1, 0, -1):
            raise ValueError(f"ProduceRequest acks ({acks}) must be 1, 0, -1")
        group_by_topic_and_partition(payloads)

        def ask(parts: Mapping[int, list[Any]]) -> dict[int, Any]:
            made = {node: requests.produce_request(each, acks, timeout) for node, each in parts.items()}
            if acks == 0:
                return self._cluster.tell_each(made)
            return self._cluster.ask_each(made)

        answers = self._ask_leaders(payloads, ask, lambda answer, _: requests.produced(answer))
        return self._given([each for each in answers if each is not None], fail_on_error, callback)

    def send_fetch_request(
        self,
        payloads: Iterable[Any] = (),
        fail_on_error: bool = True,
        callback: _Callback = None,
        max_wait_time: int = 100,
        min_bytes: int = 4096,
    ) -> list[Any]:
        """Reads FetchRequestPayloads: a FetchResponsePayload for each, in their order, whose messages are
        OffsetAndMessages. A message larger than `max_bytes` of its payload is a PartialMessage."""
        payloads = list(payloads)
        group_by_topic_and_partition(payloads)

        def ask(parts: Mapping[int, list[Any]]) -> dict[int, Any]:
            return self._cluster.ask_each(
                {
                    node: requests.fetch_request(each, int(max_wait_time), min_bytes)
                    for node, each in parts.items()
                }
            )

        answers: dict[tuple[str, int], Any] = {}
        wanted = payloads
        while wanted:
            again: list[Any] = []

            def read(answer: Any, asked: list[Any], again: list[Any] = again) -> list[Any]:
                found = requests.fetched(answer, asked)
                again.extend(requests.continued(asked, found))
                return [each for each, _ in found]

            found = self._ask_leaders(wanted, ask, read)
            answers |= {
                (text_of(payload.topic), payload.partition): each
                for payload, each in zip(wanted, found, strict=True)
            }
            wanted = again
        ordered = [answers[text_of(each.topic), each.partition] for each in payloads]
        return self._given(ordered, fail_on_error, callback)

    def send_offset_request(
        self, payloads: Iterable[Any] = (), fail_on_error: bool = True, callback: _Callback = None
    ) -> list[Any]:
        """OffsetRequestPayloads: of each an OffsetResponsePayload with offsets from before a time in
        milliseconds; -1 stands for the end, -2 for the beginning."""
        payloads = list(payloads)
        group_by_topic_and_partition(payloads)

        def ask(parts: Mapping[int, list[Any]]) -> dict[int, Any]:
            asked = self._cluster.ask_each(
                {node: requests.offsets_request(each) for node, each in parts.items()}
            )
            return {node: (answer, *self._bounds(node, parts[node])) for node, answer in asked.items()}

        def read(answer: Any, asked: list[Any]) -> list[Any]:
            response, latest, earliest = answer
            return requests.offsets(response, latest, earliest, asked)

        return self._given(self._ask_leaders(payloads, ask, read), fail_on_error, callback)

    def _bounds(self, node: int, payloads: list[Any]) -> list[Any]:
        """What a leader says of the end and the beginning, for the payloads that may need them."""
        past = [each for each in payloads if each.time >= 0]
        several = [each for each in payloads if each.max_offsets > 1 and each.time != EARLIEST]
        bounds: list[Any] = []
        for wanted, moment in ((past, LATEST), (several, EARLIEST)):
            answer: Any = ListOffsetsResponse()
            if wanted:
                answer = self._cluster.ask_each({node: requests.offsets_request(wanted, moment)})[node]
            bounds.append(answer)
        return bounds

    def send_offset_commit_request(
        self,
        group: Any,
        payloads: Iterable[Any] = (),
        fail_on_error: bool = True,
        callback: _Callback = None,
    ) -> list[Any]:
        """Commits OffsetCommitRequestPayloads for a group: an OffsetCommitResponsePayload for each."""
        name = text_of(group)

        def ask(asked: list[Any]) -> list[Any]:
            response = self._cluster.ask_coordinator(
                *(name, requests.offset_commit_request(name, asked)),
                lambda answer: [part.error_code for topic in answer.topics for part in topic.partitions],
            )
            return requests.committed(response)

        answers = self._ask_coordinator(list(payloads), ask, needs_leaders=True)
        return self._given(answers, fail_on_error, callback)

    def send_offset_fetch_request(
        self,
        group: Any,
        payloads: Iterable[Any] = (),
        fail_on_error: bool = True,
        callback: _Callback = None,
    ) -> list[Any]:
        """What a group committed for OffsetFetchRequestPayloads: an OffsetFetchResponsePayload for each.
        Where that is nothing, the offset is -1 and the error UnknownTopicOrPartitionError, which is raised
        unless `fail_on_error` is False."""
        answers = self._fetch_offsets(group, list(payloads), as_zookeeper=True)
        return self._given(answers, fail_on_error, callback)

    def send_offset_fetch_request_kafka(
        self,
        group: Any,
        payloads: Iterable[Any] = (),
        fail_on_error: bool = True,
        callback: _Callback = None,
    ) -> list[Any]:
        """`send_offset_fetch_request`, where nothing is no error."""
        answers = self._fetch_offsets(group, list(payloads), as_zookeeper=False)
        return self._given(answers, fail_on_error, callback)

    def _fetch_offsets(self, group: Any, payloads: list[Any], *, as_zookeeper: bool) -> list[Any]:
        name = text_of(group)

        def ask(asked: list[Any]) -> list[Any]:
            response = self._cluster.ask_coordinator(
                *(name, requests.offset_fetch_request(name, asked)), lambda answer: [answer.error_code]
            )
            return requests.last_committed(response, as_zookeeper=as_zookeeper)

        return self._ask_coordinator(payloads, ask, needs_leaders=as_zookeeper)

    # How they are sent

    def _ask_leaders(
        self,
        payloads: list[Any],
        ask: Callable[[Mapping[int, list[Any]]], dict[int, Any]],
        read: Callable[[Any, list[Any]], list[Any]],
    ) -> list[Any]:
        """The answer for each payload, in their order: None where there is none, FailedPayloadsError where
        the leader could not be asked, of whom nothing known is believed from then on."""
        parts, answers = self._by_leader(payloads)
        is_stale = False
        try:
            for node, answer in (ask(parts) if parts else {}).items():
                has_failed = any(isinstance(each, BarnabasError) for each in _parts_of(answer))
                is_stale |= has_failed
                for payload in parts[node]:
                    answers[_key(payload)] = Errors.FailedPayloadsError(payload) if has_failed else None
                if not has_failed and answer is not None:
                    answers |= {(each.topic, each.partition): each for each in read(answer, parts[node])}
        except BarnabasError as error:
            raise failure_of(error) from error
        if is_stale:
            self.reset_all_metadata()
        return [answers[_key(payload)] for payload in payloads]

    def _by_leader(self, payloads: list[Any]) -> tuple[dict[int, list[Any]], dict[tuple[str, int], Any]]:
        """Payloads by their leader's id, and errors for those that have none."""
        parts: dict[int, list[Any]] = {}
        failures: dict[tuple[str, int], Any] = {}
        for payload in payloads:
            try:
                leader = self._get_leader_for_partition(payload.topic, payload.partition)
                parts.setdefault(leader.nodeId, []).append(payload)
            except (
                Errors.KafkaUnavailableError,
                Errors.LeaderNotAvailableError,
                Errors.UnknownTopicOrPartitionError,
            ):
                failures[_key(payload)] = Errors.FailedPayloadsError(payload)
        return parts, failures

    def _ask_coordinator(
        self, payloads: list[Any], ask: Callable[[list[Any]], list[Any]], *, needs_leaders: bool
    ) -> list[Any]:
        """`_ask_leaders`, of a group's coordinator. `needs_leaders`: leaders were asked in the past, and what
        has none is refused still."""
        group_by_topic_and_partition(payloads)
        answers: dict[tuple[str, int], Any] = self._by_leader(payloads)[1] if needs_leaders else {}
        asked = [payload for payload in payloads if _key(payload) not in answers]
        if asked:
            try:
                answers |= {(each.topic, each.partition): each for each in ask(asked)}
            except BarnabasError as error:
                log.warning("ConnectionError attempting to send request to server: %s", error)
                answers |= {_key(payload): Errors.FailedPayloadsError(payload) for payload in asked}
        return [answers[_key(payload)] for payload in payloads]

    def _given(self, answers: list[Any], fail_on_error: bool, callback: _Callback) -> list[Any]:
        if fail_on_error:
            for answer in answers:
                self._raise_on_response_error(answer)
        return answers if callback is None else [callback(answer) for answer in answers]

    def _raise_on_response_error(self, answer: Any) -> None:
        try:
            Errors.check_error(answer)
        except (Errors.UnknownTopicOrPartitionError, Errors.NotLeaderForPartitionError):
            self.reset_topic_metadata(answer.topic)
            raise

    def _unavailable(self) -> Any:
        hosts = list(self.hosts)
        return Errors.KafkaUnavailableError(f"All servers failed to process request: {hosts}")


def _broker(*values: Any) -> Any:
    # Later generations say where it stands, too.
    return BrokerMetadata(*values, *(None for _ in BrokerMetadata._fields[len(values) :]))


def _parts_of(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)  # pyright: ignore[reportUnknownVariableType]


def _key(payload: Any) -> tuple[str, int]:
    return text_of(payload.topic), payload.partition
