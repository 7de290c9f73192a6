from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from barnabas._kernel import DecodedRecord, Record, decoded_records

RAW = Record("t", 3, 9, 17, b"k", b"v", [("h", b"1")], timestamp_type=1, leader_epoch=4)


def upper(record: Record) -> str:
    assert record.value is not None
    return record.value.decode().upper()


def failing(record: Record) -> None:
    raise ValueError("no")


def test_all_but_key_and_value_is_the_records_own() -> None:
    [record] = decoded_records([RAW], None, upper)
    assert (record.key, record.value) == (b"k", "V")
    for name in ("topic", "partition", "offset", "timestamp", "timestamp_type", "headers", "leader_epoch"):
        assert getattr(record, name) == getattr(RAW, name)
    assert record == RAW
    assert hash(record) == hash(RAW)
    assert (record.raw, type(record.raw)) == (RAW, Record)
    assert RAW.raw is RAW


def test_a_record_with_decoders_keeps_those_it_has() -> None:
    [record] = decoded_records([RAW], None, upper)
    assert decoded_records([record], failing, failing) == [record]
    assert decoded_records([record], failing, failing)[0].value == "V"


def test_a_copy_has_the_decoders_too() -> None:
    record = DecodedRecord(RAW, None, upper)
    again = pickle.loads(pickle.dumps(record))
    assert (again, again.value, again.headers, again.leader_epoch) == (record, "V", RAW.headers, 4)


def test_a_decoder_is_not_called_for_none_and_what_it_raises_is_not_kept() -> None:
    record = DecodedRecord(Record("t", 0, 0, value=b"v"), failing, failing)
    assert record.key is None
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            _ = record.value
    assert repr(record).endswith("key=None, value=b'v', headers=())")


def test_a_value_that_leads_back_to_its_record_is_collected() -> None:
    class Value:
        record: Any = None

    record = DecodedRecord(RAW, None, lambda _: Value())
    record.value.record = record
    value = weakref.ref(record.value)
    del record
    gc.collect()
    assert value() is None


def test_classes_take_types_in_annotations() -> None:
    assert Record[str, int].__args__ == (str, int)
