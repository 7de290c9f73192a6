from __future__ import annotations

import pytest

from barnabas.broker.faults.errors_told import first_error
from barnabas.net.server import CutShort
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.heartbeat import HeartbeatResponse
from barnabas.protocol.messages.produce import ProduceResponse


def produced(*codes: int) -> ProduceResponse:
    """An answer of one topic, whose partitions have these errors."""
    partitions = [
        ProduceResponse.PartitionProduceResponse(index=index, error_code=code, base_offset=0)
        for index, code in enumerate(codes)
    ]
    return ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name="flights", partition_responses=partitions)]
    )


@pytest.mark.parametrize(
    ("answered", "name"),
    [
        (None, None),
        (HeartbeatResponse(error_code=0), None),
        (HeartbeatResponse(error_code=27), "REBALANCE_IN_PROGRESS"),
        (HeartbeatResponse(error_code=-1), "UNKNOWN_SERVER_ERROR"),
        (HeartbeatResponse(error_code=9_999), "error 9999"),
        (FetchResponse(throttle_time_ms=7, responses=[]), None),
        (produced(), None),
        (produced(0, 0), None),
        (produced(0, 6, 3), "NOT_LEADER_OR_FOLLOWER"),
        (CutShort(produced(6), 3), "NOT_LEADER_OR_FOLLOWER"),
    ],
)
def test_the_first_error_of_an_answer_is_found_wherever_it_stands(
    answered: HeartbeatResponse | FetchResponse | ProduceResponse | CutShort | None, name: str | None
) -> None:
    assert first_error(answered) == name
