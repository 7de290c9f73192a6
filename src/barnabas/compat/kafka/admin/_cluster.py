"""The cluster: the calls of KafkaAdminClient about it, as kafka-python 3 answers, and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, cast

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.admin._acls import operation_names
from barnabas.compat.kafka.protocol.api_key import ApiKey
from barnabas.compat.kafka.protocol.broker_version_data import BrokerVersionData
from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_engine.admin import cluster as requests
from barnabas.compat.kafka_engine.admin.containers import container_of, dict_of
from barnabas.compat.kafka_engine.admin.session import BrokerSession
from barnabas.compat.kafka_engine.admin.topics import metadata
from barnabas.compat.kafka_engine.admin.topics import topic_partitions as all_partitions
from barnabas.compat.kafka_engine.values.structs import STRUCTS

TopicPartitionReplica: Any = STRUCTS["TopicPartitionReplica"]

_NOT_OF_THE_CLUSTER = ("error_code", "error_message", "endpoint_type", "throttle_time_ms", "topics")
_METADATA_TOPIC = "__cluster_metadata"


class UpdateFeatureType(EnumHelper, IntEnum):
    """Which way the level of a feature may go."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


_DOWN = (UpdateFeatureType.SAFE_DOWNGRADE, UpdateFeatureType.UNSAFE_DOWNGRADE)


class ClusterAdminMixin:
    """Calls about the cluster as a whole."""

    _session: BrokerSession

    def describe_cluster(self) -> dict[str, Any]:
        """The brokers, who of them is the controller, the cluster's id, and what the caller may do with
        it."""
        described = self._session.run(self._described_cluster())
        for name in _NOT_OF_THE_CLUSTER:
            described.pop(name, None)
        if "authorized_operations" in described:
            described["authorized_operations"] = operation_names(described["authorized_operations"])
        return described

    async def _described_cluster(self) -> dict[str, Any]:
        try:
            answer = await requests.describe_cluster(self._session)
        except Errors.IncompatibleBrokerVersion:
            older = await metadata(self._session, [])
            described = dict_of(older.message, older.version)
            for broker in described["brokers"]:
                broker["broker_id"] = broker.pop("node_id")
            return described
        if answer.message.error_code:
            raise Errors.for_code(answer.message.error_code)(answer.message.error_message)
        return dict_of(answer.message, answer.version)

    def describe_log_dirs(
        self, topic_partitions: Any = None, brokers: Iterable[int] | None = None
    ) -> list[dict[str, Any]]:
        """The directories of brokers, and the sizes of what is in them: "broker" and "log_dirs" of each.

        `topic_partitions`: the numbers of partitions by topic, or topics, or None for all.
        """
        return self._session.run(self._described_dirs(topic_partitions, brokers))

    async def _described_dirs(
        self, topic_partitions: Any, brokers: Iterable[int] | None
    ) -> list[dict[str, Any]]:
        if isinstance(topic_partitions, dict):
            topics = list(cast("dict[str, list[int]]", topic_partitions).items())
        else:
            topics = await all_partitions(self._session, topic_partitions)
        answers = await requests.describe_log_dirs(self._session, topics, brokers)
        return [
            {"broker": broker, "log_dirs": dict_of(answer.message, answer.version)["results"]}
            for broker, answer in answers.items()
        ]

    def alter_replica_log_dirs(self, replica_assignments: Mapping[Any, str]) -> dict[Any, Any]:
        """Moves replicas to other directories of their brokers: a path by TopicPartitionReplica. Gives the
        class of an error for each, NoError where there is none."""
        paths = {
            (topic, partition, broker): path
            for (topic, partition, broker), path in replica_assignments.items()
        }
        answers = self._session.run(requests.alter_log_dirs(self._session, paths))
        return {
            TopicPartitionReplica(topic.topic_name, partition.partition_index, broker): Errors.for_code(
                partition.error_code
            )
            for broker, answer in answers.items()
            for topic in answer.message.results
            for partition in topic.partitions
        }

    def describe_metadata_quorum(self) -> dict[str, Any]:
        """The controllers of a KRaft cluster, who leads them, and how far each is."""
        answer = self._session.run(requests.describe_quorum(self._session, _METADATA_TOPIC, 0))
        if answer.message.error_code:
            raise Errors.for_code(answer.message.error_code)(answer.message.error_message or "")
        described = dict_of(answer.message, answer.version)
        for name in ("throttle_time_ms", "error_code", "error_message"):
            described.pop(name, None)
        for topic in described["topics"]:
            for partition in topic["partitions"]:
                code, text = partition.pop("error_code"), partition.pop("error_message", None)
                partition["error"] = str(Errors.for_code(code)(text)) if code else None
        return described

    def get_broker_version_data(self, broker_id: int) -> BrokerVersionData:
        """What a broker speaks. Raises: UnknownBrokerIdError."""
        return BrokerVersionData(api_versions=self._session.run(self._session.versions_of(broker_id)))

    def api_versions(self) -> dict[Any, tuple[int, int]]:
        """The lowest and highest version of each request that the brokers speak."""
        return {ApiKey(key): versions for key, versions in self._session.spoken.items()}

    def describe_features(self, send_request_to_controller: bool = False) -> dict[str, dict[str, Any]]:
        """The features of the cluster (KIP-584), by name: "supported", the lowest and highest level, and
        where a level was chosen, "finalized" likewise and "finalized_epoch", of that choice, or None."""
        answer = self._session.run(
            requests.describe_features(self._session, of_controller=send_request_to_controller)
        )
        message = answer.message
        if message.error_code:
            response = container_of(message, answer.version)
            raise Errors.for_code(message.error_code)(f"ApiVersionsRequest failed: {response}")
        epoch = message.finalized_features_epoch if message.finalized_features_epoch >= 0 else None
        found: dict[str, dict[str, Any]] = {}
        for feature in message.supported_features:
            found.setdefault(feature.name, {})["supported"] = (feature.min_version, feature.max_version)
        for feature in message.finalized_features:
            levels = (feature.min_version_level, feature.max_version_level)
            found.setdefault(feature.name, {}).update(finalized=levels, finalized_epoch=epoch)
        return found

    def update_features(
        self, feature_updates: Any, validate_only: bool = False, timeout_ms: float = 60000
    ) -> dict[str, str]:
        """Chooses the levels of features. Gives by feature "OK" or the text of its error.

        `feature_updates`: by name the level, or (UpdateFeatureType, level); a level below 1 drops the choice.
        Raises: TypeError for what is no dictionary; the error of the controller, such as
        InvalidUpdateVersionError.
        """
        if not isinstance(feature_updates, dict):
            raise TypeError(
                "feature_updates must be a dict of {feature_name: (max_version_level, upgrade_type)} or "
                "{feature_name: max_version_level}"
            )
        given = cast("dict[str, Any]", feature_updates)
        updates: list[tuple[str, int, int, bool]] = []
        for feature, spec in given.items():
            way, level = spec if isinstance(spec, tuple) else (UpdateFeatureType.UPGRADE, spec)  # pyright: ignore[reportUnknownVariableType]
            code = UpdateFeatureType.value_for(way)
            updates.append((feature, int(level), code, code in _DOWN))  # pyright: ignore[reportUnknownArgumentType]
        answer = self._session.run(
            requests.update_features(self._session, updates, timeout_ms, validate_only=validate_only)
        )
        answer.check([answer.message.error_code])
        # Newer brokers name no feature where all went well.
        found = dict.fromkeys(given, "OK")
        for result in answer.message.results:
            if result.error_code:
                found[result.feature] = str(Errors.for_code(result.error_code)(result.error_message))
        return found
