"""Requests and responses of kafka-python 3, whose objects know their version."""

import io

from tests.compat.kafka.differential.played.script import script

MODULES = ("metadata", "producer", "consumer", "admin", "sasl")
METADATA = (
    b"\0\0\0\1\0\0\0\7\0\4host\0\0\x23\x84\0\0\0\1\0\0\0\6orders\0\0\0\1\0\0\0\0\0\3\0\0\0\7"
    b"\0\0\0\1\0\0\0\7\0\0\0\1\0\0\0\7"
)


@script("3")
def every_message_is_written_with_its_defaults_in_all_versions(kafka, stage):
    for short in MODULES:
        module = stage.module("protocol." + short)
        for name in sorted(module.__all__):
            message = getattr(module, name)
            if not name.endswith(("Request", "Response")) or not hasattr(message, "max_version"):
                continue
            if name.startswith("InitProducerId"):
                continue
            stage.record(name, [message.API_KEY, message.max_version, message.type, message.name])
            stage.record(name, len(message))
            for version in range(message.max_version + 1):
                stage.record(f"{name} {version}", message.flexible_version_q(version))
                written = written_with_defaults(message, version)
                if written is not None:
                    stage.record(f"{name} {version}", written)


def written_with_defaults(message, version):
    """None where some value has no default that can be written."""
    try:
        return message(version=version).encode()
    except (TypeError, ValueError, AttributeError):
        return None


@script("3")
def requests_are_written_in_their_version(kafka, stage):
    request = stage.module("protocol.metadata").MetadataRequest
    made = request(topics=[request.MetadataRequestTopic(name="orders")], version=1)
    stage.record("text", repr(made))
    stage.record("written", made.encode())
    stage.record("in another", made.encode(version=9))
    stage.record("its version now", [made.version, made.API_VERSION])
    stage.record("all topics", [request(version=0).encode(), request(version=1).encode()])
    stage.attempt("no version", request().encode)
    stage.attempt("too new", request, version=99)
    stage.attempt("unknown field", request, topic="orders")
    stage.attempt("too many", request, 1, 2, 3, 4, 5)


@script("3")
def classes_of_one_version_are_indexed(kafka, stage):
    request = stage.module("protocol.metadata").MetadataRequest
    stage.record("name", request[4].__name__)
    stage.record("object", [type(request[4]()).__name__, request[4]().version])
    stage.record("last", request[-1]().version)
    stage.record("back", [request[4][None] is request, request[4][2]().version])
    stage.attempt("too new", lambda: request[99])
    stage.attempt("another version", lambda: request[4](version=5))
    stage.attempt("length", len, request[4])


@script("3")
def answers_are_read(kafka, stage):
    response = stage.module("protocol.metadata").MetadataResponse
    answer = response.decode(METADATA, version=0)
    stage.record("brokers", [(each.node_id, each.host, each.port) for each in answer.brokers])
    stage.record("topics", [(each.name, len(each.partitions)) for each in answer.topics])
    stage.record("text", repr(answer))
    stage.record("as a dictionary", answer.to_dict())
    stage.record("with names", answer.to_dict(meta=True)["_type"])
    stage.record("a part in order", list(answer.brokers[0]))
    stage.record("indexed", [answer.brokers[0][1], answer.brokers[0][0:2]])
    stage.record("equal to a tuple", answer.brokers[0] == (7, "host", 9092, None))
    stage.record("not there in that version", [answer.cluster_id, answer.throttle_time_ms])
    stage.record("written again", answer.encode() == METADATA)
    stage.record("from a file", response[0].decode(io.BytesIO(METADATA)) == answer)
    stage.attempt("no version", response.decode, METADATA)
    stage.attempt("no such field", getattr, answer, "nothing")


@script("3")
def headers_are_written_before_requests(kafka, stage):
    request = stage.module("protocol.metadata").MetadataRequest(version=9)
    stage.record("none yet", request.header)
    stage.attempt("without one", request.encode, header=True)
    request.with_header(correlation_id=5, client_id="me")
    stage.record("header", [request.header.correlation_id, request.header.request_api_version])
    stage.record("written", request.encode(header=True))
    stage.record("framed", request.encode(header=True, framed=True))
    stage.record("answered by", request.header.get_response_class().__name__)
    old = stage.module("protocol.metadata").ApiVersionsRequest(version=0)
    old.with_header(correlation_id=6)
    stage.record("old", old.encode(header=True))
    response = stage.module("protocol.metadata").ApiVersionsResponse
    answer = response.decode(
        b"\0\0\0\x10\0\0\0\5\0\x23\0\0\0\1\0\x12\0\0\0\4", version=4, header=True, framed=True
    )
    stage.record("answer", [answer.header.correlation_id, answer.error_code, answer.version])
    stage.record("spoken", [list(each) for each in answer.api_keys])


@script("3")
def requests_say_whether_they_are_answered(kafka, stage):
    produce = stage.module("protocol.producer").ProduceRequest
    stage.record("acks", [produce(acks=acks, version=9).expect_response() for acks in (0, 1, -1)])
    stage.record("metadata", stage.module("protocol.metadata").MetadataRequest(version=0).expect_response())


@script("3")
def records_are_in_requests_that_write_them(kafka, stage):
    produce = stage.module("protocol.producer").ProduceRequest
    topic, partition = produce.TopicProduceData, produce.TopicProduceData.PartitionProduceData
    request = produce(
        transactional_id=None,
        acks=1,
        timeout_ms=1000,
        topic_data=[topic(name="orders", partition_data=[partition(index=0, records=b"some")])],
        version=9,
    )
    stage.record("written", request.encode())
    stage.record("as a dictionary", request.to_dict())


@script("3")
def members_of_groups_say_what_they_want(kafka, stage):
    metadata = stage.module("protocol.consumer.metadata")
    wanted = metadata.ConsumerProtocolSubscription(1, topics=["orders"], user_data=b"mine")
    stage.record("written", wanted.encode())
    stage.record("read", repr(metadata.ConsumerProtocolSubscription.decode(wanted.encode())))
    part = metadata.ConsumerProtocolAssignment.TopicPartition
    told = metadata.ConsumerProtocolAssignment(
        version=0, assigned_partitions=[part(topic="orders", partitions=[0, 2], version=0)], user_data=b""
    )
    stage.record("told", told.encode())
    stage.record("partitions", told.partitions())
    stage.record("read", metadata.ConsumerProtocolAssignment.decode(told.encode()).partitions())
