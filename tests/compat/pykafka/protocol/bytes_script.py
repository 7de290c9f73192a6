"""Prints, as JSON, the bytes of requests and what is read from those of answers, by the `pykafka` there is.

For pykafka 2.8.0 as well, whose results are in recorded_bytes.json:
    python bytes_script.py > recorded_bytes.json
"""

import json
import struct
import sys

from pykafka import protocol
from pykafka.protocol.message import Message, MessageSet
from pykafka.utils import compression

PARTS = [(b"topic", 1), (b"topic", 2), (b"other", 0)]


class Membership:
    protocol_type = b"consumer"
    protocol_name = b"range"
    metadata = protocol.ConsumerGroupProtocolMetadata(topic_names=[b"a", b"bc"], user_data=b"u")


def produce_request(codec=0, version=0, timestamp=None):
    request = protocol.ProduceRequest(codec, required_acks=-1, timeout=500)
    for number, (topic, partition) in enumerate(PARTS):
        message = Message(
            b"value%d" % number, b"key" if number else None, protocol_version=version, timestamp=timestamp
        )
        request.add_message(message, topic, partition)
    request.add_message(Message(None, b"", protocol_version=version, timestamp=timestamp), b"topic", 1)
    return request


def requests():
    assignment = protocol.MemberAssignment([(b"a", [0, 1]), (b"bc", [])])
    topic = protocol.CreateTopicRequest(b"made", 3, 1, [], [(b"retention.ms", b"1000")])
    by_hand = protocol.CreateTopicRequest(b"by-hand", -1, -1, [(0, [1, 2]), (1, [2])], [])
    commits = [protocol.PartitionOffsetCommitRequest(t, p, 5 + p, 1000, b"m" * p) for t, p in PARTS]
    fetches = [protocol.PartitionFetchRequest(t, p, 9) for t, p in PARTS]
    offsets = [protocol.PartitionOffsetRequest(t, p, -1, 2) for t, p in PARTS]
    wanted = [protocol.PartitionOffsetFetchRequest(t, p) for t, p in PARTS]
    return {
        "produce": produce_request(),
        "produce with timestamps": produce_request(0, 1, 1234567),
        "fetch 0": protocol.FetchRequest(fetches, 10, 20),
        "fetch 2": protocol.FetchRequest(fetches, api_version=2),
        "offsets 0": protocol.ListOffsetRequest(offsets),
        "offsets 1": protocol.ListOffsetRequestV1(offsets),
        "metadata 0": protocol.MetadataRequest([b"a", b"bc"]),
        "metadata 0 of all": protocol.MetadataRequest(),
        "metadata 1 of all": protocol.MetadataRequestV1(),
        "metadata 5": protocol.MetadataRequestV5([b"a"], False),
        "coordinator": protocol.GroupCoordinatorRequest(b"group"),
        "commit": protocol.OffsetCommitRequest(b"group", -1, b"me", commits),
        "committed 0": protocol.OffsetFetchRequest(b"group", wanted),
        "committed 1": protocol.OffsetFetchRequestV1(b"group", wanted),
        "committed 2 of all": protocol.OffsetFetchRequestV2(b"group"),
        "join": protocol.JoinGroupRequest(b"group", b"", b"a", Membership, 6000),
        "sync": protocol.SyncGroupRequest(b"group", 4, b"me", [(b"me", assignment)]),
        "heartbeat": protocol.HeartbeatRequest(b"group", 4, b"me"),
        "leave": protocol.LeaveGroupRequest(b"group", b"me"),
        "list groups": protocol.ListGroupsRequest(),
        "describe groups": protocol.DescribeGroupsRequest([b"group", b"g"]),
        "create": protocol.CreateTopicsRequest([topic, by_hand], 7),
        "delete": protocol.DeleteTopicsRequest([b"made", b"x"], 8),
        "versions": protocol.ApiVersionsRequest(),
    }


def string(text):
    return struct.pack("!h", -1) if text is None else struct.pack("!h", len(text)) + text


def sized(data):
    return struct.pack("!i", len(data)) + data


def array(items):
    items = list(items)
    return struct.pack("!i", len(items)) + b"".join(items)


def message_set(codec=0, version=0):
    within = [Message(b"v%d" % n, b"k", protocol_version=version, timestamp=99 * version) for n in range(3)]
    plain = MessageSet(messages=within)
    data = bytearray(len(plain))
    plain.pack_into(data, 0)
    if not codec:
        return bytes(data) + b"cut off"
    encode = {1: compression.encode_gzip, 2: compression.encode_snappy, 3: compression.encode_lz4_old_kafka}
    # From 0.10 on, brokers count those within from 0 on.
    place = 0
    for number in range(3):
        struct.pack_into("!q", data, place, number)
        place += 12 + struct.unpack_from("!i", data, place + 8)[0]
    outer = Message(
        encode[codec](bytes(data)), compression_type=codec, protocol_version=version, timestamp=99 * version
    )
    entry = bytearray(12 + len(outer))
    struct.pack_into("!qi", entry, 0, 42, len(outer))
    outer.pack_into(entry, 12)
    return bytes(entry)


def fetched(codec=0, version=0):
    partition = struct.pack("!ihq", 1, 0, 77) + sized(message_set(codec, version))
    return array([string(b"topic") + array([partition, struct.pack("!ihqi", 2, 3, -1, 0)])])


def answers():
    brokers = array([struct.pack("!i", 1) + string(b"host") + struct.pack("!i", 9092)])
    racked = array([struct.pack("!i", 1) + string(b"host") + struct.pack("!i", 9092) + string(None)])
    ids = array([struct.pack("!i", 1)])
    part = struct.pack("!hii", 5, 0, 1) + ids + ids
    topic = array([struct.pack("!h", 3) + string(b"topic") + array([part])])
    topic_1 = array([struct.pack("!h", 0) + string(b"topic") + b"\x01" + array([part])])
    topic_5 = array([struct.pack("!h", 0) + string(b"topic") + b"\x00" + array([part + ids])])
    metadata = protocol.ConsumerGroupProtocolMetadata(topic_names=[b"a"]).get_bytes()
    assigned = protocol.MemberAssignment([(b"a", [0])]).get_bytes()
    member = string(b"me") + string(b"client") + string(b"/host") + sized(metadata) + sized(assigned)
    group = struct.pack("!h", 0) + b"".join(map(string, (b"group", b"Stable", b"consumer", b"range")))
    committed = array(
        [string(b"t") + array([struct.pack("!iq", 0, 5) + string(b"m") + struct.pack("!h", 0)])]
    )
    return {
        "produce": (protocol.ProduceResponse, array([string(b"t") + array([struct.pack("!ihq", 1, 7, 8)])])),
        "fetch 0": (protocol.FetchResponse, fetched()),
        "fetch 0 gzip": (protocol.FetchResponse, fetched(1)),
        "fetch 0 snappy": (protocol.FetchResponse, fetched(2)),
        "fetch 0 lz4": (protocol.FetchResponse, fetched(3)),
        "fetch 1": (protocol.FetchResponseV1, struct.pack("!i", 6) + fetched()),
        "fetch 2": (protocol.FetchResponseV2, struct.pack("!i", 6) + fetched(0, 1)),
        "fetch 2 gzip": (protocol.FetchResponseV2, struct.pack("!i", 6) + fetched(1, 1)),
        "offsets": (
            protocol.ListOffsetResponse,
            array([string(b"t") + array([struct.pack("!ihiqq", 0, 0, 2, 9, 0)])]),
        ),
        "metadata 0": (protocol.MetadataResponse, brokers + topic),
        "metadata 1": (protocol.MetadataResponseV1, racked + struct.pack("!i", 1) + topic_1),
        "metadata 2": (
            protocol.MetadataResponseV2,
            racked + string(b"cluster") + struct.pack("!i", 1) + topic_1,
        ),
        "metadata 5": (
            protocol.MetadataResponseV5,
            struct.pack("!i", 3) + racked + string(b"cluster") + struct.pack("!i", 1) + topic_5,
        ),
        "coordinator": (
            protocol.GroupCoordinatorResponse,
            struct.pack("!hi", 0, 1) + string(b"host") + struct.pack("!i", 9092),
        ),
        "no coordinator": (
            protocol.GroupCoordinatorResponse,
            struct.pack("!hi", 15, -1) + string(b"") + struct.pack("!i", -1),
        ),
        "commit": (
            protocol.OffsetCommitResponse,
            array([string(b"t") + array([struct.pack("!ih", 0, 12)])]),
        ),
        "committed 1": (protocol.OffsetFetchResponseV1, committed),
        "committed 2": (protocol.OffsetFetchResponseV2, committed + struct.pack("!h", 16)),
        "join": (
            protocol.JoinGroupResponse,
            struct.pack("!hi", 0, 3)
            + b"".join(map(string, (b"range", b"me", b"me")))
            + array([string(b"me") + sized(metadata)]),
        ),
        "sync": (protocol.SyncGroupResponse, struct.pack("!h", 0) + sized(assigned)),
        "sync of nothing": (protocol.SyncGroupResponse, struct.pack("!h", 27) + sized(b"")),
        "heartbeat": (protocol.HeartbeatResponse, struct.pack("!h", 27)),
        "leave": (protocol.LeaveGroupResponse, struct.pack("!h", 25)),
        "list groups": (
            protocol.ListGroupsResponse,
            struct.pack("!h", 0) + array([string(b"group") + string(b"consumer")]),
        ),
        "describe groups": (protocol.DescribeGroupsResponse, array([group + array([member])])),
        "create": (protocol.CreateTopicsResponse, array([string(b"t") + struct.pack("!h", 0)])),
        "create wrong": (protocol.CreateTopicsResponse, array([string(b"t") + struct.pack("!h", 17)])),
        "delete wrong": (protocol.DeleteTopicsResponse, array([string(b"t") + struct.pack("!h", 3)])),
        "versions": (
            protocol.ApiVersionsResponse,
            struct.pack("!h", 0) + array([struct.pack("!hhh", 3, 0, 9)]),
        ),
    }


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("latin-1")
    if isinstance(value, dict):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if hasattr(value, "_asdict"):
        return {type(value).__name__: plain(dict(value._asdict()))}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Message):
        names = ("value", "partition_key", "offset", "partition_id", "timestamp", "protocol_version")
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "__dict__"):
        return {type(value).__name__: plain(vars(value))}
    return value


def answer(cls, data):
    try:
        return plain(vars(cls(memoryview(data))))
    except Exception as error:
        return [type(error).__name__, plain(error.args)]


def main():
    told = {"request " + name: bytes(each.get_bytes()).hex() for name, each in requests().items()}
    told.update({"length " + name: len(each) for name, each in requests().items()})
    told.update({"answer " + name: answer(*each) for name, each in answers().items()})
    json.dump(told, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
