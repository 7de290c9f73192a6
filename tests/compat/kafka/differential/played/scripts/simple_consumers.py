"""SimpleConsumer and MultiProcessConsumer of kafka-python 1.2, and the context around commits."""

import time

from tests.compat.kafka.differential.played.script import on_kafka

LETTERS = [b"a", b"b", b"c", b"d", b"e", b"f"]


def consumer_of(kafka, stage, group, topic, **settings):
    settings = dict({"auto_commit": False, "max_buffer_size": None, "iter_timeout": 2}, **settings)
    consumer = kafka.SimpleConsumer(stage.simple_client(), group, topic, **settings)
    stage.closing(consumer.stop)
    return consumer


def values(messages):
    return [each.message.value for each in messages]


def read(stage, consumer, count):
    found = []

    def step():
        found.extend(consumer.get_messages(count - len(found), timeout=1))

    stage.until(lambda: len(found) >= count, step)
    return found


@on_kafka("1.2")
def a_simple_consumer_reads_from_the_beginning(kafka, stage):
    topic = stage.filled_topic(*LETTERS)
    consumer = consumer_of(kafka, stage, None, topic)
    stage.record("offsets", consumer.offsets)
    found = consumer.get_message(timeout=10)
    stage.record("first", (type(found).__name__, found.offset, found.message.key, found.message.value))
    stage.record("next", values(read(stage, consumer, 3)))
    stage.record("then", consumer.offsets)
    stage.record("rest", values(read(stage, consumer, 2)))
    stage.attempt("no more", consumer.get_message, block=False)
    stage.attempt("none", consumer.get_messages, count=3, timeout=0.2)


@on_kafka("1.2")
def a_simple_consumer_is_iterated(kafka, stage):
    topic = stage.filled_topic(*LETTERS)
    consumer = consumer_of(kafka, stage, None, topic)
    stage.record("values", values(consumer))
    stage.fill(topic, b"later")
    stage.record("more", values(consumer))


@on_kafka("1.2")
def a_simple_consumer_gives_partitions(kafka, stage):
    topic = stage.topic(partitions=2)
    stage.fill(topic, b"a", b"b", partition=1)
    consumer = consumer_of(kafka, stage, None, topic)
    consumer.provide_partition_info()
    partition, message = consumer.get_message(timeout=10)
    stage.record("first", (partition, message.message.value))
    stage.record("several", [(number, each.offset) for number, each in read(stage, consumer, 1)])
    stage.fill(topic, b"c", b"d", partition=1)
    consumer.partition_info = False
    partition, message = consumer.get_message(timeout=10, get_partition_info=True)
    stage.record("asked for", (partition, message.message.value))
    stage.record("without", consumer.get_message(timeout=10).message.value)


@on_kafka("1.2")
def a_simple_consumer_reads_some_partitions(kafka, stage):
    topic = stage.topic(partitions=3)
    for number in range(3):
        stage.fill(topic, b"%d" % number, partition=number)
    consumer = consumer_of(kafka, stage, None, topic, partitions=[0, 2])
    stage.record("offsets", sorted(consumer.offsets))
    stage.record("values", sorted(values(read(stage, consumer, 2))))
    stage.raised("text", consumer_of, kafka, stage, None, topic, partitions=["0"])


@on_kafka("1.2")
def a_simple_consumer_reads_compressed_messages(kafka, stage):
    topic = stage.topic()
    protocol = stage.module("protocol")
    for codec in (protocol.CODEC_GZIP, protocol.CODEC_SNAPPY):
        kafka.SimpleProducer(stage.simple_client(), codec=codec).send_messages(topic, b"a", b"b")
    consumer = consumer_of(kafka, stage, None, topic)
    stage.record("values", [(each.offset, each.message.value) for each in read(stage, consumer, 4)])


@on_kafka("1.2")
def a_simple_consumer_goes_on_where_its_group_committed(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    consumer = consumer_of(kafka, stage, group, topic)
    stage.attempt("nothing to commit", consumer.commit)
    stage.record("values", values(read(stage, consumer, 4)))
    stage.record("count", consumer.count_since_commit)
    stage.attempt("commit", consumer.commit)
    stage.record("count after", consumer.count_since_commit)
    other = consumer_of(kafka, stage, group, topic)
    stage.record("offsets", other.offsets)
    stage.record("goes on", values(read(stage, other, 2)))
    third = consumer_of(kafka, stage, group, topic)
    stage.record("was not committed", third.offsets)
    other.commit(partitions=[0])
    third.fetch_last_known_offsets()
    stage.record("is now", third.offsets)


@on_kafka("1.2")
def a_simple_consumer_commits_after_so_many_messages(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    settings = {"auto_commit": True, "auto_commit_every_n": 2, "auto_commit_every_t": None}
    consumer = consumer_of(kafka, stage, group, topic, **settings)
    for _ in range(3):
        consumer.get_message(timeout=10)
    stage.record("count", consumer.count_since_commit)
    stage.record("committed", consumer_of(kafka, stage, group, topic).offsets)
    read(stage, consumer, 2)
    stage.record("count of several", consumer.count_since_commit)


@on_kafka("1.2")
def a_simple_consumer_commits_every_so_often(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    settings = {"auto_commit": True, "auto_commit_every_n": None, "auto_commit_every_t": 100}
    consumer = consumer_of(kafka, stage, group, topic, **settings)
    consumer.get_message(timeout=10)
    stage.until(lambda: consumer.count_since_commit == 0)
    stage.record("committed", consumer_of(kafka, stage, group, topic).offsets)
    consumer.stop()


@on_kafka("1.2")
def a_simple_consumer_commits_when_it_stops(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    consumer = consumer_of(kafka, stage, group, topic, auto_commit=True)
    read(stage, consumer, 3)
    stage.attempt("stop", consumer.stop)
    stage.record("committed", consumer_of(kafka, stage, group, topic).offsets)


@on_kafka("1.2")
def a_simple_consumer_seeks(kafka, stage):
    topic = stage.filled_topic(*LETTERS)
    consumer = consumer_of(kafka, stage, None, topic)
    steps = [(2,), (0, 0), (1, 0), (-2, 2), (-3, 1), (0, 2), (3, None, 0), (0, 0, 0), (-1, 2, 0), (1, 1, 0)]
    for step in steps:
        stage.attempt("seek", consumer.seek, *step)
        stage.record("offsets", (step, consumer.offsets))
    consumer.seek(-2, 2)
    stage.record("values", values(read(stage, consumer, 2)))
    consumer.seek(-1, 1)
    stage.record("again", values(read(stage, consumer, 1)))
    stage.attempt("no such whence", consumer.seek, 0, 7)


@on_kafka("1.2")
def a_simple_consumer_seeks_all_partitions_together(kafka, stage):
    topic = stage.topic(partitions=3)
    for number in range(3):
        stage.fill(topic, *LETTERS, partition=number)
    consumer = consumer_of(kafka, stage, None, topic)
    for step in ((4, 0), (-4, 2), (1, 1), (2,)):
        consumer.seek(*step)
        stage.record("offsets", (step, sorted(consumer.offsets.values())))


@on_kafka("1.2")
def a_simple_consumer_commits_where_it_seeks(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    settings = {"auto_commit": True, "auto_commit_every_t": None}
    consumer = consumer_of(kafka, stage, group, topic, **settings)
    consumer.seek(4)
    stage.record("committed", consumer_of(kafka, stage, group, topic).offsets)


@on_kafka("1.2")
def a_simple_consumer_tells_what_is_pending(kafka, stage):
    topic = stage.topic(partitions=2)
    stage.fill(topic, *LETTERS)
    stage.fill(topic, b"a", partition=1)
    consumer = consumer_of(kafka, stage, None, topic)
    stage.record("all", consumer.pending())
    stage.record("of one", consumer.pending([0]))
    consumer.seek(0, 2)
    stage.record("at the end", consumer.pending())


@on_kafka("1.2")
def a_simple_consumer_resets_offsets(kafka, stage):
    topic = stage.filled_topic(*LETTERS)
    smallest = consumer_of(kafka, stage, None, topic, auto_offset_reset="smallest")
    smallest.seek(100)
    stage.record("smallest", values(read(stage, smallest, 2)))
    largest = consumer_of(kafka, stage, None, topic)
    largest.seek(100)
    stage.record("largest", largest.get_messages(timeout=0.5))
    stage.fill(topic, b"later")
    stage.record("later", values(read(stage, largest, 1)))
    stage.attempt("by hand", smallest.reset_partition_offset, 0)
    none = consumer_of(kafka, stage, None, topic, auto_offset_reset="none")
    none.seek(100)
    stage.raised("none", none.get_message, timeout=1)
    stage.attempt("by hand without", none.reset_partition_offset, 0)


@on_kafka("1.2")
def a_simple_consumer_makes_room_for_large_messages(kafka, stage):
    topic = stage.filled_topic(b"a" * 20000, b"small", b"b" * 9000)
    consumer = consumer_of(kafka, stage, None, topic, max_buffer_size=40000)
    stage.record("sizes", [len(value) for value in values(read(stage, consumer, 3))])


@on_kafka("1.2")
def a_simple_consumer_has_a_largest_size(kafka, stage):
    topic = stage.filled_topic(b"a" * 20000)
    stage.keep_log()
    consumer = consumer_of(kafka, stage, None, topic, max_buffer_size=8192)
    stage.attempt("too large", consumer.get_message, timeout=5)
    stage.record_log("logged", "Max fetch size 8192 too small", "Fetch size too small, increase to 8192 (2x)")
    stage.attempt("sizes", consumer_of, kafka, stage, None, topic, buffer_size=10, max_buffer_size=5)


@on_kafka("1.2")
def a_simple_consumer_without_a_group_does_not_ask_for_one(kafka, stage):
    topic = stage.topic()
    consumer = consumer_of(kafka, stage, None, topic)
    stage.attempt("fetch", consumer.fetch_last_known_offsets)
    stage.record("begins with", repr(consumer)[:27])


@on_kafka("1.2")
def a_simple_consumer_waits_for_messages(kafka, stage):
    topic = stage.topic()
    consumer = consumer_of(kafka, stage, None, topic)
    begun = time.time()
    stage.record("none", consumer.get_messages(count=1, timeout=1))
    stage.record("waited", time.time() - begun > 0.9)
    begun = time.time()
    stage.record("at once", consumer.get_messages(count=1, block=False, timeout=5))
    stage.record("did not wait", time.time() - begun < 2)
    stage.fill(topic, b"a", b"b", b"c")
    found = []
    stage.until(lambda: found, lambda: found.extend(consumer.get_messages(5, block=1, timeout=5)))
    stage.record("as many as are there", values(found))


@on_kafka("1.2")
def a_commit_context_commits_what_is_marked(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    context = stage.module("context").OffsetCommitContext
    consumer = consumer_of(kafka, stage, group, topic)
    consumer.provide_partition_info()
    consumer.fetch_last_known_offsets()
    with context(consumer) as marks:
        for partition, message in read(stage, consumer, 4):
            if message.message.value < b"c":
                marks.mark(partition, message.offset)
        stage.record("marked", marks.high_water_mark)
    stage.record("offsets", consumer.offsets)
    stage.record("committed", consumer_of(kafka, stage, group, topic).offsets)
    stage.record("again", [each.message.value for _, each in read(stage, consumer, 2)])
    with context(consumer):
        read(stage, consumer, 1)
    stage.record("nothing marked", consumer.offsets)


@on_kafka("1.2")
def a_commit_context_goes_back_after_an_error(kafka, stage):
    topic, group = stage.filled_topic(*LETTERS), stage.group()
    context = stage.module("context").OffsetCommitContext
    consumer = consumer_of(kafka, stage, group, topic)
    consumer.provide_partition_info()
    read(stage, consumer, 2)

    def fail(error):
        with context(consumer) as marks:
            ((partition, message),) = read(stage, consumer, 1)
            marks.mark(partition, message.offset)
            raise error

    stage.attempt("error", fail, ValueError("no"))
    stage.record("offsets", consumer.offsets)
    stage.attempt("out of range", fail, stage.module("errors").OffsetOutOfRangeError("gone"))
    stage.record("at the beginning", consumer.offsets)


@on_kafka("1.2")
def a_multi_process_consumer_reads(kafka, stage):
    topic, group = stage.topic(partitions=2), stage.group()
    for number in range(2):
        stage.fill(topic, *LETTERS, partition=number)
    settings = {"num_procs": 2, "auto_commit": False, "max_buffer_size": None}
    consumer = kafka.MultiProcessConsumer(stage.simple_client(), group, topic, **settings)
    stage.closing(consumer.stop)
    stage.record("processes", len(consumer.procs))
    consumer.provide_partition_info()
    found = []
    stage.until(
        lambda: len(found) >= 12, lambda: found.extend(consumer.get_messages(12 - len(found), timeout=2))
    )
    for number in range(2):
        stage.record("values", [each.message.value for partition, each in found if partition == number])
    stage.record("offsets", consumer.offsets)
    stage.attempt("commit", consumer.commit)
    stage.attempt("stop", consumer.stop)
    stage.record("committed", consumer_of(kafka, stage, group, topic).offsets)


@on_kafka("1.2")
def a_multi_process_consumer_is_iterated(kafka, stage):
    topic = stage.filled_topic(*LETTERS)
    consumer = kafka.MultiProcessConsumer(stage.simple_client(), None, topic, auto_commit=False)
    stage.closing(consumer.stop)
    found = []
    stage.until(lambda: len(found) >= 6, lambda: found.extend(values(consumer)))
    stage.record("values", found)
    stage.record("pending", consumer.pending())
