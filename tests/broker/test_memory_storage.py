"""A broker whose records are on no disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from barnabas import Consumer, Producer
from barnabas.broker.log.files import OpenFile
from barnabas.broker.log.memory_files import MemoryFolder, MemoryPath
from barnabas.broker.server import Broker
from barnabas.errors import MisuseError
from barnabas.testing import EmbeddedBroker

from .conftest import batch_of, values
from .in_process import Client


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    """Either kind, each with the same tests."""
    request.node.folder = MemoryFolder()
    return request.node.folder.path if request.param == "memory" else tmp_path / "data"


def test_paths_in_memory_do_as_paths_on_a_disk(folder: Path | MemoryPath) -> None:
    below = folder / "topic-0"
    below.mkdir(parents=True, exist_ok=True)
    below.mkdir(exist_ok=True)
    with pytest.raises(FileExistsError):
        below.mkdir()
    file = below / "a.log"
    assert not file.exists()
    with pytest.raises(FileNotFoundError):
        file.read_bytes()
    with pytest.raises(FileNotFoundError):
        file.unlink()
    file.unlink(missing_ok=True)
    file.write_bytes(b"one")
    file.with_suffix(".index").touch()
    assert sorted(path.name for path in below.iterdir()) == ["a.index", "a.log"]
    assert [path.name for path in below.glob("*.log")] == ["a.log"]
    file.replace(below / "b.log")
    assert (below / "b.log").read_text() == "one"
    assert not file.exists()
    below.rename(folder / "gone-delete")
    assert [(path.name, path.is_dir()) for path in folder.iterdir()] == [("gone-delete", True)]
    with pytest.raises(FileNotFoundError):
        (below / "c" / "d").write_bytes(b"")


@pytest.mark.integration
def test_what_is_in_memory_lasts_over_a_stop_and_goes_with_the_broker() -> None:
    async def scenario() -> None:
        broker = Broker(storage="memory")
        for round_number in range(3):
            await broker.start()
            client = await Client.connect(broker)
            if round_number == 0:
                await client.create_topic("t", cleanup_policy="compact", segment_bytes="1048576")
            taken = await client.produce("t", batch_of([(b"k", b"%d" % round_number)]))
            assert (taken.error_code, taken.base_offset) == (0, round_number)
            found = await client.fetch("t", 0)
            assert found.high_watermark == round_number + 1
            client.connection.close()
            await broker.stop()

    asyncio.run(scenario())


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.mark.integration
def test_a_log_in_memory_holds_one_descriptor_as_one_on_a_disk_does() -> None:
    async def scenario() -> None:
        broker = Broker(storage="memory")
        await broker.start()
        async with AsyncExitStack() as ends:
            ends.push_async_callback(broker.stop)
            client = await Client.connect(broker)
            with closing(client.connection):
                before = open_descriptors()
                await client.create_topic("t", partitions=2_000)
                assert open_descriptors() - before <= 2_000
                for partition in range(0, 2_000, 20):
                    batch = batch_of(values("a"))
                    assert (await client.produce("t", batch, partition=partition)).error_code == 0
                assert open_descriptors() - before <= 2_000
            await broker.stop()
            await broker.start()
            client = await Client.connect(broker)
            with closing(client.connection):
                assert open_descriptors() - before <= 2_000
                assert (await client.fetch("t", 0)).high_watermark == 1

    asyncio.run(scenario())


def test_a_file_in_memory_stays_for_who_holds_it_open_when_it_is_deleted_or_replaced() -> None:
    folder = MemoryFolder()
    path = folder.path / "a"
    file = OpenFile(path)
    os.pwrite(file.descriptor, b"one", 0)
    path.unlink()
    assert os.pread(file.descriptor, 3, 0) == b"one"
    path.write_bytes(b"two")
    with closing(OpenFile(path)) as other:
        file.close()
        file.close()
        assert os.pread(other.descriptor, 3, 0) == b"two"
    assert path.read_bytes() == b"two"


@pytest.mark.integration
def test_several_nodes_are_in_memory_as_well() -> None:
    async def scenario() -> None:
        broker = Broker(storage="memory", nodes=3)
        await broker.start()
        client = await Client.connect(broker)
        await client.create_topic("t")
        assert (await client.produce("t", batch_of(values("a")))).error_code == 0
        await broker.nodes[2].stop()
        assert (await client.produce("t", batch_of(values("b")))).error_code == 0
        await broker.nodes[2].start()
        client.connection.close()
        await broker.stop()

    asyncio.run(scenario())


@pytest.mark.integration
def test_a_broker_of_its_own_process_begins_anew_at_a_restart(topic: Callable[[], str]) -> None:
    with EmbeddedBroker(storage="memory") as broker:
        for _ in range(2):
            with Producer(broker.bootstrap) as producer:
                sent = [producer.send("t", b"%d" % index) for index in range(100)]
            assert [delivery.result().offset for delivery in sent] == list(range(100))
            with Consumer(broker.bootstrap, group_id="g", auto_offset_reset="earliest") as consumer:
                consumer.subscribe(["t"])
                found: list[bytes | None] = []
                while len(found) < 100:
                    found += [record.value for record in consumer.poll(1)]
            assert found == [b"%d" % index for index in range(100)]
            broker.restart()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"storage": "memory", "data_dir": "x"}, "has no folder"),
        ({"storage": "tape"}, "disk, memory"),
        ({}, "needs a data_dir"),
    ],
)
def test_a_folder_and_memory_exclude_each_other(options: dict[str, str], problem: str) -> None:
    with pytest.raises(MisuseError, match=problem):
        Broker(**options)  # pyright: ignore
