"""The JSON of librdkafka's statistics, out of figures.

The names, units and nesting are those of librdkafka's STATISTICS.md; times are in microseconds or
milliseconds as they are there. Figures about librdkafka's own workings, which have no like here,
are 0. Knows no clients.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.config.client_settings import NOWHERE
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.stats import (
    BrokerStats,
    ClientStats,
    ConsumerPartitionStats,
    ConsumerStats,
    ProducerPartitionStats,
    ProducerStats,
    WindowStats,
)
from barnabas.types import TopicPartition
from barnabas.values import frozen
from barnabas.windows import RollingWindow, no_samples

_STATES = {"init": "INIT", "connecting": "CONNECT", "up": "UP", "down": "DOWN"}
_COMMON_REQUESTS = ("Metadata", "FindCoordinator", "SaslHandshake", "ApiVersion", "SaslAuthenticate")
_TELEMETRY_REQUESTS = ("GetTelemetrySubscriptions", "PushTelemetry")
_PRODUCER_REQUESTS = (
    "Produce",
    "ListOffsets",
    *_COMMON_REQUESTS,
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "TxnOffsetCommit",
    *_TELEMETRY_REQUESTS,
)
_CONSUMER_REQUESTS = (
    "Fetch",
    "ListOffsets",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "ConsumerGroupHeartbeat",
    *_COMMON_REQUESTS,
    *_TELEMETRY_REQUESTS,
)
_SHARE_REQUESTS = (
    *_COMMON_REQUESTS,
    "ShareGroupHeartbeat",
    "ShareFetch",
    "ShareAcknowledge",
    *_TELEMETRY_REQUESTS,
)
Json = dict[str, Any]


@frozen
class Gauges:
    """What only the facade's client knows of itself."""

    name: str
    replies: int
    """Events that wait to be served."""
    messages: int = 0
    message_bytes: int = 0
    max_messages: int = 0
    max_message_bytes: int = 0


@frozen
class PartitionOffsets:
    """What a consumer has stored and committed of a partition."""

    stored: int = OFFSET_INVALID
    stored_leader_epoch: int = -1
    committed: int = OFFSET_INVALID
    committed_leader_epoch: int = -1


@frozen
class GroupFigures:
    """What a consumer's group has come to. Times in milliseconds."""

    state_age_ms: int = 0
    rebalance_age_ms: int = 0
    rebalance_reason: str = ""
    is_steady: bool = True


@frozen
class BatchWindows:
    """What was delivered to a topic lately: bytes and messages of its batches."""

    sizes: Json
    counts: Json


def _share_partition(number: int, leader: int, messages: int, size: int) -> Json:
    return {
        **_partition(number, leader),
        "desired": True,
        "rxmsgs": messages,
        "rxbytes": size,
        "msgs": messages,
    }


def _messages(*, sent: int = 0, sent_bytes: int = 0, received: int = 0, received_bytes: int = 0) -> Json:
    return {
        "txmsgs": sent,
        "txmsg_bytes": sent_bytes,
        "rxmsgs": received,
        "rxmsg_bytes": received_bytes,
    }


def producer_statistics(stats: ProducerStats, gauges: Gauges, batches: Mapping[str, BatchWindows]) -> Json:
    """The statistics of a producer with these figures. `batches`: what was delivered to each topic since the
    statistics before."""
    leaders = {partition: figures.leader for partition, figures in stats.partitions.items()}
    brokers = _brokers(stats.client, _PRODUCER_REQUESTS, leaders)
    for broker in brokers.values():
        broker["int_latency"] = _window(stats.queue_time_ms, 1000)
    topics = _topics(stats.client, stats.partitions)
    for topic, entry in topics.items():
        figures = {p.partition: f for p, f in stats.partitions.items() if p.topic == topic}
        if topic in batches:
            entry["batchsize"], entry["batchcnt"] = batches[topic].sizes, batches[topic].counts
        entry["partitions"] = {str(n): _producer_partition(n, f) for n, f in figures.items()}
        entry["partitions"]["-1"] = _partition(-1, -1)
    return {
        **_head("producer", stats.client, gauges),
        "brokers": brokers,
        "topics": topics,
        **_traffic(stats.client),
        **_messages(sent=stats.records_delivered, sent_bytes=stats.bytes_delivered),
    }


def consumer_statistics(
    stats: ConsumerStats,
    gauges: Gauges,
    offsets: Mapping[TopicPartition, PartitionOffsets],
    group: GroupFigures | None,
) -> Json:
    """The statistics of a consumer with these figures; `group` None where it has none."""
    leaders = {partition: figures.leader for partition, figures in stats.partitions.items()}
    topics = _topics(stats.client, stats.partitions)
    for topic, entry in topics.items():
        partitions: Json = {}
        for partition, figures in stats.partitions.items():
            if partition.topic == topic:
                known = offsets.get(partition, PartitionOffsets())
                partitions[str(partition.partition)] = _consumer_partition(
                    partition.partition, figures, known
                )
        partitions["-1"] = _partition(-1, -1)
        entry["partitions"] = partitions
    statistics = {
        **_head("consumer", stats.client, gauges),
        "brokers": _brokers(stats.client, _CONSUMER_REQUESTS, leaders),
        "topics": topics,
    }
    if group is not None:
        statistics["cgrp"] = _group(group, stats.rebalances, len(stats.partitions))
    return {
        **statistics,
        **_traffic(stats.client),
        **_messages(
            received=sum(figures.returned_records for figures in stats.partitions.values()),
            received_bytes=sum(figures.fetched_bytes for figures in stats.partitions.values()),
        ),
    }


def admin_statistics(stats: ClientStats, gauges: Gauges) -> Json:
    """The statistics of a producer that produces nothing."""
    return {
        **_head("producer", stats, gauges),
        "brokers": _brokers(stats, _PRODUCER_REQUESTS, {}),
        "topics": {},
        **_traffic(stats),
        **_messages(),
    }


def share_statistics(
    stats: ClientStats,
    gauges: Gauges,
    leaders: Mapping[TopicPartition, int],
    received: Mapping[TopicPartition, Sequence[int]],
    group: GroupFigures,
    rebalances: int,
) -> Json:
    """The statistics of a share consumer. `leaders`: of the partitions that it is assigned; `received`: how
    many messages and bytes of each polls gave."""
    topics = _topics(stats, leaders)
    for topic, entry in topics.items():
        entry["partitions"] = {
            str(partition.partition): _share_partition(
                partition.partition, leader, *received.get(partition, (0, 0))
            )
            for partition, leader in leaders.items()
            if partition.topic == topic
        }
    return {
        **_head("consumer", stats, gauges),
        "brokers": _brokers(stats, _SHARE_REQUESTS, leaders),
        "topics": topics,
        "cgrp": _group(group, rebalances, len(leaders)),
        **_traffic(stats),
        **_messages(
            received=sum(messages for messages, _ in received.values()),
            received_bytes=sum(size for _, size in received.values()),
        ),
    }


def _group(figures: GroupFigures, rebalances: int, assignment_size: int) -> Json:
    return {
        "state": "up",
        "stateage": figures.state_age_ms,
        "join_state": "steady" if figures.is_steady else "wait-join",
        "rebalance_age": figures.rebalance_age_ms,
        "rebalance_cnt": rebalances,
        "rebalance_reason": figures.rebalance_reason,
        "assignment_size": assignment_size,
    }


def _head(kind: str, client: ClientStats, gauges: Gauges) -> Json:
    return {
        "name": gauges.name,
        "client_id": client.client_id,
        "type": kind,
        "ts": _microseconds(CLOCK.monotonic()),
        "time": int(time.time()),
        "age": _microseconds(client.age_seconds),
        "replyq": gauges.replies,
        "msg_cnt": gauges.messages,
        "msg_size": gauges.message_bytes,
        "msg_max": gauges.max_messages,
        "msg_size_max": gauges.max_message_bytes,
        "simple_cnt": 0,
        "metadata_cache_cnt": 0 if client.metadata_age_seconds is None else 1,
    }


def _traffic(client: ClientStats) -> Json:
    return {
        "tx": sum(broker.requests for broker in client.brokers),
        "tx_bytes": sum(broker.bytes_sent for broker in client.brokers),
        "rx": sum(broker.responses for broker in client.brokers),
        "rx_bytes": sum(broker.bytes_received for broker in client.brokers),
    }


def _brokers(
    client: ClientStats, requests: Iterable[str], leaders: Mapping[TopicPartition, int]
) -> dict[str, Json]:
    return {
        f"{broker.host}:{broker.port}/{_node_name(broker.node_id)}": _broker(broker, requests, leaders)
        for broker in client.brokers
        if f"{broker.host}:{broker.port}" != NOWHERE
    }


def _broker(broker: BrokerStats, requests: Iterable[str], leaders: Mapping[TopicPartition, int]) -> Json:
    address = f"{broker.host}:{broker.port}"
    sent = {_request_name(name): count for name, count in broker.requests_by_api.items()}
    led = [partition for partition, leader in leaders.items() if leader == broker.node_id >= 0]
    return {
        "name": f"{address}/{_node_name(broker.node_id)}",
        "nodeid": broker.node_id,
        "nodename": address,
        "source": "configured" if broker.node_id < 0 else "learned",
        "state": _STATES[broker.state],
        "stateage": _microseconds(broker.state_age_seconds),
        "outbuf_cnt": broker.requests_waiting,
        "outbuf_msg_cnt": 0,
        "waitresp_cnt": broker.requests_in_flight,
        "waitresp_msg_cnt": 0,
        "tx": broker.requests,
        "txbytes": broker.bytes_sent,
        "txerrs": broker.request_errors - broker.request_timeouts,
        "txretries": 0,
        "txidle": -1,
        "req_timeouts": broker.request_timeouts,
        "rx": broker.responses,
        "rxbytes": broker.bytes_received,
        "rxerrs": 0,
        "rxcorriderrs": 0,
        "rxpartial": 0,
        "rxidle": -1,
        "zbuf_grow": 0,
        "buf_grow": 0,
        "wakeups": 0,
        "connects": broker.connects + broker.connect_failures,
        "disconnects": broker.disconnects,
        "int_latency": _NO_WINDOW,
        "outbuf_latency": _NO_WINDOW,
        "rtt": _window(broker.latency_ms, 1000),
        "throttle": _window(broker.throttle_time_ms, 1),
        "req": {**dict.fromkeys(requests, 0), **sent},
        "toppars": {f"{p.topic}-{p.partition}": {"topic": p.topic, "partition": p.partition} for p in led},
    }


def _topics(client: ClientStats, partitions: Iterable[TopicPartition]) -> dict[str, Json]:
    age_ms = int(client.age_seconds * 1000)
    metadata_age = client.metadata_age_seconds
    return {
        topic: {
            "topic": topic,
            "age": age_ms,
            "metadata_age": 0 if metadata_age is None else int(metadata_age * 1000),
            "batchsize": _NO_WINDOW,
            "batchcnt": _NO_WINDOW,
            "partitions": {},
        }
        for topic in sorted({partition.topic for partition in partitions})
    }


def _partition(number: int, leader: int) -> Json:
    """A partition of which nothing is known."""
    return {
        "partition": number,
        "broker": leader,
        "leader": leader,
        "desired": False,
        "unknown": False,
        "msgq_cnt": 0,
        "msgq_bytes": 0,
        "xmit_msgq_cnt": 0,
        "xmit_msgq_bytes": 0,
        "fetchq_cnt": 0,
        "fetchq_size": 0,
        "fetch_state": "none",
        "query_offset": OFFSET_INVALID,
        "next_offset": 0,
        "app_offset": OFFSET_INVALID,
        "stored_offset": OFFSET_INVALID,
        "stored_leader_epoch": -1,
        "commited_offset": OFFSET_INVALID,
        "committed_offset": OFFSET_INVALID,
        "committed_leader_epoch": -1,
        "eof_offset": OFFSET_INVALID,
        "lo_offset": OFFSET_INVALID,
        "hi_offset": OFFSET_INVALID,
        "ls_offset": OFFSET_INVALID,
        "consumer_lag": -1,
        "consumer_lag_stored": -1,
        "leader_epoch": -1,
        "txmsgs": 0,
        "txbytes": 0,
        "rxmsgs": 0,
        "rxbytes": 0,
        "msgs": 0,
        "rx_ver_drops": 0,
        "msgs_inflight": 0,
        "next_ack_seq": 0,
        "next_err_seq": 0,
        "acked_msgid": 0,
    }


def _producer_partition(number: int, figures: ProducerPartitionStats) -> Json:
    taken = figures.records_queued + figures.records_in_flight + figures.records_delivered
    return {
        **_partition(number, figures.leader),
        "xmit_msgq_cnt": figures.records_queued,
        "xmit_msgq_bytes": figures.bytes_queued,
        "txmsgs": figures.records_delivered,
        "txbytes": figures.bytes_delivered,
        "msgs": taken + figures.records_failed,
        "msgs_inflight": figures.records_in_flight,
    }


def _consumer_partition(number: int, figures: ConsumerPartitionStats, offsets: PartitionOffsets) -> Json:
    end = figures.last_stable_offset if figures.last_stable_offset >= 0 else figures.high_watermark
    return {
        **_partition(number, figures.leader),
        "broker": figures.preferred_read_replica if figures.preferred_read_replica >= 0 else figures.leader,
        "desired": True,
        "fetchq_size": figures.queued_bytes,
        "fetch_state": "active",
        "next_offset": max(figures.fetch_offset, 0),
        "app_offset": _offset(figures.position),
        "stored_offset": offsets.stored,
        "stored_leader_epoch": offsets.stored_leader_epoch,
        "commited_offset": offsets.committed,
        "committed_offset": offsets.committed,
        "committed_leader_epoch": offsets.committed_leader_epoch,
        "eof_offset": end if figures.position >= end >= 0 else OFFSET_INVALID,
        "hi_offset": _offset(figures.high_watermark),
        "ls_offset": _offset(figures.last_stable_offset),
        "consumer_lag": _lag(end, offsets.committed if offsets.committed >= 0 else figures.position),
        "consumer_lag_stored": _lag(end, offsets.stored),
        "rxmsgs": figures.returned_records,
        "rxbytes": figures.fetched_bytes,
        "msgs": figures.returned_records,
    }


def _offset(offset: int) -> int:
    return offset if offset >= 0 else OFFSET_INVALID


def _lag(end: int, offset: int) -> int:
    return max(end - offset, 0) if end >= 0 and offset >= 0 else -1


def _window(stats: WindowStats, factor: float) -> Json:
    return {
        "min": int(stats.min * factor),
        "max": int(stats.max * factor),
        "avg": int(stats.avg * factor),
        "sum": int(stats.sum * factor),
        "stddev": int(stats.stddev * factor),
        "p50": int(stats.p50 * factor),
        "p75": int(stats.p75 * factor),
        "p90": int(stats.p90 * factor),
        "p95": int(stats.p95 * factor),
        "p99": int(stats.p99 * factor),
        "p99_99": int(stats.p99_99 * factor),
        "outofrange": 0,
        "hdrsize": 0,
        "cnt": stats.count,
    }


_NO_WINDOW = _window(no_samples(), 1)


def counted(window: RollingWindow, count: int, total: int) -> Json:
    """Of the latest `count` samples, `total` together: of very many the window has only the last."""
    shown = _window(window.latest(count), 1)
    return {**shown, "sum": total, "cnt": count, "avg": total // count if count else 0}


def _node_name(node_id: int) -> str:
    return "bootstrap" if node_id < 0 else str(node_id)


def _request_name(name: str) -> str:
    return "ApiVersion" if name == "ApiVersions" else name


def _microseconds(seconds: float) -> int:
    return int(seconds * 1_000_000)
