from __future__ import annotations

import pytest
from tests.compat.confluent_kafka.inventory import LATER, missing, real_modules

# How the original's asyncio producer batches on threads; ours needs none.
ITS_OWN_WORKINGS = (
    "confluent_kafka.aio._common: ",
    "confluent_kafka.aio.producer._buffer_timeout_manager: ",
    "confluent_kafka.aio.producer._kafka_batch_executor: ",
    "confluent_kafka.aio.producer._message_batch: ",
    "confluent_kafka.aio.producer._producer_batch_processor: ",
)

# There the stub file of the real package is wrong, or its signature says less than ours.
WRONG_IN_THE_ORIGINAL = (
    "KafkaError.__init__: takes ['error',",
    "TimestampSpec.__init__: takes ['timestamp'], not ['_']",
)


def test_every_name_signature_and_docstring_of_the_real_package_is_there() -> None:
    lines = [line for line in missing() if not line.startswith(ITS_OWN_WORKINGS)]
    assert [line for line in lines if not any(wrong in line for wrong in WRONG_IN_THE_ORIGINAL)] == []


def test_the_inventory_covers_all_but_what_comes_later() -> None:
    modules = real_modules()
    assert {"confluent_kafka.cimpl", "confluent_kafka.aio.producer", "confluent_kafka.admin"} <= set(modules)
    assert not any(module.startswith(LATER) for module in modules)


@pytest.mark.parametrize("module", LATER[:2])
def test_what_comes_later_has_its_place(module: str) -> None:
    with pytest.raises(ImportError, match=f"{module} yet"):
        __import__(f"barnabas.compat.{module}")
