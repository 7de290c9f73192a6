"""What a running broker does behind the requests: retention, compaction, flushing, old offsets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import NEVER_MS

from barnabas import _kernel
from barnabas.clock import now_ms
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest

from .conftest import batch_of, values
from .in_process import Client, run
from .test_groups import Member, commit, committed

QUICK = {
    "log.retention.check.interval.ms": "50",
    "log.cleaner.backoff.ms": "50",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "offsets.retention.check.interval.ms": "50",
}
BROKER_RESOURCE = 4
Eventually = Callable[..., Any]


def recent() -> int:
    return now_ms()


def test_old_segments_are_removed(tmp_path: Path, eventually_async: Eventually) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", retention_bytes="2000", internal_segment_bytes="1024")
        for index in range(50):
            await client.produce("t", batch_of(values(f"value {index}"), timestamp=recent()))

        async def trimmed() -> bool:
            return (await client.fetch("t", 50)).log_start_offset >= 10

        await eventually_async(trimmed)
        assert (await client.fetch("t", 0)).error_code == 1

    run(tmp_path, scenario, config=QUICK)


def test_closed_segments_are_compacted(tmp_path: Path, eventually_async: Eventually) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", cleanup_policy="compact", internal_segment_bytes="2000")
        for index in range(200):
            await client.produce("t", batch_of([(b"key", b"%d" % index)], timestamp=recent()))

        async def compacted() -> bool:
            data = bytes((await client.fetch("t", 0)).records or b"")
            first = next(iter(_kernel.RecordReader("t", 0, data)))
            return first.offset > 100

        await eventually_async(compacted)
        data = bytes((await client.fetch("t", 199)).records or b"")
        assert [record.value for record in _kernel.RecordReader("t", 0, data, fetch_offset=199)] == [b"199"]

    run(tmp_path, scenario, config=QUICK)


def test_a_shorter_time_between_two_rounds_holds_at_once(
    tmp_path: Path, eventually_async: Eventually
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", cleanup_policy="compact", internal_segment_bytes="2000")
        for index in range(200):
            await client.produce("t", batch_of([(b"key", b"%d" % index)], timestamp=recent()))
        change = IncrementalAlterConfigsRequest.AlterableConfig("log.cleaner.backoff.ms", 0, "50")
        of_all = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER_RESOURCE, "", [change])
        answer = await client.send(IncrementalAlterConfigsRequest([of_all]))
        assert answer.responses[0].error_code == 0

        async def compacted() -> bool:
            data = bytes((await client.fetch("t", 0)).records or b"")
            return next(iter(_kernel.RecordReader("t", 0, data))).offset > 100

        await eventually_async(compacted)

    run(tmp_path, scenario, config={"log.cleaner.backoff.ms": str(NEVER_MS)})


def test_ended_segments_reach_the_disk_and_the_recovery_point_follows(
    tmp_path: Path, eventually_async: Eventually
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("t", internal_segment_bytes="1024")
        for index in range(50):
            await client.produce("t", batch_of(values(f"value {index}"), timestamp=recent()))
        checkpoint = tmp_path / "recovery-point-offset-checkpoint"

        def noted() -> bool:
            lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
            return any(line.startswith("t 0 ") and int(line.split()[2]) > 30 for line in lines)

        await eventually_async(noted)

    run(tmp_path, scenario, config=QUICK)


def test_records_reach_the_disk_after_as_long_as_the_setting_says(
    tmp_path: Path, eventually_async: Eventually
) -> None:
    async def scenario(client: Client) -> None:
        await client.create_topic("at-leisure")
        await client.create_topic("t", flush_ms="1")
        for name in ("at-leisure", "t"):
            await client.produce(name, batch_of(values("a"), timestamp=recent()))
        checkpoint = tmp_path / "recovery-point-offset-checkpoint"

        def noted() -> list[str]:
            return checkpoint.read_text().splitlines() if checkpoint.exists() else []

        await eventually_async(lambda: "t 0 1" in noted())
        assert "at-leisure 0 1" not in noted()

    run(tmp_path, scenario, config=QUICK)


def test_offsets_age_only_while_their_group_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually_async: Eventually
) -> None:
    def move_clock(ms: int) -> None:
        for name in ("classic_groups.coordinator", "groups.offset_coordinator"):
            monkeypatch.setattr(f"barnabas.broker.{name}.now_ms", lambda: now_ms() + ms)

    async def scenario(client: Client) -> None:
        await client.create_topic("t")
        member = Member(client)
        await member.join()
        await member.sync()
        await member.commit(5)
        move_clock(120_000)
        # Two rounds of the job that removes old offsets.
        await asyncio.sleep(0.2)
        assert await committed(client) == 5
        await member.leave()
        assert await committed(client) == 5
        move_clock(240_000)

        async def gone() -> bool:
            return (await client.send(ListGroupsRequest())).groups == []

        await eventually_async(gone)
        assert await committed(client) == -1
        await commit(client, 7)
        assert await committed(client) == 7

    run(tmp_path, scenario, config={**QUICK, "offsets.retention.minutes": "1"})
