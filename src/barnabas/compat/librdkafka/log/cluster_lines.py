"""What `debug` tells of brokers: their connections, the requests on these, metadata and telemetry.

Owns librdkafka's forms of these lines and which contexts they belong to, and the state that each connection
was in. The states are librdkafka's names for the stages of our connections; several connections may be to one
broker.
"""

# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker_errors import ErrorCode
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.log.client_log import MAIN, DebugLine
from barnabas.compat.librdkafka.log.failures import connect_failure
from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.protocol.api_key import ApiKey
from barnabas.steps import (
    AnswerReceived,
    MetadataReceived,
    MetadataRequested,
    RequestSent,
    RequestTimedOut,
    Stage,
    StageReached,
    Step,
    TelemetryPushed,
    TelemetrySubscribed,
    VersionsLearned,
)
from barnabas.types import Node

_STATES: dict[Stage, str] = {
    "connecting": "TRY_CONNECT",
    "connected": "CONNECT",
    "handshaking": "SSL_HANDSHAKE",
    "negotiating": "APIVERSION_QUERY",
    "authenticating": "AUTH_HANDSHAKE",
    "up": "UP",
    "closed": "DOWN",
}
NO_NODE = -1


def node_name(node_id: int) -> str:
    """How librdkafka ends the name of a broker."""
    return "bootstrap" if node_id < 0 else str(node_id)


class ClusterLines:
    """`protocol`: security.protocol. `mechanism`: sasl.mechanisms, empty where there is none."""

    def __init__(self, protocol: str, mechanism: str, *, has_local_topics: bool = True) -> None:
        self._protocol = protocol
        self._prefix = "" if protocol == "plaintext" else f"{protocol}://"
        self._mechanism = mechanism
        self._states: dict[int, tuple[str, float]] = {}
        self._connected = 0
        self._known_nodes: set[Node] = set()
        self._cluster_id = ""
        self._controller_id = NO_NODE
        self._leaders: dict[tuple[str, int], tuple[int, int]] = {}
        self._partition_counts: dict[str, int] = {}
        self._has_local_topics = has_local_topics
        self._local_topics: set[str] = set()

    def broker(self, node: Node) -> str:
        """A broker's name."""
        return f"{self._prefix}{node.host}:{node.port}/{node_name(node.node_id)}"

    def added(self, node: Node) -> Iterator[DebugLine]:
        """A broker, or a server of bootstrap.servers, that may be connected to from now on."""
        if node not in self._known_nodes:
            self._known_nodes.add(node)
            yield self._of(node, "broker", "BROKER", f"Added new broker with NodeId {node.node_id}", MAIN)

    def of(self, step: Step) -> Iterator[DebugLine]:
        match step:
            case StageReached():
                yield from self._stage(step)
            case VersionsLearned():
                yield from self._versions(step)
            case RequestSent():
                text = (
                    f"Sent {step.api}Request (v{step.version}, {step.size} bytes @ 0, CorrId "
                    f"{step.correlation_id})"
                )
                yield self._of(step.node, "protocol", "SEND", text)
            case AnswerReceived():
                text = (
                    f"Received {step.api}Response (v{step.version}, {step.size} bytes, CorrId "
                    f"{step.correlation_id}, rtt {step.latency_ms:.2f}ms)"
                )
                yield self._of(step.node, "protocol", "RECV", text)
            case RequestTimedOut():
                text = f"Timed out {step.api}Request in flight (after {step.timeout_ms:.0f}ms, timeout #0)"
                yield self._of(step.node, "broker protocol", "REQTMOUT", text)
            case MetadataRequested():
                yield from self._metadata_requested(step)
            case MetadataReceived():
                yield from self._metadata(step)
            case TelemetrySubscribed():
                text = (
                    "Handled GetTelemetrySubscriptions, scheduling FSM after "
                    f"{step.push_interval_seconds * 1e6:.0f} microseconds, state = GetSubscriptionsSent, "
                    f"err = Success, metrics = {len(step.requested)}"
                )
                yield DebugLine("telemetry", "GETSUBSCRIPTIONS", MAIN, text)
            case TelemetryPushed():
                terminating = str(step.is_last).lower()
                text = f"Sent PushTelemetryRequest with {step.size} bytes, terminating = {terminating}"
                yield DebugLine("telemetry", "PUSH", MAIN, text)
                done = "succeeded" if not step.error_code else f"failed: {KafkaError(step.error_code).str()}"
                yield DebugLine("telemetry", "PUSH", MAIN, f"PushTelemetryRequest {done}")
            case _:
                pass

    def _of(
        self, node: Node, contexts: str, facility: str, text: str, thread: str | None = None
    ) -> DebugLine:
        broker = self.broker(node)
        return DebugLine(contexts, facility, broker if thread is None else thread, f"{broker}: {text}")

    # Connections

    def _stage(self, step: StageReached) -> Iterator[DebugLine]:
        node, now = step.node, CLOCK.monotonic()
        before, since = self._states.get(step.connection, ("INIT", now))
        state = _STATES[step.stage]
        self._states[step.connection] = state, now
        if step.stage == "connecting":
            yield from self.added(node)
        if step.stage == "closed":
            del self._states[step.connection]
            yield self._ended(step, before, round((now - since) * 1000))
        if state != before:
            yield self._of(node, "broker", "STATE", f"Broker changed state {before} -> {state}")
        if step.stage == "connecting":
            text = f"Connecting to {node.host}:{node.port} ({self._protocol}) by connection {step.connection}"
            yield self._of(node, "broker", "CONNECT", "broker in state TRY_CONNECT connecting")
            yield self._of(node, "broker", "CONNECT", text)
        elif step.stage == "connected":
            self._connected += 1
            family = "ipv6" if step.address.startswith("[") else "ipv4"
            yield self._of(node, "broker", "CONNECT", f"Connected to {family}#{step.address}")
            yield self._of(node, "broker protocol", "CONNECTED", f"Connected (#{self._connected})")
        elif step.stage == "authenticating":
            text = "Auth in state AUTH_HANDSHAKE (handshake supported)"
            yield self._of(node, "broker security", "AUTH", text)
            text = f"Initializing SASL client: hostname {node.host}, mechanisms {self._mechanism}"
            yield self._of(node, "security", "SASL", text)
        elif before == "AUTH_HANDSHAKE" and step.stage == "up":
            facility = "SCRAMAUTH" if self._mechanism.startswith("SCRAM") else "SASL"
            text = f"Authenticated using {self._mechanism}"
            yield self._of(node, "broker security", facility, text)

    def _ended(self, step: StageReached, state: str, age_ms: int) -> DebugLine:
        node, when = step.node, f" (after {age_ms}ms in state {state})"
        if step.error is None:
            code, text = KafkaError._DESTROY, f"Connection closed by this client{when}"
        elif state == "TRY_CONNECT":
            code, text = connect_failure(node.host, node.port, step.error)
        else:
            code, text = kafka_error_of(step.error).code(), f"{step.error}{when}"
        return self._of(node, "broker", "FAIL", f"{text} ({KafkaError(code).name()})")

    def _versions(self, step: VersionsLearned) -> Iterator[DebugLine]:
        yield self._of(step.node, "feature", "APIVERSION", "Broker API support:")
        for key, (low, high) in step.versions.items():
            name = _API_NAMES.get(key, f"Unknown-{key}?")
            text = f"  ApiKey {name} ({key}) Versions {low}..{high}"
            yield self._of(step.node, "feature", "APIVERSION", text)

    # Metadata

    def _metadata_requested(self, step: MetadataRequested) -> Iterator[DebugLine]:
        for topic in step.topics or ():
            if self._has_local_topics and topic not in self._local_topics:
                self._local_topics.add(topic)
                yield DebugLine("topic", "TOPIC", MAIN, f"New local topic: {topic}")
        if step.topics is None:
            what = "all topics"
        elif step.topics:
            what = f"{len(step.topics)} topic(s)"
        else:
            what = "brokers only"
        yield DebugLine("metadata", "METADATA", MAIN, f"Request metadata for {what}")

    def _metadata(self, step: MetadataReceived) -> Iterator[DebugLine]:
        def line(text: str) -> DebugLine:
            return DebugLine("metadata", "METADATA", MAIN, text)

        yield line(f"===== Received metadata (for {len(step.topics)} requested topics) =====")
        yield line(f"ClusterId: {step.cluster_id}, ControllerId: {step.controller_id}")
        yield line(f"{len(step.nodes)} brokers, {len(step.topics)} topics")
        for index, node in enumerate(step.nodes):
            yield line(f"  Broker #{index}/{len(step.nodes)}: {node.host}:{node.port} NodeId {node.node_id}")
        for node in step.nodes:
            yield from self.added(node)
        if step.cluster_id and step.cluster_id != self._cluster_id:
            text = f'ClusterId update "{self._cluster_id}" -> "{step.cluster_id}"'
            self._cluster_id = step.cluster_id
            yield DebugLine("broker generic", "CLUSTERID", MAIN, text)
        if step.controller_id != self._controller_id:
            text = f"ControllerId update {self._controller_id} -> {step.controller_id}"
            self._controller_id = step.controller_id
            yield DebugLine("broker", "CONTROLLERID", MAIN, text)
        for topic, partitions in step.topics.items():
            error = step.topic_errors.get(topic, 0)
            said = f": {KafkaError(error).str()}" if error else ""
            yield line(f"  Topic {topic} with {len(partitions)} partitions{said}")
            yield from self._topic(topic, partitions, error)

    def _topic(
        self, topic: str, partitions: tuple[tuple[int, int, int], ...], error: int
    ) -> Iterator[DebugLine]:
        before = self._partition_counts.get(topic)
        count = len(partitions)
        if error in (0, ErrorCode.LEADER_NOT_AVAILABLE) and before != count:
            self._partition_counts[topic] = count
            if before is None:
                yield DebugLine("topic", "STATE", MAIN, f"Topic {topic} changed state unknown -> exists")
            text = f"Topic {topic} partition count changed from {before or 0} to {count}"
            yield DebugLine("topic", "PARTCNT", MAIN, text)
        for number, leader, epoch in sorted(partitions):
            text = f"Topic {topic} [{number}] Leader {leader} Epoch {epoch}"
            yield DebugLine("metadata topic", "METADATA", MAIN, text)
            previous = self._leaders.get((topic, number), (NO_NODE, -1))
            if previous != (leader, epoch):
                self._leaders[topic, number] = leader, epoch
                was, now = (f"leader {node} epoch {of}" for node, of in (previous, (leader, epoch)))
                text = f"{topic} [{number}]: {was} -> {now}"
                yield DebugLine("topic", "BROKER", MAIN, text)


_API_NAMES = {
    key.value: "".join(part.capitalize() for part in key.name.split("_")).replace("ApiVersions", "ApiVersion")
    for key in ApiKey
}
"""As librdkafka writes them."""
