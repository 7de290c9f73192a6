"""Messages survive the way to bytes and back, in every version; what cannot be carried is refused by name."""

from __future__ import annotations

import pickle
import random
import uuid

import pytest

from barnabas.errors import BrokenProtocolError, NoCommonVersionError
from barnabas.protocol.codec import decode, decode_prefix, encode
from barnabas.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.schema import Message
from oracle.instances import message_classes, random_message


@pytest.mark.parametrize("cls", message_classes(), ids=lambda cls: cls.__name__)
def test_random_instances_of_every_version_come_back_equal(cls: type[Message]) -> None:
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        for seed in range(5):
            message = random_message(cls, version, random.Random(f"{cls.__name__} {version} {seed}"))
            content = encode(message, version)
            for buffer in (content, bytearray(content), memoryview(content)):
                assert decode(cls, version, buffer) == message


@pytest.mark.parametrize("cls", message_classes(), ids=lambda cls: cls.__name__)
def test_a_new_message_can_be_written_in_every_version_and_comes_back_equal(cls: type[Message]) -> None:
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        assert decode(cls, version, encode(cls(), version)) == cls()


def test_the_bytes_of_a_flexible_request_are_those_of_the_specification() -> None:
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name="ab")], allow_auto_topic_creation=False
    )
    assert encode(request, 12) == b"\x02" + bytes(16) + b"\x03ab\x00" + b"\x00" + b"\x00" + b"\x00"


def test_the_bytes_of_an_old_request_are_those_of_the_specification() -> None:
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="ab")])
    assert encode(request, 1) == b"\0\0\0\1\0\2ab"
    assert encode(MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"


def test_a_field_that_the_version_lacks_is_refused_by_name_when_set() -> None:
    with pytest.raises(
        NoCommonVersionError, match="JoinGroupRequest version 4 cannot carry group_instance_id"
    ):
        encode(JoinGroupRequest(group_instance_id="worker-1"), 4)


def test_a_nested_field_that_the_version_lacks_is_refused_by_name_when_set() -> None:
    partition = FetchRequest.FetchPartition(last_fetched_epoch=3)
    request = FetchRequest(topics=[FetchRequest.FetchTopic(partitions=[partition])])
    with pytest.raises(NoCommonVersionError, match="version 11 cannot carry last_fetched_epoch"):
        encode(request, 11)


def test_an_ignorable_field_that_the_version_lacks_is_left_out() -> None:
    request = FetchRequest(rack_id="a", max_bytes=7)
    assert decode(FetchRequest, 0, encode(request, 0)) == FetchRequest()


def test_unknown_tagged_fields_are_refused_where_the_version_is_not_flexible() -> None:
    request = FetchRequest(unknown_tagged_fields={9: b"x"})
    with pytest.raises(BrokenProtocolError, match="cannot carry unknown_tagged_fields"):
        encode(request, 11)


def test_unknown_tagged_fields_are_kept_and_written_in_the_order_of_their_tags() -> None:
    request = FetchRequest(cluster_id="c", unknown_tagged_fields={300: b"later", 7: b"sooner"})
    content = encode(request, 12)
    assert content.endswith(b"\x03\x00\x02\x02c\x07\x06sooner\xac\x02\x05later")
    assert decode(FetchRequest, 12, content) == request


def test_a_tag_that_the_version_knows_may_not_be_given_as_unknown() -> None:
    with pytest.raises(BrokenProtocolError, match=r"tags that this version knows: \[0\]"):
        encode(FetchRequest(cluster_id="c", unknown_tagged_fields={0: b"x"}), 12)


def test_the_shared_empty_dictionary_of_unknown_tags_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="assign a dict"):
        FetchRequest().unknown_tagged_fields[1] = b""


def test_a_message_can_be_pickled() -> None:
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t")])
    assert pickle.loads(pickle.dumps(response)) == response


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (MetadataRequest(topics=None), r"topics is None, which version 0 does not allow"),
        (
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=5)]),  # type: ignore[arg-type]
            r"topics\[0\]\.name is 5, not a string",
        ),
        (MetadataRequest(topics=["t"]), r"topics\[0\] is 't', not a MetadataRequest.MetadataRequestTopic"),  # type: ignore[list-item]
        (
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="x" * 40_000)]),
            r"topics\[0\]\.name has 40000 bytes, more than the 32767",
        ),
        (
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="\ud800")]),
            r"topics\[0\]\.name is no valid Unicode text",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_the_path_to_it(request_: MetadataRequest, complaint: str) -> None:
    with pytest.raises(BrokenProtocolError, match=complaint):
        encode(request_, 0)


def test_a_number_out_of_range_is_refused_by_name() -> None:
    with pytest.raises(BrokenProtocolError, match="max_wait_ms is 2147483648, not an int32"):
        encode(FetchRequest(max_wait_ms=2**31), 4)


def test_text_where_bytes_belong_is_refused_by_name() -> None:
    with pytest.raises(BrokenProtocolError, match="auth_bytes is 'secret', not a bytes"):
        encode(SaslAuthenticateRequest(auth_bytes="secret"), 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [-1, 99])
def test_an_unknown_version_is_refused_with_the_known_ones(version: int) -> None:
    with pytest.raises(BrokenProtocolError, match=rf"no version {version}; known are 0 to 18"):
        encode(FetchRequest(), version)
    with pytest.raises(BrokenProtocolError, match=rf"no version {version}; known are 0 to 18"):
        decode(FetchRequest, version, b"")


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_are_written_from_any_buffer_and_read_without_a_copy(kind: type, version: int) -> None:
    data = ProduceRequest.PartitionProduceData(index=1, records=kind(b"a batch"))
    request = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(partition_data=[data])])
    frame = bytearray(encode(request, version))
    records = decode(ProduceRequest, version, frame).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records == b"a batch"
    frame[frame.index(b"batch")] = ord("m")
    assert records == b"a match"


def test_records_may_be_a_buffer_of_wider_items() -> None:
    wide = memoryview(bytes(16)).cast("q")
    data = ProduceRequest.PartitionProduceData(records=wide)
    request = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(partition_data=[data])])
    assert decode(ProduceRequest, 9, encode(request, 9)).topic_data[0].partition_data[0].records == bytes(16)


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 16_382, 16_383, 20_000])
def test_arrays_of_any_length_come_back(count: int) -> None:
    partition = MetadataResponse.MetadataResponsePartition(
        replica_nodes=list(range(count)), isr_nodes=[7], offline_replicas=list(range(count))
    )
    response = MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(partitions=[partition])])
    for version in (8, 12):
        assert decode(MetadataResponse, version, encode(response, version)) == response


def test_an_empty_uuid_is_the_zero_uuid() -> None:
    topic = MetadataResponse.MetadataResponseTopic(topic_id=uuid.UUID(int=0))
    response = decode(MetadataResponse, 12, encode(MetadataResponse(topics=[topic]), 12))
    assert response.topics[0].topic_id == uuid.UUID(int=0)


def test_bytes_after_the_message_are_refused_unless_a_prefix_is_asked_for() -> None:
    content = encode(ConsumerProtocolSubscription(topics=["t"]), 0)
    with pytest.raises(
        BrokenProtocolError, match=f"ends at byte {len(content)}, but {len(content) + 2} bytes"
    ):
        decode(ConsumerProtocolSubscription, 0, content + b"\0\0")
    assert decode_prefix(ConsumerProtocolSubscription, 0, content + b"\0\0") == (
        ConsumerProtocolSubscription(topics=["t"]),
        len(content),
    )
