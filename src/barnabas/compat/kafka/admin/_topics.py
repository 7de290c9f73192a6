"""Topics: the calls of KafkaAdminClient about them, as kafka-python 3 answers, and what they take."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, cast

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.admin._acls import operation_names
from barnabas.compat.kafka.admin._configs import ConfigAdminMixin, ConfigResourceType
from barnabas.compat.kafka_engine.admin import topics as requests
from barnabas.compat.kafka_engine.admin.containers import dict_of
from barnabas.compat.kafka_engine.admin.session import BrokerSession
from barnabas.compat.kafka_engine.admin.topics import EXPLICIT_UNTIL, TopicSpec
from barnabas.protocol.messages.create_topics import CreateTopicsRequest

_PAUSE_SECONDS = 0.1


class NewTopic:
    """A topic that is to be made. -1 leaves the number of partitions, or of replicas, to the brokers (2.4 and
    later) or to `replica_assignments`, which has the brokers' ids by partition; `topic_configs` its
    settings."""

    def __init__(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignments: Mapping[int, list[int]] | None = None,
        topic_configs: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments = replica_assignments or {}
        self.topic_configs = topic_configs or {}


def spec_of(topic: Any) -> TopicSpec:
    """What a NewTopic asks for."""
    return TopicSpec(
        *(topic.name, topic.num_partitions, topic.replication_factor),
        *(topic.replica_assignments, topic.topic_configs),
    )


def _specs_of(new_topics: Any) -> list[TopicSpec]:
    specs: list[TopicSpec] = []
    if isinstance(new_topics, dict):
        given = cast("dict[str, dict[str, Any]]", new_topics)
        specs = [
            TopicSpec(
                *(name, options.get("num_partitions", -1), options.get("replication_factor", -1)),
                *(options.get("assignments", {}), options.get("configs", {})),
            )
            for name, options in given.items()
        ]
    elif all(isinstance(topic, str) for topic in new_topics):
        specs = [TopicSpec(topic) for topic in new_topics]
    elif all(isinstance(topic, NewTopic) for topic in new_topics):
        specs = [spec_of(topic) for topic in new_topics]
    if not specs:
        raise ValueError(f"No valid topics found in new_topics: {new_topics}")
    return specs


class TopicAdminMixin:
    """Calls about topics."""

    _session: BrokerSession
    config: dict[str, Any]

    def _validate_timeout(self, timeout_ms: float | None) -> float:
        """In milliseconds; request_timeout_ms where a call says nothing."""
        return timeout_ms or self.config["request_timeout_ms"]

    def list_topics(self) -> list[str]:
        """The names of all topics."""
        answer = self._session.run(requests.metadata(self._session, None))
        return [topic.name or "" for topic in answer.message.topics]

    def describe_topics(self, topics: Iterable[str | uuid.UUID] | None = None) -> list[dict[str, Any]]:
        """What brokers tell of topics and their partitions; of all for None. One that does not exist has an
        error code. `topics`: names or, of brokers since 2.8, ids (KIP-516)."""
        return self._described_topics(topics)

    def _described_topics(self, topics: Iterable[str | uuid.UUID] | None) -> list[dict[str, Any]]:
        answer = self._session.run(requests.metadata(self._session, topics))
        described = dict_of(answer.message, answer.version)["topics"]
        for topic in described:
            if "authorized_operations" in topic:
                topic["authorized_operations"] = operation_names(topic["authorized_operations"])
        return described

    def create_topics(
        self,
        new_topics: Any,
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
        wait_for_metadata: bool = False,
    ) -> dict[str, Any]:
        """Makes topics. Gives the answer of the controller as a dictionary.

        `new_topics`: names, or by name a dictionary with num_partitions, replication_factor, assignments (the
        ids of brokers by partition) and configs, or NewTopics. `wait_for_metadata`: as `wait_for_topics`
        does. Raises: the error of the first that failed, such as TopicAlreadyExistsError, unless
        `raise_errors` is False; ValueError where there is nothing to be made.
        """
        if validate_only and wait_for_metadata:
            raise ValueError("validate_only and wait_for_metadata are mutually exclusive")
        specs = _specs_of(new_topics)
        answer = self._session.run(
            self._created_topics(specs, self._validate_timeout(timeout_ms), validate_only)
        )
        answer.check([topic.error_code for topic in answer.message.topics], raise_errors)
        if wait_for_metadata:
            self.wait_for_topics([topic.name for topic in specs])
        result = dict_of(answer.message, answer.version)
        result.pop("throttle_time_ms", None)
        for topic in result["topics"]:
            entries = topic.pop("configs", None)
            if entries:
                topic["configs"] = {
                    ConfigAdminMixin._process_config(entry, ConfigResourceType.TOPIC): entry  # pyright: ignore[reportPrivateUsage]
                    for entry in entries
                }
        return result

    async def _created_topics(self, specs: list[TopicSpec], timeout_ms: float, validate_only: bool) -> Any:
        needs_numbers = any(spec.num_partitions == -1 or spec.replication_factor == -1 for spec in specs)
        if needs_numbers and await self._session.version(CreateTopicsRequest) <= EXPLICIT_UNTIL:
            raise Errors.IncompatibleBrokerVersion(
                "Brokers before (2, 4) require explicit num_partitions and replication_factor"
            )
        return await requests.create_topics(self._session, specs, timeout_ms, validate_only=validate_only)

    def wait_for_topics(self, topic_names: Iterable[str], timeout_ms: float = 10000) -> None:
        """Returns when brokers know these topics and who leads each partition. Raises: KafkaTimeoutError."""
        names = list(topic_names)
        deadline = time.monotonic() + timeout_ms / 1000
        pending = dict.fromkeys(names, "not yet queried")
        while pending:
            try:
                known = {topic["name"]: topic for topic in self._described_topics(names)}
            except Errors.KafkaError:
                known = {}
            reasons = {name: self._topic_not_ready_reason(known.get(name)) for name in names}
            pending = {name: reason for name, reason in reasons.items() if reason is not None}
            if not pending:
                return
            if time.monotonic() >= deadline:
                raise Errors.KafkaTimeoutError(f"Topics not ready after {timeout_ms}ms: {pending}")
            time.sleep(_PAUSE_SECONDS)

    @staticmethod
    def _topic_not_ready_reason(topic_info: Mapping[str, Any] | None) -> str | None:
        if topic_info is None:
            return "missing from metadata response"
        if topic_info["error_code"]:
            return Errors.for_code(topic_info["error_code"]).__name__
        if not topic_info["partitions"]:
            return "no partitions reported"
        bad: list[str] = []
        for partition in topic_info["partitions"]:
            number = partition["partition_index"]
            if partition["error_code"]:
                bad.append(f"p{number}={Errors.for_code(partition['error_code']).__name__}")
            elif partition["leader_id"] < 0:
                bad.append(f"p{number}=no leader")
        return ",".join(bad) or None

    def delete_topics(
        self,
        topics: Iterable[str | uuid.UUID],
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> dict[str, Any]:
        """Deletes topics, by their names or, of brokers since 2.8, ids. Gives the answer of the controller as
        a dictionary. Raises: the error of the first that failed, such as UnknownTopicOrPartitionError, unless
        `raise_errors` is False."""
        answer = self._session.run(
            requests.delete_topics(self._session, topics, self._validate_timeout(timeout_ms))
        )
        answer.check([topic.error_code for topic in answer.message.responses], raise_errors)
        result = dict_of(answer.message, answer.version)
        result.pop("throttle_time_ms", None)
        result["topics"] = result.pop("responses")
        return result
