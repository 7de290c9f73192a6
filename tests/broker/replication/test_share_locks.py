"""Records that a member of a share group has in hand, while the group's state cannot be written."""

from __future__ import annotations

import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

from .cluster_of_three import ClusterOfThree, run

GROUP = "shared"
ACCEPT = 1


class Member:
    """On a connection of its own to node 1, which leads."""

    def __init__(self, cluster: ClusterOfThree, name: str, topic_id: uuid.UUID) -> None:
        self._own = ClusterOfThree(cluster.broker, cluster.directory)
        self._name = name
        self._topic_id = topic_id
        self._epoch = 0

    async def join(self, cluster: ClusterOfThree) -> None:
        beat = ShareGroupHeartbeatRequest(GROUP, self._name, 0, subscribed_topic_names=["t"])
        for node in (1, 2, 3):
            answer = await cluster.ask(node, beat)
            if answer.error_code == 0:
                return
        raise AssertionError(answer)

    async def fetch(self, max_records: int) -> list[range]:
        topic = ShareFetchRequest.FetchTopic(self._topic_id, [ShareFetchRequest.FetchPartition(0)])
        answer = await self._ask(
            ShareFetchRequest(
                group_id=GROUP,
                member_id=self._name,
                share_session_epoch=self._epoch,
                max_wait_ms=100,
                min_bytes=1,
                max_bytes=1 << 20,
                max_records=max_records,
                batch_size=max_records,
                topics=[] if self._epoch else [topic],
            )
        )
        return [
            range(acquired.first_offset, acquired.last_offset + 1)
            for found in answer.responses
            for partition in found.partitions
            for acquired in partition.acquired_records
        ]

    async def accept(self, offsets: range) -> int:
        batch = ShareAcknowledgeRequest.AcknowledgementBatch(offsets[0], offsets[-1], [ACCEPT])
        partition = ShareAcknowledgeRequest.AcknowledgePartition(0, [batch])
        topic = ShareAcknowledgeRequest.AcknowledgeTopic(self._topic_id, [partition])
        answer = await self._ask(ShareAcknowledgeRequest(GROUP, self._name, self._epoch, topics=[topic]))
        return answer.responses[0].partitions[0].error_code

    async def _ask(self, request: Any) -> Any:
        answer = await self._own.ask(1, request)
        assert answer.error_code == 0
        self._epoch += 1
        return answer

    def close(self) -> None:
        self._own.close()


def test_what_others_have_in_hand_stays_theirs_when_an_acknowledgement_cannot_be_kept(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1], min_insync_replicas="1")
        await cluster.set_group(GROUP, "share.auto.offset.reset", "earliest")
        for text in ("a", "b", "c"):
            assert (await cluster.produce(1, "t", text)).error_code == 0
        topic_id = cluster.broker._parts.cluster.topic("t").topic_id  # pyright: ignore
        with ExitStack() as stack:
            members = [
                stack.enter_context(closing(Member(cluster, name, topic_id)))
                for name in ("first", "second", "third")
            ]
            first, second, third = members
            for member in members:
                await member.join(cluster)
            assert await first.fetch(1) == [range(1)]
            assert await second.fetch(1) == [range(1, 2)]
            await cluster.stop(2, 3)
            assert await second.accept(range(1, 2)) != 0
            assert await third.fetch(10) == [range(2, 3)]
            assert await third.fetch(10) == []
            await cluster.start(2, 3)
            assert await second.accept(range(1, 2)) == 0
            assert await first.accept(range(1)) == 0

    run(tmp_path, scenario)
