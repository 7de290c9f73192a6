"""SimpleClient of kafka-python 1.2: its metadata, and each of its requests."""

from tests.compat.kafka.differential.played.script import on_kafka, script


def payload(stage, name, *values):
    return getattr(stage.module("structs"), name)(*values)


def produce(stage, topic, *messages, partition=0):
    return payload(stage, "ProduceRequestPayload", topic, partition, list(messages))


def fetch(stage, topic, offset, max_bytes=4096, partition=0):
    return payload(stage, "FetchRequestPayload", topic, partition, offset, max_bytes)


def contents(response):
    """Without what was cut off, which is there by the formats that a broker keeps records in."""
    whole = [each for each in response.messages if each.offset is not None]
    return [(each.offset, each.message.key, each.message.value) for each in whole]


def told(message):
    return (message.magic, message.attributes, message.timestamp, message.key, message.value)


@on_kafka("1.2")
def a_simple_client_knows_partitions_and_their_leaders(kafka, stage):
    topic = stage.topic(partitions=3)
    client = stage.simple_client()
    stage.record("has it", client.has_metadata_for_topic(topic))
    stage.record("partitions", client.get_partition_ids_for_topic(topic))
    stage.record("among topics", topic in client.topics)
    stage.record("kinds", [type(each).__name__ for each in client.brokers.values()])
    leader = client.topics_to_brokers[stage.partition(topic, 1)]
    stage.record("leader is a broker", leader in client.brokers.values())
    stage.record("fields", leader._fields)
    stage.record("leaders", [type(each) for each in client.topic_partitions[topic].values()])
    stage.record("text", repr(client))


@on_kafka("1.2")
def a_simple_client_forgets_topics(kafka, stage):
    topic, other = stage.topic(), stage.topic()
    client = stage.simple_client()
    client.reset_topic_metadata(topic)
    stage.record("forgotten", client.has_metadata_for_topic(topic))
    stage.record("its partitions", client.get_partition_ids_for_topic(topic))
    stage.record("other", client.has_metadata_for_topic(other))
    client.load_metadata_for_topics(topic)
    stage.record("loaded", client.has_metadata_for_topic(topic))
    stage.record("and the other", client.has_metadata_for_topic(other))
    client.reset_all_metadata()
    stage.record("all forgotten", client.topics)
    stage.record("brokers stay", len(client.brokers))


@on_kafka("1.2")
def a_simple_client_says_when_a_topic_is_being_created(kafka, stage):
    client = stage.simple_client()
    topic = stage.name("created")
    stage.attempt("load", client.load_metadata_for_topics, topic)
    stage.attempt("ensure", client.ensure_topic_exists, topic)
    stage.record("has it", client.has_metadata_for_topic(topic))


@on_kafka("1.2")
def a_simple_client_refuses_names_that_brokers_do(kafka, stage):
    client = stage.simple_client()
    stage.attempt("load", client.load_metadata_for_topics, "no topic")


@script("1.2")
def a_simple_client_needs_a_broker(kafka, stage):
    stage.attempt("make", kafka.SimpleClient, "127.0.0.1:1")
    stage.attempt("several", kafka.SimpleClient, ["127.0.0.1:1"], timeout=5)
    stage.attempt("no port", kafka.SimpleClient, "127.0.0.1:port")


@on_kafka("1.2")
def a_simple_client_gives_the_answer_about_metadata(kafka, stage):
    topic = stage.topic(partitions=2)
    answer = stage.simple_client().send_metadata_request([topic])
    stage.record("class", type(answer).__name__)
    stage.record("fields", answer.SCHEMA.names)
    stage.record("brokers", [type(part).__name__ for part in answer.brokers[0]])
    code, name, partitions = answer.topics[0]
    stage.record("topic", (code, name))
    stage.record("partitions", sorted((code, number) for code, number, _, _, _ in partitions))


@on_kafka("1.2")
def a_simple_client_writes_messages(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    message = kafka.create_message
    stage.attempt("one", client.send_produce_request, [produce(stage, topic, message(b"a"))])
    several = produce(stage, topic, message(b"b", b"key"), message(None, b"gone"), message(b""))
    stage.attempt("several", client.send_produce_request, [several], acks=-1, timeout=5000)
    stage.record("records", [record[:3] for record in stage.records_of(topic)])
    stage.record("timestamps", [record[4] for record in stage.records_of(topic)])


@on_kafka("1.2")
def a_simple_client_writes_compressed_messages(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    pairs = [(b"first", None), (b"second", b"key")]
    zipped = kafka.create_gzip_message(pairs, key=b"outer")
    stage.attempt("gzip", client.send_produce_request, [produce(stage, topic, zipped)])
    snapped = kafka.create_snappy_message([(b"third", None)])
    stage.attempt("snappy", client.send_produce_request, [produce(stage, topic, snapped)])
    stage.record("records", [record[:3] for record in stage.records_of(topic)])


@on_kafka("1.2")
def a_simple_client_gives_no_answers_without_acks(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    sent = [produce(stage, topic, kafka.create_message(b"a"))]
    stage.attempt("none", client.send_produce_request, sent, acks=0)
    stage.until(lambda: stage.ask("end_offset", topic, 0) == 1)
    stage.record("records", [record[:3] for record in stage.records_of(topic)])


@on_kafka("1.2")
def a_simple_client_answers_in_the_order_of_payloads(kafka, stage):
    topic = stage.topic(partitions=4)
    client = stage.simple_client()
    sent = [produce(stage, topic, kafka.create_message(b"a"), partition=each) for each in (2, 0, 3, 1)]
    stage.record("produced", [each.partition for each in client.send_produce_request(sent)])
    asked = [fetch(stage, topic, 0, partition=each) for each in (3, 1, 0, 2)]
    found = client.send_fetch_request(asked, min_bytes=0)
    stage.record("fetched", [(each.partition, contents(each)) for each in found])


@on_kafka("1.2")
def a_simple_client_gives_answers_to_a_callback(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    sent = [produce(stage, topic, kafka.create_message(b"a"))]
    told = stage.callback("produced", then=lambda answer: answer.offset)
    stage.attempt("result", client.send_produce_request, sent, callback=told)
    asked = [fetch(stage, topic, 0)]
    stage.attempt("fetched", client.send_fetch_request, asked, callback=lambda each: each.highwaterMark)


@on_kafka("1.2")
def a_simple_client_refuses_acks(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    sent = [produce(stage, topic, kafka.create_message(b"a"))]
    stage.attempt("two", client.send_produce_request, sent, acks=2)


@on_kafka("1.2")
def a_simple_client_refuses_two_payloads_for_a_partition(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    stage.attempt("twice", client.send_fetch_request, [fetch(stage, topic, 0), fetch(stage, topic, 0)])


@on_kafka("1.2")
def a_simple_client_fails_payloads_without_a_leader(kafka, stage):
    topic = stage.topic()
    client = stage.simple_client()
    bad = produce(stage, topic, kafka.create_message(b"a"), partition=7)
    good = produce(stage, topic, kafka.create_message(b"a"))
    stage.attempt("raised", client.send_produce_request, [bad])
    answers = client.send_produce_request([bad, good], fail_on_error=False)
    stage.record("first", type(answers[0]))
    stage.record("its payload", answers[0].payload is bad)
    stage.record("second", answers[1])


@on_kafka("1.2")
def a_simple_client_raises_what_a_broker_refuses(kafka, stage):
    topic = stage.topic(max_message_bytes="1000")
    client = stage.simple_client()
    large = produce(stage, topic, kafka.create_message(b"a" * 2000))
    stage.attempt("raised", client.send_produce_request, [large])
    stage.attempt("given", client.send_produce_request, [large], fail_on_error=False)


@on_kafka("1.2")
def a_simple_client_reads_messages(kafka, stage):
    topic = stage.filled_topic(b"a", (b"key", b"b", None), (b"gone", None, None))
    client = stage.simple_client()
    (answer,) = client.send_fetch_request([fetch(stage, topic, 0)], min_bytes=1)
    stage.record("answer", type(answer).__name__)
    stage.record("topic", (answer.topic, answer.partition, answer.error, answer.highwaterMark))
    stage.record("messages", contents(answer))
    stage.record("one", told(answer.messages[0].message))
    stage.record("checksum", answer.messages[0].message.crc)
    stage.record("its class", type(answer.messages[0].message).__name__)
    stage.record("its checksum", answer.messages[0].message.validate_crc())
    stage.record("from 2", contents(client.send_fetch_request([fetch(stage, topic, 2)], min_bytes=1)[0]))
    stage.record("from the end", contents(client.send_fetch_request([fetch(stage, topic, 3)])[0]))


@on_kafka("1.2")
def a_simple_client_raises_for_an_offset_that_is_not_there(kafka, stage):
    topic = stage.filled_topic(b"a")
    client = stage.simple_client()
    stage.raised("raised", client.send_fetch_request, [fetch(stage, topic, 9)])
    (answer,) = client.send_fetch_request([fetch(stage, topic, 9)], fail_on_error=False)
    stage.record("given", (answer.error, answer.messages))


@on_kafka("1.2")
def a_simple_client_finds_a_message_larger_than_it_asks_for(kafka, stage):
    topic = stage.filled_topic(b"a" * 5000)
    client = stage.simple_client()
    (answer,) = client.send_fetch_request([fetch(stage, topic, 0, 1000)], min_bytes=1)
    stage.record("partial", [(each.offset, type(each.message).__name__) for each in answer.messages])
    (answer,) = client.send_fetch_request([fetch(stage, topic, 0, 10000)], min_bytes=1)
    stage.record("whole", [len(value) for _, _, value in contents(answer)])


@on_kafka("1.2")
def a_simple_client_tells_of_offsets(kafka, stage):
    topic = stage.filled_topic(b"a", b"b", b"c")
    client = stage.simple_client()
    for label, time, most in (("end", -1, 1), ("start", -2, 1), ("both", -1, 9), ("none", -1, 0)):
        asked = payload(stage, "OffsetRequestPayload", topic, 0, time, most)
        stage.attempt(label, client.send_offset_request, [asked])
    stage.ask("delete_records", topic, 0, 2)
    asked = payload(stage, "OffsetRequestPayload", topic, 0, -2, 1)
    stage.attempt("start of what is left", client.send_offset_request, [asked])
    asked = payload(stage, "OffsetRequestPayload", topic, 5, -2, 1)
    stage.attempt("of no partition", client.send_offset_request, [asked])


@on_kafka("1.2")
def a_simple_client_commits_offsets(kafka, stage):
    topic, group = stage.topic(partitions=2), stage.group()
    client = stage.simple_client()
    commit = payload(stage, "OffsetCommitRequestPayload", topic, 1, 12, None)
    ask = payload(stage, "OffsetFetchRequestPayload", topic, 1)
    stage.attempt("none raised", client.send_offset_fetch_request, group, [ask])
    stage.attempt("none", client.send_offset_fetch_request, group, [ask], fail_on_error=False)
    stage.attempt("commit", client.send_offset_commit_request, group, [commit])
    stage.attempt("committed", client.send_offset_fetch_request, group, [ask])
    commit = payload(stage, "OffsetCommitRequestPayload", topic, 1, 3, "note")
    stage.attempt("back", client.send_offset_commit_request, group, [commit])
    stage.record("is back", client.send_offset_fetch_request(group, [ask])[0].offset)
    bad = payload(stage, "OffsetCommitRequestPayload", topic, 9, 12, None)
    stage.attempt("of no partition", client.send_offset_commit_request, group, [bad])


@on_kafka("1.2")
def a_simple_client_can_be_copied(kafka, stage):
    topic = stage.filled_topic(b"a")
    client = stage.simple_client()
    copied = client.copy()
    stage.closing(copied.close)
    stage.record("class", type(copied).__name__)
    stage.record("knows it", copied.has_metadata_for_topic(topic))
    copied.reinit()
    client.close()
    stage.record("reads", contents(copied.send_fetch_request([fetch(stage, topic, 0)], min_bytes=1)[0]))


@on_kafka("1.2")
def a_simple_client_goes_on_after_its_connections_are_closed(kafka, stage):
    topic = stage.filled_topic(b"a")
    client = stage.simple_client()
    client.close()
    client.reinit()
    stage.record("reads", contents(client.send_fetch_request([fetch(stage, topic, 0)], min_bytes=1)[0]))


@on_kafka("1.2")
def kafka_client_is_a_simple_client(kafka, stage):
    topic = stage.topic()
    client = kafka.KafkaClient(stage.bootstrap)
    stage.closing(client.close)
    stage.record("is one", isinstance(client, kafka.SimpleClient))
    stage.record("has it", client.has_metadata_for_topic(topic))


@script("1.2")
def messages_are_made_of_bytes(kafka, stage):
    protocol = stage.module("protocol")
    stage.record("plain", kafka.create_message(b"value", b"key"))
    stage.record("no key", kafka.create_message(b"value"))
    zipped = kafka.create_gzip_message([(b"a", None), (b"b", b"key")], key=b"outer")
    stage.record("gzip", (zipped.magic, zipped.attributes, zipped.key))
    stage.record("snappy", kafka.create_snappy_message([(b"a", None)], key=b"outer")._replace(value=None))
    stage.record("set", protocol.create_message_set([(b"a", None), (b"b", b"key")]))
    stage.record("compressed", len(protocol.create_message_set([(b"a", None)] * 3, protocol.CODEC_GZIP)))
    stage.attempt("no codec", protocol.create_message_set, [(b"a", None)], 7)
    stage.record("codecs", protocol.ALL_CODECS)
    stage.attempt("text", protocol.create_message_set, [("text", None)], protocol.CODEC_GZIP)


@script("1.2")
def messages_of_old_are_encoded(kafka, stage):
    module = stage.module("protocol.message")
    message = module.Message(b"value", key=b"key")
    encoded = message.encode()
    stage.record("bytes", encoded)
    stage.record("checksum", message.crc)
    stage.record("decoded", told(module.Message.decode(encoded)))
    stage.record("is right", module.Message.decode(encoded).validate_crc())
    stage.record("is wrong", module.Message.decode(encoded[:-1] + b"!").validate_crc())
    newer = module.Message(None, magic=1, timestamp=5)
    stage.record("magic 1", newer.encode())
    stage.record("times", (message.timestamp_type, newer.timestamp_type))
    stage.record("its time", module.Message.decode(newer.encode()).timestamp)
    stage.attempt("magic 7", module.Message(b"a", magic=7).encode)
    stage.attempt("text", module.Message, "text")
    stage.attempt("time of magic 0", module.Message, b"a", timestamp=1)


@script("1.2")
def message_sets_are_encoded(kafka, stage):
    module = stage.module("protocol.message")
    entries = [(0, module.Message(b"a").encode()), (5, module.Message(b"b").encode())]
    encoded = module.MessageSet.encode(entries)
    stage.record("bytes", encoded)
    stage.record("without a size", module.MessageSet.encode(entries, size=False))
    decoded = module.MessageSet.decode(encoded)
    stage.record("decoded", [(offset, size, told(each)) for offset, size, each in decoded])
    cut = module.MessageSet.decode(encoded[4:-3], bytes_to_read=len(encoded) - 7)
    stage.record("cut off", [(offset, size, type(each).__name__) for offset, size, each in cut])
    packed = kafka.create_gzip_message([(b"inner", b"key")])
    wrapper = module.Message(packed.value, attributes=packed.attributes)
    stage.record("is compressed", wrapper.is_compressed())
    stage.record("inner", [each.value for _, _, each in wrapper.decompress()])


@script("1.2")
def payloads_are_encoded_as_structs(kafka, stage):
    protocol = stage.module("protocol").KafkaProtocol
    message = kafka.create_message(b"value", b"key")
    sent = [produce(stage, "topic", message), produce(stage, "topic", message, partition=1)]
    requests = {
        "produce": protocol.encode_produce_request(sent, acks=-1, timeout=5),
        "fetch": protocol.encode_fetch_request([fetch(stage, "topic", 7)], max_wait_time=1, min_bytes=2),
        "offset": protocol.encode_offset_request([payload(stage, "OffsetRequestPayload", "topic", 0, -1, 1)]),
        "metadata": protocol.encode_metadata_request(["topic"]),
        "commit": protocol.encode_offset_commit_request(
            "group", [payload(stage, "OffsetCommitRequestPayload", "topic", 0, 5, "note")]
        ),
        "committed": protocol.encode_offset_fetch_request(
            "group", [payload(stage, "OffsetFetchRequestPayload", "topic", 0)]
        ),
        "in kafka": protocol.encode_offset_fetch_request(
            "group", [payload(stage, "OffsetFetchRequestPayload", "topic", 3)], from_kafka=True
        ),
    }
    for name in sorted(requests):
        stage.record(name, (type(requests[name]).__name__, requests[name].encode()))
    stage.attempt("acks", protocol.encode_produce_request, sent, acks=7)
    stage.attempt("twice", protocol.encode_fetch_request, [fetch(stage, "topic", 0)] * 2)
    coordinator = protocol.encode_consumer_metadata_request(b"client", 5, b"group")
    stage.record("coordinator", coordinator)


@script("1.2")
def structs_are_decoded_to_payloads(kafka, stage):
    protocol = stage.module("protocol").KafkaProtocol
    message = stage.module("protocol.message").Message
    packed = kafka.create_gzip_message([(b"inner", b"key")])
    messages = [(5, 0, message(b"a", key=b"key")), (6, 0, message(packed.value, attributes=1))]
    module = stage.module
    answer = module("protocol.produce").ProduceResponse[0]([("topic", [(1, 0, 5)])])
    stage.record("produced", protocol.decode_produce_response(answer))
    answer = module("protocol.fetch").FetchResponse[0]([("topic", [(1, 0, 9, messages)])])
    (found,) = protocol.decode_fetch_response(answer)
    stage.record("fetched", (found.topic, found.partition, found.error, found.highwaterMark))
    stage.record("messages", contents(found))
    answer = module("protocol.offset").OffsetResponse[0]([("topic", [(1, 0, [9, 0])])])
    stage.record("offsets", protocol.decode_offset_response(answer))
    answer = module("protocol.commit").OffsetCommitResponse[0]([("topic", [(1, 0)])])
    stage.record("commit", protocol.decode_offset_commit_response(answer))
    answer = module("protocol.commit").OffsetFetchResponse[0]([("topic", [(1, 7, "note", 0)])])
    stage.record("committed", protocol.decode_offset_fetch_response(answer))
    data = b"\x00\x00\x00\x05\x00\x00\x00\x00\x00\x01\x00\x04host\x00\x00\x23\x84"
    stage.record("coordinator", protocol.decode_consumer_metadata_response(data))


@script("1.2")
def small_functions_write_and_read_bytes(kafka, stage):
    util = stage.module("util")
    stage.record("short", util.write_short_string(b"abc"))
    stage.record("int", util.write_int_string(b"abc"))
    stage.record("none", (util.write_short_string(None), util.write_int_string(None)))
    stage.attempt("text", util.write_int_string, "text")
    stage.attempt("short text", util.write_short_string, "text")
    stage.record("read", util.read_short_string(b"??\x00\x03abc!", 2))
    stage.record("read none", util.read_int_string(b"\xff\xff\xff\xff", 0))
    stage.attempt("too short", util.read_short_string, b"\x00\x03ab", 0)
    stage.attempt("no length", util.read_int_string, b"\x00\x03", 0)
    stage.attempt("cut off", util.read_int_string, b"\x00\x00\x00\x03a", 0)
    stage.record("unpack", util.relative_unpack(">hb", b"??\x00\x01\x02", 2))
    stage.attempt("too little", util.relative_unpack, ">i", b"abc", 0)
    stage.record("checksum", (util.crc32(b"value"), util.crc32(b"")))


@script("1.2")
def a_timer_calls_until_it_is_stopped(kafka, stage):
    util = stage.module("util")
    called = []
    timer = util.ReentrantTimer(10, lambda *args, **kwargs: called.append((args, kwargs)), 1, two=2)
    timer.start()
    stage.until(lambda: len(called) >= 3)
    timer.stop()
    stage.record("called with", called[0])
    stage.attempt("no time", util.ReentrantTimer, 0, print)
    stage.attempt("no function", util.ReentrantTimer, 10, 7)
