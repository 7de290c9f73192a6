"""Many topics in one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.data_directory import DataDirectory
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest

from ..in_process import Client, run


def request_for(*names: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name, 1, 1) for name in names])


def test_the_topics_of_a_request_are_kept_by_few_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves: list[Any] = []
    save = DataDirectory.save

    def counted(directory: DataDirectory, metadata: Any) -> None:
        saves.append(metadata)
        save(directory, metadata)

    names = [f"topic-{number}" for number in range(300)]

    async def create(client: Client) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(DataDirectory, "save", counted)
            answer = await client.send(request_for(*names, "no/slash", "topic_1"))
        codes = [topic.error_code for topic in answer.topics]
        assert codes == [0] * 300 + [ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
        assert len(saves) == 31

    async def look(client: Client) -> None:
        assert set(names) < set(client.broker._parts.cluster.topics)  # pyright: ignore

    run(tmp_path, create)
    run(tmp_path, look)


@pytest.mark.parametrize("partitions", range(15, 25))
def test_topics_of_any_size_are_created_together(tmp_path: Path, partitions: int) -> None:
    async def scenario(client: Client) -> None:
        topics = [CreateTopicsRequest.CreatableTopic(name, partitions, 1) for name in "abc"]
        answer = await client.send(CreateTopicsRequest(topics))
        created = [(topic.name, topic.error_code, topic.num_partitions) for topic in answer.topics]
        assert created == [(name, 0, partitions) for name in "abc"]

    run(tmp_path, scenario)


def test_names_that_differ_only_in_dots_and_underscores_collide_until_one_is_gone(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        answer = await client.send(request_for("a.b", "a_b", "a-b"))
        codes = [topic.error_code for topic in answer.topics]
        assert codes == [0, ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
        await client.send(DeleteTopicsRequest([DeleteTopicsRequest.DeleteTopicState(name="a.b")], [], 5000))
        assert (await client.send(request_for("a_b"))).topics[0].error_code == 0

    run(tmp_path, scenario)


def test_none_of_a_request_is_there_when_it_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(directory: DataDirectory, metadata: Any) -> None:
        raise OSError(28, "full")

    async def scenario(client: Client) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(DataDirectory, "save", fail)
            answer = await client.send(request_for("a", "no/slash", "b"))
        assert [topic.error_code for topic in answer.topics] == [
            ErrorCode.KAFKA_STORAGE_ERROR,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.KAFKA_STORAGE_ERROR,
        ]
        assert not client.broker._parts.cluster.topics  # pyright: ignore
        answer = await client.send(request_for("a", "b"))
        assert [topic.error_code for topic in answer.topics] == [0, 0]

    run(tmp_path, scenario)


def test_more_than_10_000_partitions_in_a_request_are_against_the_rules_for_all_of_it(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        asked = CreateTopicsRequest(
            topics=[CreateTopicsRequest.CreatableTopic(name, 5_001, 1) for name in ("a", "b")]
        )
        answer = await client.send(asked)
        assert [(topic.name, topic.error_code, topic.error_message) for topic in answer.topics] == [
            (name, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
            for name in ("a", "b")
        ]
        assert not client.broker._parts.cluster.topics  # pyright: ignore

    run(tmp_path, scenario)


def test_a_topic_that_is_named_twice_is_refused_once(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        answer = await client.send(request_for("a", "b", "a"))
        assert sorted((topic.name, topic.error_code, topic.error_message) for topic in answer.topics) == [
            ("a", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
            ("b", 0, None),
        ]

    run(tmp_path, scenario)
