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


@script("2", "3")
def batches_are_written_record_by_record(kafka, stage):
    records = stage.module("record.default_records")
    builder = records.DefaultRecordBatchBuilder(2, 0, 1, 7, 2, 5, 200)
    stage.record("empty", [builder.size(), builder.header_size_in_bytes()])
    stage.record("made", repr(builder.append(0, 1000, b"key", b"value", [("h", None), ("i", b"x")])))
    stage.record("made later", repr(builder.append(3, 990, None, b"", [])))
    stage.attempt("offset", builder.append, "1", 1000, None, None, [])
    stage.attempt("time", builder.append, 4, 1.5, None, None, [])
    stage.attempt("key", builder.append, 4, 1000, "key", None, [])
    stage.attempt("value", builder.append, 4, 1000, None, 5, [])
    stage.record("full", builder.append(4, 1000, None, b"x" * 300, []))
    stage.record("producer", [builder.producer_id, builder.producer_epoch])
    builder.set_producer_state(9, 1, 0, True)
    stage.attempt("no epoch", builder.set_producer_state, 9, -1, 0, True)
    built = builder.build()
    stage.record("type", type(built).__name__)
    stage.record("bytes", bytes(built))
    sizes = records.DefaultRecordBatchBuilder
    stage.record("size", sizes.size_in_bytes(300, -5, b"key", None, [("h", b"x")]))
    stage.record("size of", sizes.size_of(b"k" * 200, b"", []))
    stage.record("estimate", sizes.estimate_size_in_bytes(b"k", b"v", []))
    stage.record(
        "constants", [sizes.ATTRIBUTES_OFFSET, sizes.CRC_OFFSET, sizes.AFTER_LEN_OFFSET, sizes.MAX_INT]
    )
    batch = records.DefaultRecordBatch(built)
    stage.record("last", [batch.last_offset, batch.next_offset, batch.last_sequence, batch.records_count])
    stage.record("records", [(record.offset, record.timestamp, record.headers) for record in batch])


@script("2", "3")
def markers_of_transactions_are_records_too(kafka, stage):
    records = stage.module("record.default_records")
    for kind in (0, 1):
        builder = records.DefaultRecordBatchBuilder(2, 0, 1, 7, 2, -1, 200)
        builder.append(0, 1000, b"\0\0\0" + bytes([kind]), b"\0\0\0\0\0\0", [])
        built = bytearray(builder.build())
        built[records.DefaultRecordBatch.ATTRIBUTES_OFFSET + 1] |= records.DefaultRecordBatch.CONTROL_MASK
        batch = records.DefaultRecordBatch(built)
        stage.record("control", batch.is_control_batch)
        marker = next(iter(batch))
        stage.record("class", type(marker).__name__)
        stage.record("what", [marker.version, marker.type, marker.abort, marker.commit])
        stage.record("repr", repr(marker))


@script("2", "3")
def messages_of_old_are_written_and_read(kafka, stage):
    legacy = stage.module("record.legacy_records")
    for magic in (0, 1):
        for codec in (0, 1):
            builder = legacy.LegacyRecordBatchBuilder(magic, codec, 200)
            stage.record("made", repr(builder.append(0, 1000, b"key", b"value")))
            stage.record("made then", repr(builder.append(1, 1007, None, b"")))
            stage.record("full", builder.append(2, 1000, None, b"x" * 300))
            stage.record("size", builder.size())
            built = builder.build()
            if codec == 0:
                stage.record("bytes", bytes(built))
            found = stage.module("record").MemoryRecords(built)
            while found.has_next():
                batch = found.next_batch()
                stage.record(
                    "batch", [batch.base_offset, batch.magic, batch.timestamp_type, batch.validate_crc()]
                )
                stage.record("codec", batch.compression_type)
                for record in batch:
                    stage.record("record", [record.offset, record.timestamp, record.timestamp_type])
                    stage.record("content", [record.key, record.value, record.headers, record.checksum])
                    stage.record("right", [record.validate_crc(), record.size_in_bytes])
    builder = legacy.LegacyRecordBatchBuilder(1, 0, 200)
    stage.attempt("headers", builder.append, 0, 1000, None, None, [("h", b"x")])
    stage.attempt("time", builder.append, 0, "now", None, None)
    stage.attempt("key", builder.append, 0, 1000, "key", None)
    stage.record("estimate", legacy.LegacyRecordBatchBuilder.estimate_size_in_bytes(1, 1, b"k", b"v"))
    stage.attempt("magic", legacy.LegacyRecordBatchBuilder.record_size, 2, b"k", b"v")


@script("2", "3")
def builders_of_memory_records_write_all_formats(kafka, stage):
    for magic in (0, 1, 2):
        builder = stage.module("record").MemoryRecordsBuilder(magic, 0, 1000)
        builder.append(1000, b"k", b"v")
        builder.skip(2)
        builder.append(1001, None, b"w")
        stage.record("next", builder.next_offset())
        if stage.generation == "3":
            stage.record("producer", [builder.producer_id, builder.producer_epoch, builder.base_sequence])
        stage.within("state", builder.set_producer_state, 5, 0, 0, False)
        builder.close()
        stage.record("bytes", bytes(builder.buffer()))
        stage.raised("late", builder.set_producer_state, 5, 0, 0, False)
        stage.record("rate", builder.compression_rate())
    stage.attempt("idempotent", stage.module("record").MemoryRecordsBuilder, 1, 0, 1000, producer_id=5)
    stage.attempt("too short", stage.module("record").MemoryRecords(b"\0" * 11 + b"\1" + b"\0").next_batch)


@script("2", "3")
def numbers_of_variable_length_are_written_and_read(kafka, stage):
    util = stage.module("record.util")
    for number in (0, -1, 1, 63, -64, 64, 300, -70000, 2**31, -(2**40)):
        written = bytearray()
        util.encode_varint(number, written.append)
        stage.record(f"{number}", [bytes(written), util.size_of_varint(number), util.decode_varint(written)])
    stage.attempt("too long", util.decode_varint, b"\xff" * 11)
    stage.record("checksums", [util.calc_crc32(b"123456789"), util.calc_crc32c(b"123456789")])
