"""Record batches that are made and read by hand."""

from tests.compat.kafka.differential.played.script import script


def builder_of(stage, codec=0, size=10000, **settings):
    return stage.module("record").MemoryRecordsBuilder(2, codec, size, **settings)


@script("2", "3")
def batches_are_written_and_read(kafka, stage):
    for codec in (0, 1):
        builder = builder_of(stage, codec)
        for number in range(3):
            made = builder.append(1000 + number, b"k", b"value %d" % number, [("h", b"x")])
            stage.record("made", [made.offset, made.size, made.timestamp, made.crc])
        stage.record("next", [builder.next_offset(), builder.is_full()])
        builder.close()
        stage.record("late", builder.append(1, None, None, []))
        records = stage.module("record").MemoryRecords(builder.buffer())
        stage.record("size", records.size_in_bytes() == builder.size_in_bytes() == records.valid_bytes())
        stage.record("has next", records.has_next())
        batch = records.next_batch()
        stage.record(
            "offsets", [batch.base_offset, batch.last_offset_delta, batch.magic, batch.compression_type]
        )
        stage.record("times", [batch.first_timestamp, batch.max_timestamp, batch.timestamp_type])
        stage.record("producer", [batch.producer_id, batch.producer_epoch, batch.base_sequence])
        stage.record("kind", [batch.is_transactional, batch.is_control_batch, batch.validate_crc()])
        for record in batch:
            stage.record("record", [record.offset, record.timestamp, record.timestamp_type])
            stage.record("content", [record.key, record.value, record.headers, record.checksum])
        stage.record("no more", [records.has_next(), records.next_batch()])


@script("2", "3")
def batches_without_compression_are_the_same_bytes(kafka, stage):
    builder = builder_of(stage, producer_id=5, producer_epoch=1, base_sequence=7, transactional=True)
    builder.append(1000, None, b"value", [])
    builder.append(1007, b"key", None, [])
    builder.close()
    stage.record("bytes", builder.buffer())
    batch = next(stage.module("record").MemoryRecords(builder.buffer() + b"\0\0\0"))
    stage.record("producer", [batch.producer_id, batch.producer_epoch, batch.base_sequence])
    stage.record("transactional", batch.is_transactional)


@script("2", "3")
def batches_are_full(kafka, stage):
    builder = builder_of(stage, size=100)
    stage.record("first", builder.append(1, None, b"x" * 200, []) is not None)
    stage.record("second", builder.append(1, None, b"x", []))
    stage.record("full", builder.is_full())
    stage.attempt("codec", builder_of, stage, 9)
    stage.attempt("epoch", builder_of, stage, 0, producer_id=5)
