"""A producer for many topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Producer
from barnabas.client.cluster.metadata import TopicMetadata
from barnabas.client.produce.sender import Sender

TOPICS = 30


def test_each_topic_is_learned_when_it_is_new_and_not_with_those_that_follow(
    broker: Any, make_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: Counter[str] = Counter()
    learn = Sender.learn_partition_count

    def counted(self: Sender, topic: str, known: TopicMetadata) -> None:
        learned[topic] += 1
        learn(self, topic, known)

    monkeypatch.setattr(Sender, "learn_partition_count", counted)
    topics = [make_topic(broker) for _ in range(TOPICS)]
    with Producer(broker.bootstrap) as producer:
        for topic in topics:
            producer.send(topic, b"v").result(30)
    # By the answer, by who waited for it, and by answers about the whole cluster.
    assert all(learned[topic] <= 4 for topic in topics), learned
