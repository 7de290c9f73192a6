"""Requests and responses as structs of fixed versions, and the types that they are made of."""

import io

from tests.compat.kafka.differential.played.script import script

MODULES = (
    "add_offsets_to_txn",
    "add_partitions_to_txn",
    "admin",
    "api_versions",
    "commit",
    "end_txn",
    "fetch",
    "find_coordinator",
    "group",
    "init_producer_id",
    "list_offsets",
    "metadata",
    "offset_for_leader_epoch",
    "produce",
    "sasl_authenticate",
    "sasl_handshake",
    "txn_offset_commit",
)
# Which kafka-python 2 wrote otherwise than brokers read it, and what is in kafka-python 1.2 only.
NOT_COMPARED = (
    "DescribeAcls",
    "DescribeLogDirsRequest",
    "ElectLeaders",
    "OffsetForLeaderEpoch",
    "GroupCoordinator",
    "ApiVersionRe",
    "ListGroupsRequest_v2",
)
METADATA = (
    b"\0\0\0\1\0\0\0\7\0\4host\0\0\x23\x84\0\0\0\1\0\0\0\6orders\0\0\0\1\0\0\0\0\0\3\0\0\0\7"
    b"\0\0\0\1\0\0\0\7\0\0\0\1\0\0\0\7"
)


def described(types, field):
    if isinstance(field, types.Schema):
        return [[name, described(types, each)] for name, each in zip(field.names, field.fields)]
    if isinstance(field, types.Array):
        return [type(field).__name__, described(types, field.array_of)]
    return field.__name__ if isinstance(field, type) else type(field).__name__


def structs_of(stage):
    for short in MODULES:
        module = stage.module("protocol." + short)
        for name in sorted(dir(module)):
            if "_v" in name and name[0].isupper() and not name.startswith(NOT_COMPARED):
                yield name, getattr(module, name)


@script("2")
def every_struct_of_a_message_has_the_same_fields(kafka, stage):
    types = stage.module("protocol.types")
    for name, struct in structs_of(stage):
        stage.record(name, [struct.API_KEY, struct.API_VERSION, struct.FLEXIBLE_VERSION])
        stage.record(name, described(types, struct.SCHEMA))
        if name.split("_")[0].endswith("Request"):
            stage.record(name, struct.RESPONSE_TYPE.__name__)


@script("1.2")
def structs_of_messages_have_the_same_fields(kafka, stage):
    types = stage.module("protocol.types")
    for module, names in (
        ("admin", ("ApiVersion", "DescribeGroups", "ListGroups")),
        ("commit", ("OffsetCommit", "OffsetFetch", "GroupCoordinator")),
        ("group", ("JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup")),
        ("metadata", ("Metadata",)),
        ("offset", ("Offset",)),
    ):
        for name in names:
            requests = getattr(stage.module("protocol." + module), name + "Request")
            responses = getattr(stage.module("protocol." + module), name + "Response")
            for struct in requests + responses:
                stage.record(struct.__name__, [struct.API_KEY, struct.API_VERSION])
                stage.record(struct.__name__, described(types, struct.SCHEMA))
            stage.record(name, [struct.RESPONSE_TYPE.__name__ for struct in requests])


@script("1.2", "2")
def structs_of_groups_have_the_same_fields(kafka, stage):
    group = stage.module("protocol.group")
    metadata = group.ProtocolMetadata(0, ["orders", "bills"], b"mine")
    stage.record("metadata", repr(metadata))
    stage.record("written", metadata.encode())
    stage.record("read", repr(group.ProtocolMetadata.decode(metadata.encode())))
    assignment = group.MemberAssignment(1, [("orders", [0, 2])], b"")
    stage.record("assignment", repr(assignment))
    stage.record("written", assignment.encode())
    stage.record("read", repr(group.MemberAssignment.decode(assignment.encode())))


@script("1.2", "2")
def requests_are_written_as_brokers_read_them(kafka, stage):
    metadata = stage.module("protocol.metadata")
    commit = stage.module("protocol.commit")
    group = stage.module("protocol.group")
    for request in (
        metadata.MetadataRequest[0](["orders", "bills"]),
        metadata.MetadataRequest[0]([]),
        commit.OffsetCommitRequest[0]("us", [("orders", [(0, 17, "note"), (1, 5, None)])]),
        commit.OffsetCommitRequest[1]("us", 3, "me", [("orders", [(0, 17, 1000, "note")])]),
        commit.OffsetCommitRequest[2]("us", 3, "me", -1, [("orders", [(0, 17, "note")])]),
        commit.OffsetFetchRequest[1]("us", [("orders", [0, 1])]),
        group.JoinGroupRequest[0]("us", 10000, "", "consumer", [("range", b"\0\1")]),
        group.SyncGroupRequest[0]("us", 3, "me", [("me", b"\0\1")]),
        group.HeartbeatRequest[0]("us", 3, "me"),
        group.LeaveGroupRequest[0]("us", "me"),
    ):
        stage.record("text", repr(request))
        stage.record("written", request.encode())
        stage.record("read again", type(request).decode(request.encode()) == request)
        stage.record("hash", hash(request) == hash(request.encode()))


@script("1.2", "2")
def structs_take_their_values_in_order_or_by_name(kafka, stage):
    commit = stage.module("protocol.commit")
    request = commit.OffsetFetchRequest[1]
    by_name = request(consumer_group="us", topics=[("orders", [0])])
    stage.record("by name", repr(by_name))
    stage.record("equal", by_name == request("us", [("orders", [0])]))
    stage.record("another", by_name == request("us", [("orders", [1])]))
    stage.attempt("too few", request, "us")
    stage.attempt("too many", request, "us", [], 1)
    stage.record("values by the class", request.encode(("us", [("orders", [0])])))
    by_name.consumer_group = "them"
    stage.record("changed", by_name.encode())


@script("2")
def structs_refuse_names_that_they_do_not_have(kafka, stage):
    request = stage.module("protocol.commit").OffsetFetchRequest[1]
    stage.attempt("unknown", request, group="us")
    stage.record("nothing given", repr(request()))
    stage.record("an item", request("us", []).get_item("consumer_group"))
    stage.attempt("no item", request("us", []).get_item, "group")
    stage.record("as an object", request("us", [("orders", [0])]).to_object())


@script("1.2", "2")
def answers_are_read_as_structs(kafka, stage):
    response = stage.module("protocol.metadata").MetadataResponse[0].decode(METADATA)
    stage.record("brokers", response.brokers)
    stage.record("topics", response.topics)
    stage.record("text", repr(response))
    stage.record("from a file", repr(type(response).decode(io.BytesIO(METADATA))))
    stage.raised("cut off", type(response).decode, METADATA[:13])


@script("2")
def answers_to_api_versions_are_read_as_the_oldest_where_they_are_errors(kafka, stage):
    responses = stage.module("protocol.api_versions").ApiVersionsResponse
    answer = b"\0\x23\0\0\0\1\0\x12\0\0\0\4"
    for version in (0, 1, 3):
        stage.record(str(version), repr(responses[version].decode(answer)))
    good = b"\0\0\0\0\0\1\0\x12\0\0\0\4\0\0\0\5"
    stage.record("without an error", repr(responses[1].decode(good)))


@script("1.2", "2")
def headers_of_requests_know_what_they_are_for(kafka, stage):
    header = stage.module("protocol.api").RequestHeader
    request = stage.module("protocol.metadata").MetadataRequest[0]([])
    made = header(request, correlation_id=5, client_id="me")
    stage.record("header", repr(made))
    stage.record("written", made.encode())
    stage.record("by default", repr(header(request)))


@script("2")
def requests_build_the_headers_that_their_versions_have(kafka, stage):
    admin = stage.module("protocol.admin")
    for request in (
        admin.ListGroupsRequest[0](),
        admin.ListPartitionReassignmentsRequest[0](1000, [("orders", [0], {})], {}),
    ):
        header = request.build_header(7, "me")
        stage.record("header", repr(header))
        stage.record("written", header.encode())
        stage.record("body", request.encode())
        stage.record("expects an answer", request.expect_response())
    produce = stage.module("protocol.produce").ProduceRequest
    stage.record("acks 0", produce[3](None, 0, 1000, []).expect_response())
    stage.record("acks 1", produce[3](None, 1, 1000, []).expect_response())


@script("1.2", "2")
def types_of_fields_write_and_read_values(kafka, stage):
    types = stage.module("protocol.types")
    for name, values in (
        ("Int8", (0, -1, 127)),
        ("Int16", (0, -1, 32767)),
        ("Int32", (0, -1, 2147483647)),
        ("Int64", (0, -1, 9223372036854775807)),
        ("Bytes", (b"", b"abc", None)),
    ):
        kind = getattr(types, name)
        for value in values:
            stage.record(name, [kind.encode(value), kind.decode(io.BytesIO(kind.encode(value)))])
    string = types.String("utf-8")
    for value in ("", "größe", None, 5):
        stage.record("String", [string.encode(value), string.decode(io.BytesIO(string.encode(value)))])
    array = types.Array(types.Int16)
    stage.record("Array", [array.encode([1, 2]), array.decode(io.BytesIO(array.encode([1, 2])))])
    stage.record("text of an Array", array.repr([1, 2]))
    pairs = types.Array(("name", string), ("number", types.Int8))
    stage.record("pairs", pairs.encode([("a", 1), ("b", 2)]))
    stage.record("text of pairs", pairs.repr([("a", 1)]))
    stage.attempt("too few fields", pairs.encode, [("a",)])
    stage.attempt("of nothing", types.Array)
    schema = types.Schema(("name", string), ("number", types.Int8))
    stage.record("length of a schema", len(schema))
    stage.record("schema", schema.decode(io.BytesIO(schema.encode(("a", 1)))))


@script("1.2", "2")
def types_of_fields_refuse_what_does_not_fit(kafka, stage):
    types = stage.module("protocol.types")
    stage.raised("too large", types.Int8.encode, 128)
    stage.raised("a text", types.Int32.encode, "5")
    stage.raised("nothing to read", types.Int32.decode, io.BytesIO(b"\0"))
    stage.attempt("short string", types.String("utf-8").decode, io.BytesIO(b"\0\5ab"))
    stage.attempt("short bytes", types.Bytes.decode, io.BytesIO(b"\0\0\0\5ab"))


@script("2")
def compact_types_write_short_lengths(kafka, stage):
    types = stage.module("protocol.types")
    string = types.CompactString("utf-8")
    for value in ("", "abc", "x" * 200, None):
        stage.record("string", [string.encode(value)[:4], string.decode(io.BytesIO(string.encode(value)))])
    for value in (b"", b"abc", None):
        stage.record("bytes", [types.CompactBytes.encode(value)])
    array = types.CompactArray(types.Int8)
    for value in ([], [1, 2], None):
        stage.record("array", [array.encode(value), array.decode(io.BytesIO(array.encode(value)))])
    stage.record("null", array.repr(None))
    for value in (0, 1, 127, 128, 300, 2**31 - 1):
        encoded = types.UnsignedVarInt32.encode(value)
        stage.record("unsigned", [encoded, types.UnsignedVarInt32.decode(io.BytesIO(encoded))])
    for kind in (types.VarInt32, types.VarInt64):
        for value in (0, -1, 1, 63, 64, -65, 2**31 - 1, -(2**31)):
            stage.record("signed", [kind.encode(value), kind.decode(io.BytesIO(kind.encode(value)))])
    tags = types.TaggedFields
    stage.record("tags", [tags.encode({}), tags.encode({0: b"a", 5: b"bc"})])
    stage.record("tags read", tags.decode(io.BytesIO(b"\2\0\1a\5\2bc")))
    stage.attempt("tags out of order", tags.decode, io.BytesIO(b"\2\5\2bc\0\1a"))
    stage.attempt("a tag that is no number", tags.encode, {"a": b"a"})
    stage.attempt("a tag without bytes", tags.encode, {1: "a"})
    stage.record("bits", sorted(types.BitField.decode(io.BytesIO(b"\x80\0\1\3"))))
    stage.record("bits written", types.BitField.encode({0, 1, 8, 31}))
    stage.record("boolean", [types.Boolean.encode(True), types.Boolean.decode(io.BytesIO(b"\0"))])
    stage.record("float", types.Float64.decode(io.BytesIO(types.Float64.encode(1.5))))
    stage.record("long bytes in text", types.Bytes.repr(b"x" * 200))


@script("2")
def messages_are_encoded_by_their_class(kafka, stage):
    module = stage.module("protocol.message")
    # The original's encode goes with its message.
    first, second = module.Message(b"a"), module.Message(b"b", crc=3)
    entries = [(0, first.encode()), (5, second.encode())]
    stage.record("with a size", module.MessageSet.encode(entries, prepend_size=True))
    stage.record("without", module.MessageSet.encode(entries, False))
    stage.raised("of another generation", module.MessageSet.encode, entries, size=False)
    stage.record("with its sum", second.encode(recalc_crc=False))
    stage.record("shown", module.MessageSet.repr(messages=entries))


@script("2")
def requests_say_what_they_are(kafka, stage):
    api = stage.module("protocol.api")

    class Nothing(api.Request):
        API_KEY = 3

    stage.record("abstract", [caught(api.Request), caught(api.Response), caught(Nothing)])
    requests = stage.module("protocol.produce").ProduceRequest
    stage.record("answered", [requests[3](None, acks, 1, []).expect_response() for acks in (0, 1, -1)])


def caught(make):
    try:
        make()
    except TypeError as error:
        return type(error).__name__
    return None


@script("2", "3")
def frames_of_lz4_are_made_to_order(kafka, stage):
    codec = stage.module("codec")
    for settings in ({}, {"compression_level": 5}, {"content_checksum": True}, {"return_bytearray": True}):
        frame = codec.lz4_encode(b"abc" * 100, **settings)
        stage.record(str(settings), [type(frame).__name__, codec.lz4_decode(bytes(frame)) == b"abc" * 100])
