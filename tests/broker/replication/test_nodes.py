"""A cluster of three nodes in one process: leaders, replicas, nodes that come and go."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.waiting import wait_for_async

from barnabas.broker.controller import Controller
from barnabas.broker.data_directory import DataDirectoryError
from barnabas.broker.server import Broker
from barnabas.broker_errors import ErrorCode
from barnabas.errors import KafkaConnectionError, MisuseError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest

from .cluster_of_three import UNCLEAN, ClusterOfThree, run


@pytest.mark.integration
def test_leaders_and_replicas_are_spread_over_the_nodes(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        topic = CreateTopicsRequest.CreatableTopic("t", num_partitions=6, replication_factor=2)
        await cluster.ask(1, CreateTopicsRequest(topics=[topic]))
        for node in (1, 2, 3):
            found = await cluster.ask(node, MetadataRequest(topics=None))
            assert [broker.node_id for broker in found.brokers] == [1, 2, 3]
            assert len({broker.port for broker in found.brokers}) == 3
            partitions = found.topics[0].partitions
            assert sorted(partition.leader_id for partition in partitions) == [1, 1, 2, 2, 3, 3]
            replicas = [replica for partition in partitions for replica in partition.replica_nodes]
            assert sorted(replicas) == [1] * 4 + [2] * 4 + [3] * 4

    run(tmp_path, scenario)


@pytest.mark.integration
def test_replicas_lie_in_other_racks_than_their_leader(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        topic = CreateTopicsRequest.CreatableTopic("t", num_partitions=6, replication_factor=2)
        await cluster.ask(1, CreateTopicsRequest(topics=[topic]))
        found = await cluster.ask(1, MetadataRequest(topics=None))
        racks = {broker.node_id: broker.rack for broker in found.brokers}
        assert racks == {1: "a", 2: "a", 3: "b"}
        for partition in found.topics[0].partitions:
            assert {racks[replica] for replica in partition.replica_nodes} == {"a", "b"}

    run(tmp_path, scenario, racks=["a", "a", "b"])


@pytest.mark.integration
def test_every_replica_has_what_the_leader_has_once_it_is_acknowledged(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [2, 3, 1])
        for text in ("a", "b", "c"):
            assert (await cluster.produce(2, "t", text)).error_code == 0
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t") == cluster.log_of(3, "t")
        assert await cluster.texts(3, "t") == ["a", "b", "c"]

    run(tmp_path, scenario)


@pytest.mark.integration
def test_who_does_not_lead_refuses_and_names_the_leader(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [2, 3])
        refused = await cluster.produce(1, "t", "a")
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (2, 0)
        assert (await cluster.fetch(1, "t")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        asked = ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)
        request = ListOffsetsRequest(-1, topics=[ListOffsetsRequest.ListOffsetsTopic("t", [asked])])
        answer = await cluster.ask(3, request)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(tmp_path, scenario)


@pytest.mark.integration
def test_another_leads_after_the_leader_has_stopped_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        await cluster.produce(1, "t", "a")
        await cluster.stop(1)
        known = await cluster.describe("t")
        assert (known.leader_id, known.leader_epoch, known.isr_nodes) == (2, 1, [2, 3])
        assert known.offline_replicas == [1]
        await cluster.produce(2, "t", "b")
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2, 3)
        await cluster.produce(2, "t", "c")
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t")
        assert await cluster.elect("t", 0) == 0
        assert await cluster.texts(1, "t") == ["a", "b", "c"]

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_fetch_that_waits_hears_of_another_leader(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        wanted = FetchRequest.FetchPartition(
            0, fetch_offset=0, partition_max_bytes=1000, current_leader_epoch=0
        )
        request = FetchRequest(
            max_wait_ms=30_000,
            min_bytes=1,
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic="t", partitions=[wanted])],
        )
        connection = await Connection.open("127.0.0.1", cluster.broker.nodes[1].port, client_id="waits")
        waiting = connection.submit(request, timeout_ms=30_000, max_version=12)
        await cluster.fetch(2, "t")
        assert await cluster.reassign("t", [2, 1]) == 0
        assert await cluster.elect("t", 0) == 0
        answer = (await asyncio.wait_for(waiting, 10)).responses[0].partitions[0]
        connection.close()
        assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_killed_node_is_missed_after_its_session_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        await cluster.produce(1, "t", "a")
        await cluster.kill(1)
        assert (await cluster.describe("t")).leader_id == 1
        refused = await cluster.produce(2, "t", "b")
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await cluster.create("made-meanwhile", [1, 2])

        async def is_missed() -> bool:
            return (await cluster.describe("t")).leader_id == 2

        await wait_for_async(is_missed, timeout=10)
        assert (await cluster.describe("t")).isr_nodes == [2, 3]
        await cluster.produce(2, "t", "b")
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2, 3)
        assert await cluster.texts(2, "t") == ["a", "b"]
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t")

    run(tmp_path, scenario, config={"broker.session.timeout.ms": "300"})


@pytest.mark.parametrize("is_paused", [False, True])
@pytest.mark.integration
def test_a_killed_node_answers_nobody_who_has_asked_it_before(tmp_path: Path, is_paused: bool) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        node = cluster.broker.nodes[1]
        barrier = cluster.broker.faults.hold("Fetch", node=1, times=1)
        held = asyncio.create_task(cluster.fetch(1, "t"))
        await barrier.wait()
        if is_paused:
            node.pause()
        killing = asyncio.create_task(node.kill())
        await asyncio.sleep(0)
        barrier.release()
        with pytest.raises(KafkaConnectionError):
            await held
        await killing

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_killed_node_that_comes_back_at_once_leads_no_more(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        await cluster.create("alone", [2], min_insync_replicas="1")
        await cluster.produce(1, "t", "a")
        await cluster.kill(1)
        refused = await cluster.produce(2, "t", "b")
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2, 3)
        known = await cluster.describe("t")
        assert (known.leader_id, known.leader_epoch) == (2, 1)
        assert await cluster.texts(2, "t") == ["a"]
        await cluster.kill(2)
        await cluster.start(2)
        assert (await cluster.describe("alone")).leader_id == 2

    run(tmp_path, scenario)


@pytest.mark.integration
def test_acks_all_waits_for_a_paused_replica_until_the_others_do_without_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        node = cluster.broker.nodes[3]
        node.pause()
        refused = await cluster.produce(1, "t", "a", timeout_ms=50)
        assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert (await cluster.fetch(1, "t")).high_watermark == 0
        assert (await cluster.produce(1, "t", "b", timeout_ms=20_000)).error_code == 0
        known = await cluster.describe("t")
        assert known.isr_nodes == [1, 2]
        assert await cluster.texts(1, "t") == ["a", "b"]
        node.resume()
        await cluster.until_in_sync("t", 1, 2, 3)
        assert cluster.log_of(3, "t") == cluster.log_of(1, "t")

    run(tmp_path, scenario, config={"broker.session.timeout.ms": "300"})


@pytest.mark.integration
def test_acks_all_goes_on_after_a_replica_was_paused_while_nothing_was_written(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        cluster.broker.nodes[3].pause()
        cluster.broker.nodes[3].resume()
        assert (await cluster.produce(1, "t", "a")).error_code == 0

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_paused_node_answers_once_it_is_resumed(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        cluster.broker.nodes[1].pause()
        waiting = asyncio.ensure_future(cluster.fetch(1, "t"))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        cluster.broker.nodes[1].resume()
        assert (await asyncio.wait_for(waiting, 10)).error_code == 0

    run(tmp_path, scenario)


@pytest.mark.integration
def test_with_too_few_in_sync_acks_all_is_refused_and_the_rest_not_shown(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="2")
        await cluster.produce(1, "t", "a")
        await cluster.stop(2)
        refused = await cluster.produce(1, "t", "b")
        assert (refused.error_code, refused.error_message) == (ErrorCode.NOT_ENOUGH_REPLICAS, None)
        assert (await cluster.produce(1, "t", "c", acks=1)).base_offset == 1
        assert await cluster.texts(1, "t") == ["a"]
        await cluster.start(2)
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(1, "t") == ["a", "c"]

    run(tmp_path, scenario)


@pytest.mark.integration
def test_an_unclean_election_costs_records_which_their_old_leader_gives_up(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="1")
        await cluster.produce(1, "t", "a")
        await cluster.stop(2)
        await cluster.produce(1, "t", "lost", "lost too")
        await cluster.stop(1)
        await cluster.start(2)
        assert (await cluster.describe("t")).error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert await cluster.elect("t", 0) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        assert await cluster.elect("t", UNCLEAN) == 0
        await cluster.produce(2, "t", "b")
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(2, "t") == ["a", "b"]
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t")

    run(tmp_path, scenario)


@pytest.mark.integration
def test_by_setting_a_replica_that_lacks_records_leads_by_itself(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], unclean_leader_election_enable="true", min_insync_replicas="1")
        await cluster.stop(2)
        await cluster.produce(1, "t", "lost")
        await cluster.stop(1)
        await cluster.start(2)
        assert (await cluster.describe("t")).leader_id == 2
        assert await cluster.texts(2, "t") == []

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_replica_that_no_leader_has_corrected_yet_shows_nobody_what_it_has(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="1")
        node = cluster.broker.nodes[1]
        node.part()
        assert (await cluster.produce(1, "t", "lost", acks=1)).error_code == 0
        await cluster.stop(1)
        assert (await cluster.describe("t")).leader_id == 2
        assert (await cluster.produce(2, "t", "kept")).error_code == 0
        await cluster.stop(2)
        await cluster.start(1)
        assert (await cluster.describe("t")).leader_id == -1
        assert (await cluster.fetch(1, "t")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await cluster.start(2)
        await cluster.until_in_sync("t", 1, 2)
        assert await cluster.texts(1, "t") == ["kept"]

    run(tmp_path, scenario)


@pytest.mark.integration
def test_those_that_run_follow_a_leader_that_comes_after_there_was_none(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3], min_insync_replicas="1")
        await cluster.stop(2, 3)
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        await cluster.stop(1)
        await cluster.start(2, 3)
        assert (await cluster.describe("t")).leader_id == -1
        await cluster.start(1)
        await cluster.until_in_sync("t", 1, 2, 3)
        assert cluster.log_of(2, "t") == cluster.log_of(3, "t") == cluster.log_of(1, "t")

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_reassignment_takes_the_records_along(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1], min_insync_replicas="1")
        for _ in range(8):
            await cluster.produce(1, "t", *("x" * 1000 for _ in range(900)))
        assert await cluster.reassign("t", [2, 3]) == 0
        await cluster.until_in_sync("t", 2, 3)
        known = await cluster.describe("t")
        assert (known.leader_id, known.replica_nodes) == (2, [2, 3])
        assert len(cluster.log_of(2, "t")) > 5_000_000
        assert cluster.log_of(2, "t") == cluster.log_of(3, "t")
        assert not (cluster.directory / "1" / "t-0").exists()

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_reassignment_to_a_node_that_is_away_waits_and_can_be_cancelled(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        await cluster.stop(3)
        assert await cluster.reassign("t", [3, 1]) == 0
        assert (await cluster.describe("t")).replica_nodes == [3, 1, 2]
        assert await cluster.reassign("t", None) == 0
        assert await cluster.reassign("t", None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        assert await cluster.reassign("t", [3, 1]) == 0
        await cluster.start(3)
        await cluster.until_in_sync("t", 1, 3)

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_topic_made_anew_while_a_node_was_away_has_nothing_of_the_old_one(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        await cluster.produce(1, "t", "old", "older")
        await cluster.stop(3)
        await cluster.ask(1, DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="t")]))
        await cluster.create("t", [1, 2, 3])
        await cluster.produce(1, "t", "new", "newer", "newest")
        await cluster.start(3)
        await cluster.until_in_sync("t", 1, 2, 3)
        assert cluster.log_of(3, "t") == cluster.log_of(1, "t")
        assert await cluster.texts(3, "t") == ["new", "newer", "newest"]

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_replica_that_comes_again_after_a_restart_of_the_whole_keeps_its_records(tmp_path: Path) -> None:
    """What its node had of the partition before was to be deleted, once."""

    async def taken_away(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        await cluster.stop(2)
        assert await cluster.reassign("t", [1]) == 0

    async def comes_again(cluster: ClusterOfThree) -> None:
        assert await cluster.reassign("t", [2]) == 0
        await cluster.until_in_sync("t", 2)
        assert (await cluster.produce(2, "t", "a")).error_code == 0
        await cluster.stop(2)
        await cluster.start(2)
        assert await cluster.texts(2, "t") == ["a"]

    run(tmp_path, taken_away)
    run(tmp_path, comes_again)


@pytest.mark.integration
def test_a_replica_that_comes_again_while_its_node_is_away_is_no_damaged_log_after_a_kill(
    tmp_path: Path,
) -> None:
    """What was written down of the one before, whose log is deleted, is not missed."""

    async def written(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        assert (await cluster.produce(1, "t", "a")).error_code == 0

    async def comes_again(cluster: ClusterOfThree) -> None:
        assert await cluster.reassign("t", [1]) == 0
        await cluster.kill(2)
        assert await cluster.reassign("t", [1, 2]) == 0
        shutil.copytree(tmp_path / "running", tmp_path / "killed")

    async def look(cluster: ClusterOfThree) -> None:
        await cluster.until_in_sync("t", 1, 2)
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t") != b""

    run(tmp_path / "running", written)
    run(tmp_path / "running", comes_again)
    run(tmp_path / "killed", look)


@pytest.mark.integration
def test_records_stay_deleted_when_a_follower_leads_that_lagged_meanwhile(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        for text in ("a", "b", "c"):
            assert (await cluster.produce(1, "t", text)).error_code == 0
        cluster.broker.nodes[2].lag()
        assert (await cluster.produce(1, "t", "d", acks=1)).error_code == 0
        assert (await cluster.delete_records(1, "t", 2)).low_watermark == 2
        await cluster.stop(1)
        assert (await cluster.describe("t")).leader_id == 2
        assert (await cluster.fetch(2, "t", 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (await cluster.fetch(2, "t", 2)).log_start_offset == 2

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_leader_that_is_parted_deletes_no_records_that_others_have(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2])
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        cluster.broker.nodes[1].part()
        assert (await cluster.delete_records(1, "t", 1)).error_code == ErrorCode.REQUEST_TIMED_OUT
        cluster.broker.nodes[1].join()
        assert (await cluster.delete_records(1, "t", 1)).low_watermark == 1

    run(tmp_path, scenario)


@pytest.mark.integration
def test_what_was_not_replicated_stays_hidden_when_its_leader_comes_back_and_leads_again(
    tmp_path: Path,
) -> None:
    """Meanwhile another led that had been killed, and was not missed yet."""

    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [2, 3], min_insync_replicas="2")
        assert (await cluster.produce(2, "t", "a")).error_code == 0
        await cluster.kill(3)
        refused = await cluster.produce(2, "t", "b", timeout_ms=10)
        assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
        await cluster.kill(2)
        await cluster.start(2)
        assert (await cluster.describe("t")).leader_id == 3

        async def leads_again() -> bool:
            return (await cluster.describe("t")).leader_id == 2

        await wait_for_async(leads_again)
        assert await cluster.texts(2, "t") == ["a"]
        await cluster.start(3)
        await cluster.until_in_sync("t", 2, 3)
        assert await cluster.texts(2, "t") == ["a", "b"]

    run(tmp_path, scenario, config={"broker.session.timeout.ms": "1000"})


@pytest.mark.integration
def test_after_a_restart_of_the_whole_a_leader_hides_what_one_that_may_lead_next_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def writes_alone(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2], min_insync_replicas="2")
        assert (await cluster.produce(1, "t", "a")).error_code == 0
        await cluster.kill(2)
        await cluster.produce(1, "t", "b", timeout_ms=10)

        async def is_alone() -> bool:
            return (await cluster.describe("t")).isr_nodes == [1]

        await wait_for_async(is_alone)

    async def look(cluster: ClusterOfThree) -> None:
        assert await cluster.texts(1, "t") == ["a"]

    run(tmp_path, writes_alone, config={"broker.session.timeout.ms": "1000"})
    # Nobody has caught up yet.
    monkeypatch.setattr(Controller, "start_catching_up", lambda controller, node_id: None)  # pyright: ignore
    run(tmp_path, look)


@pytest.mark.integration
def test_all_is_there_after_a_restart_of_the_whole(tmp_path: Path) -> None:
    async def first(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3], [2, 3, 1])
        await cluster.produce(1, "t", "a")
        await cluster.stop(1)
        await cluster.produce(2, "t", "b")

    async def second(cluster: ClusterOfThree) -> None:
        await cluster.until_in_sync("t", 1, 2, 3)
        known = await cluster.describe("t")
        assert (known.leader_id, known.leader_epoch) == (2, 2)
        assert await cluster.texts(2, "t") == ["a", "b"]
        assert cluster.log_of(1, "t") == cluster.log_of(2, "t")

    run(tmp_path, first)
    run(tmp_path, second)


@pytest.mark.integration
def test_a_coordinator_is_the_leader_of_the_groups_partition_and_moves_with_it(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=["g1", "g2", "g3", "g4", "g5", "g6"])
        found = {each.key: each.node_id for each in (await cluster.ask(1, find)).coordinators}
        assert set(found.values()) == {1, 2, 3}
        for node in (1, 2, 3):
            described = await cluster.ask(node, DescribeGroupsRequest(groups=list(found)), 5)
            codes = {group.group_id: group.error_code for group in described.groups}
            assert {key for key, code in codes.items() if code == 0} == {
                key for key, owner in found.items() if owner == node
            }
        owner = found["g1"]
        other = owner % 3 + 1
        answer = await cluster.ask(other, HeartbeatRequest("g1", 1, "nobody"))
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
        assert (await cluster.ask(owner, HeartbeatRequest("g1", 1, "nobody"))).error_code == 25
        await cluster.stop(owner)
        moved = (await cluster.ask(other, find)).coordinators[0].node_id
        assert moved != owner
        assert (await cluster.ask(moved, HeartbeatRequest("g1", 1, "nobody"))).error_code == 25

    run(tmp_path, scenario)


@pytest.mark.integration
def test_a_folder_is_for_as_many_nodes_as_it_was_made_for(tmp_path: Path) -> None:
    async def nothing(cluster: ClusterOfThree) -> None:
        assert len(cluster.broker.bootstrap.split(",")) == 3

    run(tmp_path, nothing)

    async def start_one() -> None:
        with pytest.raises(DataDirectoryError, match="holds the data of 3 node"):
            await Broker(tmp_path).start()

    asyncio.run(start_one())


@pytest.mark.integration
def test_the_only_node_cannot_be_stopped_by_itself(tmp_path: Path) -> None:
    async def main() -> None:
        broker = Broker(tmp_path)
        await broker.start()
        with pytest.raises(MisuseError):
            await broker.nodes[1].stop()
        await broker.stop()

    asyncio.run(main())


@pytest.mark.parametrize(("nodes", "racks"), [(0, None), (2, ["a"])])
def test_a_cluster_without_nodes_or_with_racks_for_others_is_refused(
    nodes: int, racks: list[str] | None, tmp_path: Path
) -> None:
    with pytest.raises(MisuseError):
        Broker(tmp_path, nodes=nodes, racks=racks)
