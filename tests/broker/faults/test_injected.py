"""Faults in the process of the broker, on the test's event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.broker.conftest import batch_of, values
from tests.broker.in_process import Client, fetch_request, produce_request, run

from barnabas.broker.faults.injector import HookedRequest
from barnabas.broker_errors import ErrorCode
from barnabas.errors import KafkaConnectionError
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.produce import ProduceRequest

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_the_next_requests_of_an_api_fail_and_those_behind_do_not(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights")
        fault = client.broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
        codes = [
            (await client.produce("flights", batch_of(values(text)))).error_code for text in ("a", "b", "c")
        ]
        assert codes == [NOT_LEADER, NOT_LEADER, 0]
        assert fault.hits == 2
        assert [each.api for each in client.broker.faults.requests("Produce")] == ["Produce"] * 3
        answer = await client.fetch("flights", 0)
        assert answer.high_watermark == 1, "what failed was not written"

    run(tmp_path, scenario)


def test_a_fault_after_the_deed_leaves_it_done(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights")
        client.broker.faults.error("Produce", "REQUEST_TIMED_OUT", times=1, stage="after")
        answer = await client.produce("flights", batch_of(values("a")))
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert (await client.fetch("flights", 0)).high_watermark == 1

    run(tmp_path, scenario)


def test_only_the_partition_that_is_meant_fails_and_the_others_are_written(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights", 2)
        client.broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="flights", partition=1)
        request = produce_request("flights", batch_of(values("a")))
        request.topic_data[0].partition_data.append(
            ProduceRequest.PartitionProduceData(index=1, records=batch_of(values("b")))
        )
        response = await client.send(request, version=12)
        codes = {each.index: each.error_code for each in response.responses[0].partition_responses}
        assert codes == {0: 0, 1: NOT_LEADER}
        assert (await client.fetch("flights", 0)).high_watermark == 1
        assert (await client.fetch("flights", 0, partition=1)).high_watermark == 0

    run(tmp_path, scenario)


def test_a_fetch_session_is_about_what_was_named_before(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        created = await client.create_topic("flights", 2)
        faults = client.broker.faults
        request = fetch_request("flights", 0)
        request.session_epoch = 0
        request.topics = [
            FetchRequest.FetchTopic(
                topic_id=created.topic_id,
                partitions=[
                    FetchRequest.FetchPartition(partition=index, partition_max_bytes=1 << 20)
                    for index in (0, 1)
                ],
            )
        ]
        first = await client.send(request)
        assert first.session_id
        fault = faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic="flights", partition=1, times=1)
        next_fetch = FetchRequest(
            max_wait_ms=30_000,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=first.session_id,
            session_epoch=1,
        )
        answer = await client.send(next_fetch)
        assert [(each.partition_index, each.error_code) for each in answer.responses[0].partitions] == [
            (1, NOT_LEADER)
        ]
        assert answer.responses[0].topic_id == created.topic_id
        assert fault.requests[0].partitions == {"flights": (0, 1)}

    run(tmp_path, scenario)


def test_a_barrier_holds_a_request_until_it_is_released(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights")
        other = await client.another()
        barrier = client.broker.faults.hold("Produce", after=1, times=1)
        await client.produce("flights", batch_of(values("a")))
        held = client.start(produce_request("flights", batch_of(values("b"))), version=12)
        await barrier.wait()
        assert (await other.fetch("flights", 0)).high_watermark == 1
        assert not held.done()
        barrier.release()
        assert (await held).responses[0].partition_responses[0].base_offset == 1
        other.connection.close()

    run(tmp_path, scenario)


def test_steps_of_a_script_come_one_after_the_other(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        faults = client.broker.faults
        last = None
        for error in ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"):
            last = faults.error("Heartbeat", error, times=1, follows=last and last.rule_id)
        request = HeartbeatRequest(group_id="g", member_id="m")
        codes = [ErrorCode((await client.send(request)).error_code).name for _ in range(4)]
        assert codes == [
            "COORDINATOR_NOT_AVAILABLE",
            "NOT_COORDINATOR",
            "COORDINATOR_LOAD_IN_PROGRESS",
            "UNKNOWN_MEMBER_ID",
        ]

    run(tmp_path, scenario)


@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_connection_ends_at_a_request(tmp_path: Path, stage: str) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights")
        client.broker.faults.disconnect("Produce", times=1, stage=stage)
        with pytest.raises(KafkaConnectionError):
            await client.produce("flights", batch_of(values("a")))
        again = await client.another()
        expected = {"before": 0, "after": 1}[stage]
        assert (await again.fetch("flights", 0)).high_watermark == expected
        again.connection.close()

    run(tmp_path, scenario)


def test_an_answer_is_cut_and_a_black_hole_answers_nothing(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        faults = client.broker.faults
        faults.cut("Metadata", 7, times=1)
        reader, writer = await asyncio.open_connection("127.0.0.1", client.broker.port)
        frame = bytes.fromhex("00030000000000010004") + b"test" + bytes(4)
        writer.write(len(frame).to_bytes(4, "big") + frame)
        assert len(await reader.read()) == 7
        writer.close()
        hole = faults.black_hole("Metadata", times=1)
        lost = client.start(MetadataRequest())
        await hole.wait()
        assert not lost.done()
        hole.remove()
        with pytest.raises(KafkaConnectionError):
            await lost

    run(tmp_path, scenario)


def test_batches_are_corrupted_on_their_way(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights")
        client.broker.faults.corrupt("Produce", times=1)
        batch = batch_of(values("a"))
        assert (await client.produce("flights", batch)).error_code == ErrorCode.CORRUPT_MESSAGE
        await client.produce("flights", batch)
        client.broker.faults.corrupt("Fetch", times=1)
        spoiled, whole = [(await client.fetch("flights", 0)).records for _ in range(2)]
        assert len(spoiled) == len(whole)
        assert sum(one != other for one, other in zip(spoiled, whole, strict=True)) == 1

    run(tmp_path, scenario)


def test_metadata_goes_back_to_what_it_said_first(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("flights")
        client.broker.faults.stale_metadata(after=2, times=1)

        async def topics() -> list[str | None]:
            topic = MetadataRequest.MetadataRequestTopic(name="new")
            answer = await client.send(MetadataRequest(topics=[topic], allow_auto_topic_creation=False))
            return [ErrorCode(each.error_code).name for each in answer.topics]

        said = [await topics()]
        await client.create_topic("new")
        said += [await topics() for _ in range(3)]
        unknown = ["UNKNOWN_TOPIC_OR_PARTITION"]
        assert said == [unknown, ["NONE"], unknown, ["NONE"]]

    run(tmp_path, scenario)


def test_a_function_sees_requests_and_may_answer_them(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        seen: list[str] = []

        def hook(hooked: HookedRequest) -> HeartbeatResponse | None:
            seen.append(hooked.seen.api)
            if isinstance(hooked.request, HeartbeatRequest):
                return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
            return None

        client.broker.faults.hook(hook)
        answer = await client.send(HeartbeatRequest(group_id="g", member_id="m"))
        assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
        found = await client.send(FindCoordinatorRequest(coordinator_keys=["g"]))
        assert found.coordinators[0].error_code == 0
        assert seen == ["Heartbeat", "FindCoordinator"]

    run(tmp_path, scenario)


def test_chance_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        faults = client.broker.faults

        async def codes(seed: int) -> list[int]:
            faults.clear(seed)
            faults.error("Heartbeat", "NOT_COORDINATOR", probability=0.5)
            request = HeartbeatRequest(group_id="g", member_id="m")
            return [(await client.send(request)).error_code for _ in range(40)]

        first = await codes(1)
        assert first == await codes(1)
        assert first != await codes(2)
        assert len(set(first)) == 2

    run(tmp_path, scenario)


def test_throttling_is_told(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.broker.faults.throttle(None, 123)
        assert (await client.send(MetadataRequest())).throttle_time_ms == 123

    run(tmp_path, scenario)
