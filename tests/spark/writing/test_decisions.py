"""The log of what sinks have decided."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest

from barnabas.errors import KafkaTimeoutError
from barnabas.spark.writing import decisions
from barnabas.spark.writing.decisions import Decision, DecisionLog
from barnabas.testing import ApacheKafka
from barnabas.types import TopicPartition


def test_a_log_that_gives_no_record_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = f"decisions-{uuid.uuid4().hex[:8]}"
    partition = TopicPartition(topic, 0)
    with (
        ApacheKafka() as kafka,
        closing(DecisionLog({"bootstrap_servers": kafka.bootstrap}, topic)) as writing,
        closing(DecisionLog({"bootstrap_servers": kafka.bootstrap}, topic)) as log,
    ):
        writing.write("sink", Decision(7, is_done=True))
        assert log.last("sink") == Decision(7, is_done=True)
        writing.write("sink", Decision(8, is_done=True))
        log._consumer.pause(partition)
        monkeypatch.setattr(decisions, "READ_SECONDS", 0.5)
        with pytest.raises(KafkaTimeoutError, match=f"{partition}, .* from offset 1 to 2: no record came"):
            log.last("sink")
        log._consumer.resume(partition)
        monkeypatch.undo()
        assert log.last("sink") == Decision(8, is_done=True)
