"""The part of Admin that concerns the cluster itself: its brokers, its features and the controllers' quorum.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from barnabas._kernel import VERSION
from barnabas.client.admin.arguments import check_number, check_type, items_of
from barnabas.client.admin.calls import AdminCalls, check, failure
from barnabas.client.admin.requests.topics import LAST_METADATA_WITH_CLUSTER_OPERATIONS, describe_brokers
from barnabas.client.admin.types import (
    ClusterDescription,
    FeatureMetadata,
    FeatureUpdate,
    QuorumInfo,
    QuorumReplica,
    RaftVoterEndpoint,
    UpgradeType,
    VersionRange,
)
from barnabas.client.admin.types.acls import authorized_operations
from barnabas.client.arguments import check_mapping
from barnabas.client.cluster.metadata_source import CONTROLLERS
from barnabas.errors import BarnabasError, BrokenProtocolError
from barnabas.net.negotiation import SOFTWARE_NAME
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.types import Node

BROKERS = 1
METADATA_TOPIC = "__cluster_metadata"
UPGRADE_TYPE_VERSION = 1


class ClusterAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def describe_cluster(
        self,
        *,
        include_authorized_operations: bool = False,
        include_fenced_brokers: bool = False,
        timeout: float | None = None,
    ) -> ClusterDescription:
        """The brokers, and which of them is the controller; with KRaft, any of them, which passes on what is
        for the controller. With bootstrap_controllers, the controllers, and the active one.
        Raises: UnsupportedVersionError (fenced brokers, before Kafka 4.1), ..."""

        async def attempt() -> ClusterDescription:
            node_id = await self._client.any_node()
            version = await self._client.version_at(node_id, DescribeClusterRequest)
            if version < 0 and not include_fenced_brokers:
                return await self._describe_by_metadata(node_id, include_authorized_operations)
            request = DescribeClusterRequest(
                include_cluster_authorized_operations=include_authorized_operations,
                include_fenced_brokers=include_fenced_brokers,
                endpoint_type=CONTROLLERS if self._client.reaches_controllers else BROKERS,
            )
            response = await self._send(node_id, request)
            check(response.error_code, "describing the cluster", response.error_message)
            nodes = {b.broker_id: Node(b.broker_id, b.host, b.port, b.rack) for b in response.brokers}
            return ClusterDescription(
                response.cluster_id,
                nodes.get(response.controller_id),
                tuple(nodes[node_id] for node_id in sorted(nodes)),
                authorized_operations(response.cluster_authorized_operations),
                frozenset(broker.broker_id for broker in response.brokers if broker.is_fenced),
            )

        return await self._retry(attempt, "describing the cluster", timeout)

    async def describe_features(
        self, *, node_id: int | None = None, timeout: float | None = None
    ) -> FeatureMetadata:
        """The features that the cluster has settled on, and those that a broker (None: any) supports
        (KIP-584)."""

        response = await self._ask_for_versions(node_id, "describing features", timeout)
        epoch = response.finalized_features_epoch
        return FeatureMetadata(
            {
                f.name: VersionRange(f.min_version_level, f.max_version_level)
                for f in response.finalized_features
            },
            None if epoch < 0 else epoch,
            {f.name: VersionRange(f.min_version, f.max_version) for f in response.supported_features},
        )

    async def describe_api_versions(
        self, *, node_id: int | None = None, timeout: float | None = None
    ) -> dict[str, VersionRange]:
        """Returns the versions of each API that a broker (None: any) speaks, by the API's name in Kafka's
        protocol (KIP-35), as "ListOffsets"; an API that this client does not know has its number for a name.

        Raises: MisuseError (there is no such broker), KafkaTimeoutError, ...
        """
        response = await self._ask_for_versions(node_id, "describing versions of APIs", timeout)
        return {
            _api_name(api.api_key): VersionRange(api.min_version, api.max_version)
            for api in response.api_keys
        }

    async def _ask_for_versions(
        self, node_id: int | None, what: str, timeout: float | None
    ) -> ApiVersionsResponse:
        async def place() -> int:
            return await self._client.any_node() if node_id is None else await self._broker(node_id)

        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=VERSION)
        response = await self._ask(place, request, timeout)
        check(response.error_code, what)
        return response

    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raises, lowers or removes the levels of features (KIP-584), `metadata.version` among them. All of
        them or, with brokers from 4.1 on, none.

        Raises: InvalidUpdateVersionError, FeatureUpdateFailedError, ...
        """

        async def ask(controller: int, names: list[str]) -> dict[str, BarnabasError | None]:
            knows_types = (
                await self._client.version_at(controller, UpdateFeaturesRequest) >= UPGRADE_TYPE_VERSION
            )
            request = UpdateFeaturesRequest(
                timeout_ms=self.config.request_timeout_ms,
                feature_updates=[_update(name, updates[name], knows_types) for name in names],
                validate_only=validate_only,
            )
            response = await self._send(controller, request)
            results = {result.feature: result for result in response.results}
            answers: dict[str, BarnabasError | None] = {}
            for name in names:
                # From version 2 on there is one answer for all.
                answer = response if response.error_code else results.get(name, response)
                answers[name] = failure(answer.error_code, f"feature {name!r}", answer.error_message)
            return answers

        check_mapping(updates, "updates", "'metadata.version': FeatureUpdate(level)")
        for name, update in updates.items():
            check_type(update, FeatureUpdate, f"feature {name!r}")
        await self._ask_controller_for_each(updates, ask, what="updating features", timeout=timeout)

    async def describe_metadata_quorum(self, *, timeout: float | None = None) -> QuorumInfo:
        """The controllers that keep the cluster's metadata, and how far each one is (KIP-595, KIP-853).

        Raises: UnsupportedVersionError (a cluster with ZooKeeper), ...
        """
        partition = DescribeQuorumRequest.PartitionData(partition_index=0)
        topic = DescribeQuorumRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        response = await self._ask(
            self._client.any_node,
            DescribeQuorumRequest(topics=[topic]),
            timeout,
            _quorum_code,
        )
        check(response.error_code, "describing the metadata quorum", response.error_message)
        found = [p for t in response.topics if t.topic_name == METADATA_TOPIC for p in t.partitions]
        if len(found) != 1:
            raise BrokenProtocolError(f"the quorum was described by {len(found)} partitions, not by one")
        check(found[0].error_code, "describing the metadata quorum", found[0].error_message)
        return QuorumInfo(
            found[0].leader_id,
            found[0].leader_epoch,
            found[0].high_watermark,
            tuple(_quorum_replica(replica) for replica in found[0].current_voters),
            tuple(_quorum_replica(replica) for replica in found[0].observers),
            {
                node.node_id: tuple(RaftVoterEndpoint(at.name, at.host, at.port) for at in node.listeners)
                for node in response.nodes
            },
        )

    async def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: uuid.UUID,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Makes a controller that follows a voter (KIP-853). With `cluster_id` only in that cluster.

        Raises: DuplicateVoterError, InconsistentClusterIdError, UnsupportedVersionError (kraft.version 0),
        ...
        """
        request = AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=self.config.request_timeout_ms,
            voter_id=voter_id,
            voter_directory_id=voter_directory_id,
            listeners=[
                AddRaftVoterRequest.Listener(name=at.listener, host=at.host, port=at.port)
                for at in items_of(endpoints, "endpoints", RaftVoterEndpoint)
            ],
        )
        response = await self._ask(self._client.any_node, request, timeout, lambda r: r.error_code)
        check(response.error_code, f"adding the voter {voter_id}", response.error_message)

    async def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: uuid.UUID,
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Takes a controller out of the voters (KIP-853). With `cluster_id` only in that cluster.

        Raises: VoterNotFoundError, InconsistentClusterIdError, UnsupportedVersionError (kraft.version 0), ...
        """
        request = RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=voter_directory_id
        )
        response = await self._ask(self._client.any_node, request, timeout, lambda r: r.error_code)
        check(response.error_code, f"removing the voter {voter_id}", response.error_message)

    async def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> None:
        """Forgets a broker that will not come back. Raises: BrokerIdNotRegisteredError, ..."""
        check_number(broker_id, "broker_id")
        request = UnregisterBrokerRequest(broker_id=broker_id)
        response = await self._ask(self._client.any_node, request, timeout, lambda r: r.error_code)
        check(response.error_code, f"broker {broker_id}", response.error_message)

    async def _describe_by_metadata(self, node_id: int, include_operations: bool) -> ClusterDescription:
        request = describe_brokers(include_operations=include_operations)
        response = await self._send(node_id, request, max_version=LAST_METADATA_WITH_CLUSTER_OPERATIONS)
        nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
        return ClusterDescription(
            response.cluster_id,
            nodes.get(response.controller_id),
            tuple(nodes[node_id] for node_id in sorted(nodes)),
            authorized_operations(response.cluster_authorized_operations),
        )


def _update(name: str, update: FeatureUpdate, knows_types: bool) -> UpdateFeaturesRequest.FeatureUpdateKey:
    wanted = UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=update.max_version_level)
    if knows_types:
        wanted.upgrade_type = int(update.upgrade_type)
    else:
        wanted.allow_downgrade = update.upgrade_type is not UpgradeType.UPGRADE
    return wanted


def _quorum_code(response: DescribeQuorumResponse) -> int:
    codes = [partition.error_code for topic in response.topics for partition in topic.partitions]
    return response.error_code or next((code for code in codes if code), 0)


def _quorum_replica(replica: DescribeQuorumResponse.ReplicaState) -> QuorumReplica:
    fetched, caught_up = replica.last_fetch_timestamp, replica.last_caught_up_timestamp
    return QuorumReplica(
        replica.replica_id,
        replica.replica_directory_id,
        replica.log_end_offset,
        None if fetched < 0 else fetched,
        None if caught_up < 0 else caught_up,
    )


def _api_name(number: int) -> str:
    """In Kafka's spelling, of its upper case."""
    try:
        name = ApiKey(number).name
    except ValueError:
        return str(number)
    return "".join(word.capitalize() for word in name.split("_"))
