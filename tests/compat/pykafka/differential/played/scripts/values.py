"""What needs no broker: messages, requests, partitioners, members' data, codecs, exceptions."""

from __future__ import annotations

from typing import Any

from tests.compat.pykafka.differential.played.script import script


class Named:
    def __init__(self, name: bytes, id: int) -> None:
        self.name = name
        self.id = id


class Partition:
    def __init__(self, id: int) -> None:
        self.id = id
        self.topic = Named(b"topic", 0)
        self.leader = Named(b"leader", 1)

    def __repr__(self) -> str:
        return f"partition {self.id}"

    def __lt__(self, other: Partition) -> bool:
        return self.id < other.id


@script()
def exceptions_have_their_bases_and_numbers(pykafka: Any, stage: Any) -> None:
    module = stage.module("exceptions")
    kinds = {name: kind for name, kind in vars(module).items() if isinstance(kind, type)}
    for name, kind in sorted(kinds.items()):
        # An error that the original lacks may be a KeyError here as well.
        bases = [base.__name__ for base in kind.__mro__ if base.__name__ != "KeyError"]
        if issubclass(kind, Exception) and name != "UnlistedErrorCode":
            stage.record(name, (bases, getattr(kind, "ERROR_CODE", None)))
    stage.record("numbers", {code: kind.__name__ for code, kind in module.ERROR_CODES.items()})


@script()
def common_values(pykafka: Any, stage: Any) -> None:
    common = stage.module("common")
    for name in ("CompressionType", "OffsetType"):
        kind = getattr(common, name)
        stage.record(name, {each: getattr(kind, each) for each in dir(kind) if each.isupper()})


@script()
def partitioners_choose(pykafka: Any, stage: Any) -> None:
    module = stage.module("partitioners")
    partitions = [Partition(number) for number in range(4)]
    hashing = module.HashingPartitioner(hash_func=lambda key: len(key))
    for key in (b"", b"a", b"bb", b"cccccc"):
        stage.attempt("hashing", hashing, partitions, key)
    stage.attempt("hashing nothing", hashing, partitions, None)
    group = module.GroupHashingPartitioner(hash_func=lambda key: len(key), group_size=2)
    stage.record("of a group", {group(partitions, b"aaa").id for _ in range(50)})
    stage.attempt("too large a group", module.GroupHashingPartitioner(hash, 9), partitions, b"a")
    stage.raised("of none", module.GroupHashingPartitioner, hash, 0)
    random = module.RandomPartitioner()
    stage.record("random", sorted({random(partitions, None).id for _ in range(200)}))
    stage.attempt("the base", module.BasePartitioner(), partitions, b"a")


@script()
def members_divide_partitions(pykafka: Any, stage: Any) -> None:
    module = stage.module("membershipprotocol")
    for protocol in (module.RangeProtocol, module.RoundRobinProtocol):
        stage.record("protocol", (protocol.protocol_name, protocol.protocol_type, protocol.metadata.version))
        for partitions, members in ((6, 3), (7, 3), (2, 3), (1, 1)):
            names = [b"member %d" % number for number in range(members)]
            those = {number: Partition(number) for number in range(partitions)}
            for name in names:
                share = protocol.decide_partitions(names, those, name)
                stage.record(f"{partitions} of {members}", sorted(each.id for each in share))


@script()
def a_message_without_a_broker(pykafka: Any, stage: Any) -> None:
    protocol = stage.module("protocol")
    message = protocol.Message(b"value", partition_key=b"key", offset=5)
    stage.record("has", (message.value, message.partition_key, message.offset, message.compression_type))
    stage.record("attempt", message.produce_attempt)
    stage.record("partition", message.partition_id)
    written = bytearray(len(message))
    message.pack_into(written, 0)
    stage.record("written", bytes(written))
    read = protocol.Message.decode(written, msg_offset=7)
    stage.record("read", (read.value, read.partition_key, read.offset))


@script()
def a_message_set_is_written_and_read(pykafka: Any, stage: Any) -> None:
    protocol, common = stage.module("protocol"), stage.module("common")
    messages = [protocol.Message(b"value %d" % number, partition_key=b"key") for number in range(3)]
    whole = protocol.MessageSet(messages=messages)
    written = bytearray(len(whole))
    whole.pack_into(written, 0)
    stage.record("written", bytes(written))
    read = protocol.MessageSet.decode(written)
    stage.record("read", [(each.value, each.partition_key) for each in read.messages])
    for kind in ("GZIP",):
        small = protocol.MessageSet(messages=messages, compression_type=getattr(common.CompressionType, kind))
        packed = bytearray(len(small))
        small.pack_into(packed, 0)
        read = protocol.MessageSet.decode(packed)
        (outer,) = read.messages
        inner = protocol.MessageSet.decode(stage.module("utils.compression").decode_gzip(outer.value))
        stage.record(f"read {kind}", [(each.value, each.partition_key) for each in inner.messages])


@script()
def requests_have_their_bytes(pykafka: Any, stage: Any) -> None:
    protocol = stage.module("protocol")
    for request in (
        protocol.MetadataRequest(topics=[b"topic"]),
        protocol.MetadataRequest(),
        protocol.OffsetFetchRequest(b"group", [protocol.PartitionOffsetFetchRequest(b"topic", 1)]),
        protocol.HeartbeatRequest(b"group", 3, b"member"),
        protocol.LeaveGroupRequest(b"group", b"member"),
        protocol.GroupCoordinatorRequest(b"group"),
        protocol.ListGroupsRequest(),
        protocol.DescribeGroupsRequest([b"group"]),
    ):
        stage.record(type(request).__name__, bytes(request.get_bytes()))
        stage.record("length", len(request))


@script()
def codecs_give_back_what_they_took(pykafka: Any, stage: Any) -> None:
    module = stage.module("utils.compression")
    text = b"barnabas " * 50
    stage.record("gzip", module.decode_gzip(module.encode_gzip(text)))
    lz4_old = getattr(module, "encode_lz4_old_kafka", None)
    stage.record("has the old lz4", callable(lz4_old))


@script()
def structs_are_read(pykafka: Any, stage: Any) -> None:
    module = stage.module("utils.struct_helpers")
    stage.attempt("numbers", module.unpack_from, "!hi", b"\x00\x01\x00\x00\x00\x02", 0)
    stage.attempt("text", module.unpack_from, "!S", b"\x00\x03abc", 0)
    stage.attempt("no text", module.unpack_from, "!S", b"\xff\xff", 0)
    stage.attempt("bytes", module.unpack_from, "!Y", b"\x00\x00\x00\x02ab", 0)
    stage.attempt("an array", module.unpack_from, "![h]", b"\x00\x00\x00\x02\x00\x05\x00\x06", 0)


@script()
def errors_are_handled_by_tables(pykafka: Any, stage: Any) -> None:
    module = stage.module("utils.error_handlers")
    handled: list[Any] = []
    found = {1: ["a", "b"], 2: ["c"]}
    module.handle_partition_responses({1: handled.append, 2: handled.append}, parts_by_error=found)
    stage.record("handled", handled)
    stage.attempt("without a handler", module.handle_partition_responses, {1: handled.append}, {3: ["d"]})
    for error in (KeyError("x"), ValueError("y"), OSError("z")):

        def fail(raised: Exception = error) -> None:
            raise raised

        stage.attempt("raised", module.raise_error, type(error), "of it")
        stage.raised("failed", fail)
