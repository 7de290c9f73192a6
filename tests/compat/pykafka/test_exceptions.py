from __future__ import annotations

from barnabas.compat.pykafka import exceptions
from barnabas.compat.pykafka.exceptions import (
    ERROR_CODES,
    KafkaException,
    PartitionOwnedError,
    ProtocolClientError,
    UnicodeException,
)


def test_a_code_of_a_broker_has_its_exception() -> None:
    assert ERROR_CODES[27] is exceptions.RebalanceInProgress
    assert ERROR_CODES[-1] is exceptions.UnknownError
    assert all(issubclass(each, ProtocolClientError) for each in ERROR_CODES.values())
    assert all(code == each.ERROR_CODE for code, each in ERROR_CODES.items())


def test_all_but_that_of_texts_are_kafka_exceptions() -> None:
    classes = [
        each for each in vars(exceptions).values() if isinstance(each, type) and issubclass(each, Exception)
    ]
    assert [each for each in classes if not issubclass(each, KafkaException)] == [UnicodeException]


def test_a_partition_that_is_owned_is_named() -> None:
    error = PartitionOwnedError("partition", "text")
    assert (error.partition, error.args) == ("partition", ("text",))
