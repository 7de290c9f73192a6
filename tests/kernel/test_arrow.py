from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from barnabas._kernel import Accumulator, RecordReader, stamp_batches, take_arrow
from barnabas.errors import CorruptBatchError, RecordTooLargeError, UnusableRecordError

Batch = Callable[..., bytes]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
COLUMNS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)


def numbered(batch: Batch, base: int, count: int, **options: Any) -> bytes:
    return batch([(i, b"%d" % i, b"v" * 10) for i in range(base, base + count)], base_offset=base, **options)


def columns(records: Any) -> pa.RecordBatch:
    taken = pa.record_batch(records)
    taken.validate(full=True)
    return taken


def test_columns_are_those_of_sparks_kafka_source(batch: Batch, codec: str) -> None:
    data = batch(
        [(1500, b"k", None), (2500, None, b"v", [("a", b"1"), ("b", None)])], compression=codec, base_offset=7
    )
    taken = columns(take_arrow([RecordReader("flights", 3, data)], 100))
    assert taken.schema == COLUMNS.append(pa.field("headers", HEADERS))
    assert [row | {"timestamp": row["timestamp"].timestamp()} for row in taken.to_pylist()] == [
        {
            "key": b"k",
            "value": None,
            "topic": "flights",
            "partition": 3,
            "offset": 7,
            "timestamp": 1.5,
            "timestampType": 0,
            "headers": None,
        },
        {
            "key": None,
            "value": b"v",
            "topic": "flights",
            "partition": 3,
            "offset": 8,
            "timestamp": 2.5,
            "timestampType": 0,
            "headers": [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
        },
    ]


def test_headers_are_left_out_on_request(batch: Batch) -> None:
    records = take_arrow([RecordReader("t", 0, numbered(batch, 0, 5))], 100, headers=False)
    assert columns(records).schema == COLUMNS


def test_nothing_to_read_gives_columns_without_rows() -> None:
    taken = columns(take_arrow([RecordReader("t", 0, b"")], 100))
    assert taken.num_rows == 0
    assert columns(take_arrow([], 100)).schema == taken.schema


def test_columns_outlive_everything_they_came_from(batch: Batch) -> None:
    records = take_arrow([RecordReader("t", 0, numbered(batch, 0, 1000))], 1000)
    first, second = pa.record_batch(records), pa.record_batch(records)
    values = second["key"]
    del records, second
    gc.collect()
    assert first["key"] == values
    assert values[999].as_py() == b"999"


def test_columns_that_nobody_takes_are_freed(batch: Batch) -> None:
    records = take_arrow([RecordReader("t", 0, numbered(batch, 0, 10))], 10)
    for _ in range(3):
        capsules = records.__arrow_c_array__()
        schema = records.__arrow_c_schema__()
        del capsules, schema
    assert columns(records).num_rows == 10


def test_readers_are_emptied_in_their_order_up_to_the_row_limit(batch: Batch, codec: str) -> None:
    readers = [
        RecordReader(
            "a", 0, numbered(batch, 0, 5, compression=codec) + numbered(batch, 5, 5, compression=codec)
        ),
        RecordReader("b", 1, numbered(batch, 100, 5, compression=codec), fetch_offset=100),
    ]
    rows: list[tuple[str, int, int]] = []
    sizes: list[int] = []
    while (taken := columns(take_arrow(readers, 4))).num_rows:
        sizes.append(taken.num_rows)
        rows += [(row["topic"], row["partition"], row["offset"]) for row in taken.to_pylist()]
    assert sizes == [4, 4, 4, 3]
    assert rows == [("a", 0, i) for i in range(10)] + [("b", 1, i) for i in range(100, 105)]
    assert [(reader.next_offset, reader.remaining_bytes) for reader in readers] == [(10, 0), (105, 0)]


def test_the_topic_is_right_whatever_was_read_before(batch: Batch) -> None:
    for topics, count in [("a", 5), ("a", 50), ("bb", 3), ("a", 7), ("abba", 2), ("aab", 20), ("a", 50)]:
        readers = [RecordReader(topic, 0, numbered(batch, 0, count)) for topic in topics]
        taken = columns(take_arrow(readers, 1000))
        assert taken.column("topic").to_pylist() == [topic for topic in topics for _ in range(count)]


def test_columns_in_memory_that_was_used_before_show_nothing_of_it(batch: Batch) -> None:
    """Key, value and headers of random lengths and nulls, in batches that are dropped one after the other."""
    chance = random.Random(4)

    def some_bytes() -> bytes | None:
        return chance.choice([None, b"", chance.randbytes(chance.choice([3, 16, 17, 64, 65, 128, 129, 300]))])

    for _ in range(20):
        rows = [
            (i, some_bytes(), some_bytes(), [("h", some_bytes())] * chance.choice([0, 0, 1, 2]))
            for i in range(chance.choice([1, 9, 3000]))
        ]
        taken = columns(take_arrow([RecordReader("t", 0, batch(rows))], 10_000))
        assert taken.column("key").to_pylist() == [key for _, key, _, _ in rows]
        assert taken.column("value").to_pylist() == [value for _, _, value, _ in rows]
        assert taken.column("headers").to_pylist() == [
            [{"key": key, "value": value} for key, value in headers] or None for _, _, _, headers in rows
        ]


def test_rows_stop_at_about_the_byte_limit(batch: Batch) -> None:
    reader = RecordReader("t", 0, batch([(1, None, bytes(100))] * 10 + [(1, None, bytes(5000))]))
    sizes: list[int] = []
    while rows := take_arrow([reader], 100, max_bytes=350).num_rows:
        sizes.append(rows)
    assert sizes == [3, 3, 3, 1, 1]


def test_end_offsets_are_exact(batch: Batch, control_batch: Batch, codec: str) -> None:
    data = numbered(batch, 0, 10, compression=codec) + numbered(batch, 10, 10, compression=codec)
    for end in range(22):
        reader = RecordReader("t", 0, data + control_batch(20, 1, commit=True))
        taken = columns(take_arrow([reader], 100, end_offsets=[end]))
        assert taken["offset"].to_pylist() == list(range(min(end, 20)))
        assert reader.next_offset == end
        rest = columns(take_arrow([reader], 100))
        assert rest["offset"].to_pylist() == list(range(end, 20))


def test_a_gap_before_the_end_offset_is_passed_over(batch: Batch) -> None:
    reader = RecordReader("t", 0, numbered(batch, 0, 5) + numbered(batch, 50, 5))
    assert columns(take_arrow([reader], 100, end_offsets=[20])).num_rows == 5
    assert reader.next_offset == 20
    assert columns(take_arrow([reader], 100))["offset"].to_pylist() == [50, 51, 52, 53, 54]


def test_each_reader_has_an_end_offset_or_none_has(batch: Batch) -> None:
    with pytest.raises(ValueError, match="2 end offsets for 1 readers"):
        take_arrow([RecordReader("t", 0, b"")], 1, end_offsets=[1, 2])


def test_a_corrupt_batch_comes_after_the_rows_before_it_and_names_its_partition(batch: Batch) -> None:
    bad = bytearray(numbered(batch, 5, 5))
    bad[-1] ^= 1
    readers = [RecordReader("a", 0, numbered(batch, 0, 5)), RecordReader("b", 7, bad, fetch_offset=5)]
    assert take_arrow(readers, 100).num_rows == 5
    with pytest.raises(CorruptBatchError, match="b-7 at offset 5: wrong checksum"):
        take_arrow(readers, 100)


def test_text_that_is_not_utf_8_in_a_headers_key_is_replaced(batch: Batch) -> None:
    data = bytearray(batch([(1, None, None, [("ab", None)])]))
    data[data.index(b"ab") + 1] = 0xFF
    taken = columns(take_arrow([RecordReader("t", 0, data, check_crcs=False)], 10))
    assert taken["headers"].to_pylist() == [[{"key": "a�", "value": None}]]


def accumulator(**settings: Any) -> Accumulator:
    made = Accumulator(
        **{
            "batch_size": 1000,
            "buffer_memory": 1 << 25,
            "max_record_bytes": 1 << 20,
            "compression": "none",
            "compression_level": None,
            "partitioner": "murmur2",
            "wake": lambda: None,
        }
        | settings
    )
    made.set_partition_count("t", 3)
    return made


def send_all(made: Accumulator) -> list[RecordReader]:
    """Completes whatever waits, as a log would have it; a reader for each partition."""
    logs = [b""] * 3
    offsets = [0] * 3
    for topic, partition in made.partitions():
        while batch := made.drain(topic, partition):
            logs[partition] += stamp_batches(batch.encode(), offsets[partition], 0)
            batch.complete(offsets[partition])
            offsets[partition] += batch.record_count
            made.release(batch)
    return [RecordReader("t", partition, log) for partition, log in enumerate(logs)]


ROWS = 2000
KEYS = [
    None if i % 7 == 0 else f"key {i} of a length beyond twelve" if i % 2 else f"{i}" for i in range(ROWS)
]
VALUES = [None if i % 11 == 0 else f"v{i}" * (i % 9) for i in range(ROWS)]
HEADER_ROWS = [
    None if i % 3 == 0 else [] if i % 3 == 1 else [{"key": f"h{i}", "value": None if i % 2 else b"x"}] * 2
    for i in range(ROWS)
]


def rows_of(table: pa.Table | pa.RecordBatch) -> list[tuple[Any, ...]]:
    def as_bytes(value: str | bytes | None) -> bytes | None:
        return value.encode() if isinstance(value, str) else value

    return sorted(
        (
            row["timestamp"].timestamp(),
            as_bytes(row["key"]),
            as_bytes(row["value"]),
            str(row["headers"] or None),
        )
        for row in table.to_pylist()
    )


@pytest.mark.parametrize(
    "text",
    [pa.binary(), pa.string(), pa.large_binary(), pa.large_string(), pa.binary_view(), pa.string_view()],
    ids=str,
)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_rows_of_every_layout_come_back(text: pa.DataType, unit: str) -> None:
    seconds = pa.array(range(ROWS), pa.timestamp("s", "UTC"))
    table = pa.table(
        {
            "key": pa.array([k and k.encode() for k in KEYS] if "binary" in str(text) else KEYS, text),
            "value": pa.array([v and v.encode() for v in VALUES] if "binary" in str(text) else VALUES, text),
            "headers": pa.array(HEADER_ROWS, HEADERS),
            "timestamp": seconds.cast(pa.timestamp(unit, "UTC")),
        }
    )
    chunks = [table.slice(0, 17), table.slice(17, 1000), table.slice(1017)]
    made = accumulator()
    taken, deliveries = made.append_arrow("t", pa.concat_tables(chunks))
    assert taken == ROWS
    readers = send_all(made)
    assert rows_of(columns(take_arrow(readers, 10_000))) == rows_of(table)
    assert all(delivery.done() for delivery in deliveries)
    assert made.buffered_records == made.buffered_bytes == 0


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()], ids=str)
def test_a_partition_column_decides_where_rows_go(kind: pa.DataType) -> None:
    table = pa.table(
        {"value": [b"%d" % i for i in range(9)], "partition": pa.array([0, 1, 2, 1, 1, 1, None, 0, 2], kind)}
    )
    made = accumulator(partitioner="consistent")
    made.append_arrow("t", table)
    values = [[record.value for record in reader] for reader in send_all(made)]
    assert values == [[b"0", b"6", b"7"], [b"1", b"3", b"4", b"5"], [b"2", b"8"]]


def test_what_was_read_can_be_written_again(batch: Batch) -> None:
    taken = columns(take_arrow([RecordReader("source", 0, numbered(batch, 0, 50))], 100))
    made = accumulator()
    assert made.append_arrow("t", taken)[0] == 50
    assert (
        made.append_arrow("t", take_arrow([RecordReader("source", 0, numbered(batch, 0, 50))], 100))[0] == 50
    )
    keys = [record.key for reader in send_all(made) for record in reader]
    assert sorted(keys) == sorted([b"%d" % i for i in range(50)] * 2)


def test_headers_may_be_a_map_a_large_list_or_missing() -> None:
    entries = [[("a", b"1")], None, [("b", None), ("b", b"2")]]
    as_map = pa.array(entries, pa.map_(pa.string(), pa.binary()))
    as_structs = [row and [{"key": k, "value": v} for k, v in row] for row in entries]
    as_list = pa.array(as_structs, pa.large_list(HEADERS.value_type))
    for headers in (as_map, as_list):
        made = accumulator()
        made.append_arrow("t", pa.table({"value": [b""] * 3, "headers": headers, "partition": [0, 0, 0]}))
        found = [record.headers for record in send_all(made)[0]]
        assert found == [tuple(row or ()) for row in entries]
    assert accumulator().append_arrow("t", pa.table({"value": [b""], "headers": pa.nulls(1)}))[0] == 1


def test_deliveries_resolve_to_the_last_row_of_each_batch() -> None:
    made = accumulator(batch_size=200)
    rows = {"value": [bytes(50)] * 10, "partition": [1] * 10}
    taken, deliveries = made.append_arrow("t", pa.table(rows), timestamp=77)
    assert taken == 10
    assert not any(delivery.done() for delivery in deliveries)
    send_all(made)
    offsets = [delivery.result(0).offset for delivery in deliveries]
    assert offsets[-1] == 9
    assert len(offsets) == len(set(offsets)) > 1
    assert {delivery.result(0).timestamp for delivery in deliveries} == {77}


def test_a_delivery_fails_if_any_of_its_rows_does_even_after_a_split() -> None:
    made = accumulator(batch_size=10_000)
    _, (delivery,) = made.append_arrow("t", pa.table({"value": [bytes(100)] * 9, "partition": [1] * 9}))
    batch = made.drain("t", 1)
    assert batch is not None
    first, *others = batch.split(400)
    for part in others:
        part.complete(0)
    assert not delivery.done()
    first.fail(ValueError("the first part"))
    with pytest.raises(ValueError, match="the first part"):
        delivery.result(0)


def test_a_full_buffer_takes_what_it_can_and_the_rest_later() -> None:
    table = pa.table({"value": [b"%03d" % i + bytes(97) for i in range(100)], "partition": [0] * 100})
    made = accumulator(buffer_memory=2000)
    position = 0
    values: list[bytes | None] = []
    while position < 100:
        taken, _ = made.append_arrow("t", table, row_offset=position)
        assert 0 < taken < 20
        assert made.append_arrow("t", table, row_offset=position + taken) == (0, [])
        position += taken
        values += [record.value for record in send_all(made)[0]]
    assert values == table["value"].to_pylist()


def test_nothing_is_taken_for_a_topic_that_is_not_known_yet() -> None:
    assert accumulator().append_arrow("other", pa.table({"value": [b"1"]})) == (0, [])


def test_rows_before_a_bad_one_are_taken_and_the_next_call_names_it() -> None:
    table = pa.table({"value": [b"1", b"2", bytes(1 << 21)]})
    made = accumulator()
    assert made.append_arrow("t", table)[0] == 2
    with pytest.raises(RecordTooLargeError, match=r"row 2: .*topic t is larger than max_request_size"):
        made.append_arrow("t", table, row_offset=2)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"value": [1]}, 'column value has the Arrow type "l"; it must be binary or string'),
        ({"key": [b""]}, "no column value"),
        ({"value": [b""], "keys": [b""]}, 'no use for column "keys"'),
        ({"value": [b""], "partition": [3]}, "row 0: topic t has no partition 3; its partitions are 0 to 2"),
        ({"value": [b""], "partition": [-1]}, "row 0: topic t has no partition -1"),
        (
            {"value": [b""], "partition": [1 << 40]},
            f"row 0: topic t has no partition {1 << 40}, nor can there be",
        ),
        ({"value": [b""], "partition": [0.5]}, "must be int32"),
        ({"value": [b""], "timestamp": [-1]}, "timestamp -1 ms is before 1970"),
        ({"value": [b""], "timestamp": ["now"]}, "must be a timestamp"),
        ({"value": [b""], "headers": [[b"a"]]}, "must be a list of structs"),
        ({"value": pa.array(["a"]).dictionary_encode()}, "must be binary or string"),
    ],
)
def test_columns_that_cannot_be_records_are_refused_with_a_reason(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableRecordError, match=reason):
        accumulator().append_arrow("t", pa.table(table))


def test_a_null_key_of_a_header_is_refused() -> None:
    headers = pa.array([[{"key": None, "value": b""}]], HEADERS)
    with pytest.raises(UnusableRecordError, match="a header's key is null in row 0"):
        accumulator().append_arrow("t", pa.table({"value": [b""], "headers": headers}))


def test_what_is_not_arrow_is_refused() -> None:
    with pytest.raises(TypeError, match="list is not Arrow data"):
        accumulator().append_arrow("t", [b"1"])
