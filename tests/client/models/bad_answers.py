"""Random faults of answers. An answer comes late, is lost or cut off, or is an error that a client retries
after, although the broker may have done what was asked."""

from __future__ import annotations

import random
from typing import Any

from barnabas.broker.faults.rules import FaultRule, error_code

COORDINATOR_ERRORS = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
ERRORS: dict[str, tuple[str, ...]] = {
    "Produce": (
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "REQUEST_TIMED_OUT",
    ),
    "Fetch": (
        "NOT_LEADER_OR_FOLLOWER",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "FETCH_SESSION_ID_NOT_FOUND",
    ),
    "ListOffsets": ("NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"),
    "Metadata": ("LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",),
    "JoinGroup": COORDINATOR_ERRORS,
    "SyncGroup": (*COORDINATOR_ERRORS, "REBALANCE_IN_PROGRESS"),
    "Heartbeat": (*COORDINATOR_ERRORS, "REBALANCE_IN_PROGRESS"),
    "LeaveGroup": COORDINATOR_ERRORS,
    "ConsumerGroupHeartbeat": COORDINATOR_ERRORS,
    "OffsetCommit": COORDINATOR_ERRORS,
    "OffsetFetch": COORDINATOR_ERRORS,
    "InitProducerId": (*COORDINATOR_ERRORS, "CONCURRENT_TRANSACTIONS"),
    "AddPartitionsToTxn": (*COORDINATOR_ERRORS, "CONCURRENT_TRANSACTIONS"),
    "TxnOffsetCommit": COORDINATOR_ERRORS,
    "EndTxn": (*COORDINATOR_ERRORS, "CONCURRENT_TRANSACTIONS"),
}


def bad_answer(chance: random.Random) -> FaultRule:
    api = chance.choice([*ERRORS])
    stage = chance.choice(("before", "after"))
    which: dict[str, Any] = {"apis": (api,), "times": chance.choice((1, 1, 3, 10)), "stage": stage}
    effect = chance.choice(("error", "error", "delay", "disconnect", "black_hole", "cut"))
    if effect == "error":
        return FaultRule(effect="error", error=error_code(chance.choice(ERRORS[api])), **which)
    if effect == "delay":
        return FaultRule(effect="delay", delay_ms=chance.choice((10, 500, 20_000)), **which)
    if effect == "cut":
        which["stage"] = "before"
        return FaultRule(effect="cut", cut_after_bytes=chance.choice((0, 3, 8, 20)), **which)
    return FaultRule(effect=effect, **which)
