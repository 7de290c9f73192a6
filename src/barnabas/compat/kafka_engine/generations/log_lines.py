"""What is logged at WARNING and ERROR of what happens to a client, by the name of the core's event.

A line is a logger, a level and a text; those under "... of a node" are left out for servers of
bootstrap_servers, those under "... of a server" for all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

LogLines: TypeAlias = Mapping[str, tuple[tuple[str, str, str], ...]]

_NODE_FAILED = ("kafka.client", "WARNING", "Node {node} connection failed -- refreshing metadata")
_TASK_FAILED = ("kafka.client", "ERROR", "Task {what} failed: {error}")
_COMMIT_FAILED = (
    "kafka.coordinator.consumer",
    "WARNING",
    "Auto offset commit failed for group {group_id}: {error}",
)
_POLLED_LATE = (
    "kafka.coordinator.heartbeat",
    "WARNING",
    "Consumer poll timeout has expired. There were {exceeded_by_ms} ms more than the configured "
    "max_poll_interval_ms ({max_poll_interval_ms}) between calls of poll(): the consumer leaves {group_id}.",
)
_OF_1 = "<BrokerConnection host={host}/{host} port={port}>"
_OF_2 = "<BrokerConnection client_id={client_id}, node_id={node} host={host}:{port} <{state}>>"
_OF_3 = "<KafkaConnection node_id={node} (disconnected)>"

LOG_LINES_OF_1: LogLines = {
    "ConnectFailed": (
        ("kafka.conn", "ERROR", f"Connect attempt to {_OF_1} returned error {{errno}}. Disconnecting."),
    ),
    "ConnectFailed of a node": (_NODE_FAILED,),
    "BrokerDisconnected": (("kafka.conn", "ERROR", f"{_OF_1}: socket disconnected"),),
    "BrokerDisconnected of a node": (_NODE_FAILED,),
    "AuthenticationFailed": (("kafka.conn", "ERROR", f"{_OF_1}: {{error}}"),),
    "AllBrokersDown": (
        ("kafka.client", "ERROR", "No nodes found in metadata -- retrying bootstrap: {error}"),
    ),
    "OffsetsCommitted": (_COMMIT_FAILED,),
    "PollIntervalExceeded": (_POLLED_LATE,),
    "Fault": (_TASK_FAILED,),
}
LOG_LINES_OF_2: LogLines = {
    **LOG_LINES_OF_1,
    "ConnectFailed": (
        ("kafka.conn", "ERROR", f"{_OF_2}: Connect attempt returned error {{errno}}. Disconnecting."),
    ),
    "BrokerDisconnected": (
        ("kafka.conn", "ERROR", f"{_OF_2}: socket disconnected"),
        ("kafka.conn", "ERROR", f"{_OF_2}: Closing connection. KafkaConnectionError: socket disconnected"),
    ),
    "AuthenticationFailed": (("kafka.conn", "ERROR", f"{_OF_2}: Closing connection. {{error}}"),),
    "AllBrokersDown": (("kafka.client", "ERROR", "No node is available: {error}"),),
}
LOG_LINES_OF_3: LogLines = {
    "ConnectFailed": (
        ("kafka.net.manager", "ERROR", "Connection failed: {error}"),
        ("kafka.net.connection", "ERROR", f"{_OF_3}: Connection lost: {{error}}"),
    ),
    "ConnectFailed of a server": (
        ("kafka.net.manager", "WARNING", "Bootstrap connection to {node} failed: {error}"),
    ),
    "BrokerDisconnected": (
        ("kafka.net.transport", "ERROR", "<KafkaTCPTransport [{host}:{port}]>: socket disconnected"),
        (
            "kafka.net.connection",
            "ERROR",
            f"{_OF_3}: Connection lost: KafkaConnectionError: socket disconnected",
        ),
    ),
    "AuthenticationFailed": (("kafka.net.connection", "ERROR", f"{_OF_3}: Connection lost: {{error}}"),),
    "AllBrokersDown": (
        ("kafka.cluster", "ERROR", "Metadata refresh: failed {error}"),
        ("kafka.cluster", "WARNING", "No node available for metadata refresh - backoff/retry"),
    ),
    "OffsetsCommitted": (_COMMIT_FAILED,),
    "PollIntervalExceeded": (_POLLED_LATE,),
    "Fault": (("kafka.net.selector", "ERROR", "Task {what} failed: {error}"),),
}
