"""Headers and frames, and the special cases of ApiVersions and ControlledShutdown."""

from __future__ import annotations

import pytest

from barnabas.errors import BrokenProtocolError
from barnabas.protocol.api_key import ApiKey
from barnabas.protocol.frame import decode_response, encode_request, response_correlation_id
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.registry import REQUESTS
from barnabas.protocol.server_frame import UnsupportedRequestError, decode_request, encode_response


@pytest.mark.parametrize("version", [0, 3, 4])
@pytest.mark.parametrize("client_id", ["barnabas", "", None])
def test_a_request_comes_back_with_its_header(version: int, client_id: str | None) -> None:
    request = HeartbeatRequest(group_id="g", generation_id=4, member_id="m")
    frame = encode_request(request, version, 77, client_id)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, decoded = decode_request(frame[4:])
    assert decoded == request
    assert (header.request_api_key, header.request_api_version) == (ApiKey.HEARTBEAT, version)
    assert (header.correlation_id, header.client_id) == (77, client_id)


def test_the_client_id_is_never_compact() -> None:
    frame = encode_request(HeartbeatRequest(), 4, 1, "abc")
    assert frame[4:].startswith(b"\0\x0c\0\x04\0\0\0\x01\0\x03abc\0")


@pytest.mark.parametrize("version", [0, 3, 4])
def test_a_response_comes_back_by_its_correlation_id(version: int) -> None:
    response = HeartbeatResponse(error_code=27)
    frame = encode_response(response, ApiKey.HEARTBEAT, version, 1234567)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert response_correlation_id(frame[4:]) == 1234567
    assert decode_response(HeartbeatRequest, version, frame[4:]) == response


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_header_before_api_versions_is_never_flexible(version: int) -> None:
    response = ApiVersionsResponse(api_keys=[ApiVersionsResponse.ApiVersion(1, 2, 3)])
    frame = encode_response(response, ApiKey.API_VERSIONS, version, 5)
    assert frame[4:].startswith(b"\0\0\0\x05\0\0")
    assert decode_response(ApiVersionsRequest, version, frame[4:]) == response


def test_an_api_versions_answer_in_version_0_to_a_newer_request_is_understood() -> None:
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersionsResponse.ApiVersion(18, 0, 3)])
    frame = encode_response(refusal, ApiKey.API_VERSIONS, 0, 5)
    assert decode_response(ApiVersionsRequest, 4, frame[4:]) == refusal


def test_controlled_shutdown_version_0_has_no_client_id() -> None:
    frame = encode_request(ControlledShutdownRequest(broker_id=3), 0, 9, None)
    assert frame[4:] == b"\0\x07\0\0\0\0\0\x09\0\0\0\x03"
    assert decode_request(frame[4:])[1] == ControlledShutdownRequest(broker_id=3)


@pytest.mark.parametrize(
    ("api_key", "version", "complaint"),
    [(1, 99, "FETCH version 99: known are 0 to 18"), (999, 0, "API key 999 version 0: there is no such API")],
)
def test_a_request_that_is_not_known_says_what_a_broker_needs_to_answer_it(
    api_key: int, version: int, complaint: str
) -> None:
    frame = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\x2a and whatever follows"
    with pytest.raises(UnsupportedRequestError, match=complaint) as raised:
        decode_request(frame)
    assert (raised.value.api_key, raised.value.version, raised.value.correlation_id) == (api_key, version, 42)


def test_frames_too_short_for_a_header_are_refused() -> None:
    with pytest.raises(BrokenProtocolError, match="a request of 7 bytes is too short"):
        decode_request(bytes(7))
    with pytest.raises(BrokenProtocolError, match="a response of 3 bytes is too short"):
        response_correlation_id(bytes(3))
    with pytest.raises(BrokenProtocolError):
        decode_response(FetchRequest, 12, b"\0\0\0")


def test_records_of_a_response_point_into_its_frame() -> None:
    data = FetchResponse.PartitionData(records=b"a batch")
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[data])])
    frame = encode_response(response, ApiKey.FETCH, 12, 1)[4:]
    records = decode_response(FetchRequest, 12, frame).responses[0].partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    assert records == b"a batch"


def test_every_api_is_found_by_its_key() -> None:
    assert len(REQUESTS) >= 80
    for api_key, request_type in REQUESTS.items():
        assert request_type.API_KEY == api_key == request_type.RESPONSE.API_KEY
        assert request_type.__name__ == request_type.NAME + "Request"
        assert request_type.VERSIONS == request_type.RESPONSE.VERSIONS
    assert 999 not in REQUESTS
    with pytest.raises(KeyError):
        REQUESTS[999]
