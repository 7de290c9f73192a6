from __future__ import annotations

import asyncio
import socket
import struct
import time
from typing import Any

import pytest

from barnabas.errors import (
    BrokenProtocolError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.net.connection import Connection
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.server_frame import encode_response


async def open_connection(broker: Any, **settings: Any) -> Connection:
    return await Connection.open("127.0.0.1", broker.port, client_id="tester", **settings)


def test_a_real_broker_tells_its_versions_and_answers(broker: Any) -> None:
    async def main() -> None:
        connection = await open_connection(broker)
        try:
            low, high = connection.versions[MetadataRequest.API_KEY]
            assert low <= connection.version_of(MetadataRequest) <= high
            response = await connection.send(MetadataRequest(topics=[]), timeout_ms=30_000)
            assert [(b.host, b.port) for b in response.brokers] == [("127.0.0.1", broker.port)]
        finally:
            connection.close()

    asyncio.run(main())


def test_requests_are_pipelined_and_answers_find_their_requests(scripted_broker: Any, metadata: Any) -> None:
    waiting: list[Any] = []

    async def answer(connection: Any, header: Any, request: Any) -> None:
        waiting.append(header)
        if len(waiting) == 3:
            for number, held in enumerate(waiting):
                connection.answer(held, metadata(f"answer {number}"))

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            futures = [connection.submit(MetadataRequest(), timeout_ms=30_000) for _ in range(3)]
            answers = await asyncio.gather(*futures)
            assert [a.cluster_id for a in answers] == ["answer 0", "answer 1", "answer 2"]
            assert connection.in_flight == 0
            connection.close()

    asyncio.run(main())


def test_the_highest_version_that_both_sides_speak_is_used(scripted_broker: Any, metadata: Any) -> None:
    async def answer(connection: Any, header: Any, request: Any) -> None:
        connection.answer(header, metadata())

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            await connection.send(MetadataRequest(), timeout_ms=30_000)
            await connection.send(MetadataRequest(), timeout_ms=30_000, max_version=4)
            assert [h.request_api_version for h in broker.headers] == [4, 12, 4]
            assert {h.client_id for h in broker.headers} == {"tester"}
            assert broker.requests[0].client_software_name == "barnabas"
            with pytest.raises(NoCommonVersionError, match=r"127\.0\.0\.1:\d+ does not know Fetch requests"):
                await connection.send(FetchRequest(), timeout_ms=30_000)
            connection.close()

    asyncio.run(main())


def test_a_broker_that_does_not_know_our_version_of_the_handshake_is_asked_in_its_own(
    tcp_server: Any,
) -> None:
    asked: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while size := await reader.read(4):
            frame = await reader.readexactly(int.from_bytes(size))
            version, correlation_id = int.from_bytes(frame[2:4]), int.from_bytes(frame[4:8])
            asked.append(version)
            key = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=1)
            code = 35 if version > 1 else 0
            response = ApiVersionsResponse(error_code=code, api_keys=[key])
            answered_version = version if code == 0 else 0
            writer.write(
                encode_response(response, ApiVersionsRequest.API_KEY, answered_version, correlation_id)
            )

    async def main() -> None:
        async with tcp_server(serve) as port:
            connection = await Connection.open("127.0.0.1", port, client_id="tester")
            assert connection.versions == {18: (0, 1)}
            connection.close()

    asyncio.run(main())
    assert asked == [4, 1]


def test_a_request_without_an_answer_times_out_and_ends_the_connection(scripted_broker: Any) -> None:
    async def silence(connection: Any, header: Any, request: Any) -> None:
        pass

    async def main() -> None:
        async with scripted_broker(silence) as broker:
            connection = await open_connection(broker)
            late = connection.submit(MetadataRequest(), timeout_ms=30_000)
            with pytest.raises(KafkaTimeoutError, match="did not answer Metadata within 50 ms"):
                await connection.send(MetadataRequest(), timeout_ms=50)
            with pytest.raises(KafkaConnectionError, match="did not answer"):
                await late
            assert connection.is_closed
            with pytest.raises(KafkaConnectionError):
                await connection.send(MetadataRequest(), timeout_ms=50)

    asyncio.run(main())


def test_a_broker_that_takes_no_bytes_is_given_up_though_no_answer_is_awaited(scripted_broker: Any) -> None:
    async def hang(connection: Any, header: Any, request: Any) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with scripted_broker(hang) as broker:
            connection = await Connection.open(
                "127.0.0.1", broker.port, client_id="tester", request_timeout_ms=1_000
            )
            name = MetadataRequest.MetadataRequestTopic(name="x" * 30_000)
            async with asyncio.timeout(30):
                while not connection.is_closed:
                    connection.send_no_response(MetadataRequest(topics=[name] * 100))
                    await connection.wait_until_writable()
            with pytest.raises(KafkaConnectionError, match="has taken no byte for request_timeout_ms=1000"):
                connection.send_no_response(MetadataRequest())

    asyncio.run(main())


def test_the_answer_to_a_request_that_its_caller_gave_up_is_dropped_in_order(
    scripted_broker: Any, metadata: Any
) -> None:
    release = asyncio.Event()

    async def answer(connection: Any, header: Any, request: Any) -> None:
        await release.wait()
        connection.answer(header, metadata(f"to {header.correlation_id}"))

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connection.send(MetadataRequest(), timeout_ms=30_000), 0.05)
            second = connection.submit(MetadataRequest(), timeout_ms=30_000)
            release.set()
            assert (await second).cluster_id == "to 3"
            assert not connection.is_closed
            connection.close()

    asyncio.run(main())


def test_an_answer_with_a_strange_correlation_id_ends_the_connection(
    scripted_broker: Any, metadata: Any
) -> None:
    async def answer(connection: Any, header: Any, request: Any) -> None:
        connection.answer(header, metadata(), correlation_id=77)

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            with pytest.raises(KafkaConnectionError, match="answer 77 instead of 2"):
                await connection.send(MetadataRequest(), timeout_ms=30_000)
            assert connection.is_closed

    asyncio.run(main())


def test_an_answer_that_cannot_be_read_ends_the_connection(scripted_broker: Any) -> None:
    async def answer(connection: Any, header: Any, request: Any) -> None:
        frame = header.correlation_id.to_bytes(4) + b"\x00" + b"\xff" * 10
        connection.write(len(frame).to_bytes(4) + frame)

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            with pytest.raises(BrokenProtocolError, match=r"127\.0\.0\.1"):
                await connection.send(MetadataRequest(), timeout_ms=30_000)
            assert connection.is_closed

    asyncio.run(main())


def test_whoever_waits_for_an_answer_hears_of_it_whatever_went_wrong_with_it(
    scripted_broker: Any, metadata: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise MemoryError("no room for it")

    async def answer(connection: Any, header: Any, request: Any) -> None:
        connection.answer(header, metadata())

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            monkeypatch.setattr("barnabas.net.connection.decode_response", fail)
            first = connection.submit(MetadataRequest(), timeout_ms=30_000)
            second = connection.submit(MetadataRequest(), timeout_ms=30_000)
            for waiting in (first, second):
                with pytest.raises(KafkaConnectionError, match="no room for it"):
                    await waiting
            assert connection.is_closed

    asyncio.run(main())


def test_requests_under_way_fail_when_the_broker_hangs_up(scripted_broker: Any) -> None:
    async def hang_up(connection: Any, header: Any, request: Any) -> None:
        connection.close()

    async def main() -> None:
        async with scripted_broker(hang_up) as broker:
            connection = await open_connection(broker)
            futures = [connection.submit(MetadataRequest(), timeout_ms=30_000) for _ in range(2)]
            errors = await asyncio.gather(*futures, return_exceptions=True)
            assert [type(error) for error in errors] == [KafkaConnectionError] * 2

    asyncio.run(main())


def test_a_throttled_client_waits_before_its_next_request(scripted_broker: Any, metadata: Any) -> None:
    arrivals: list[float] = []

    async def answer(connection: Any, header: Any, request: Any) -> None:
        arrivals.append(time.monotonic())
        connection.answer(header, metadata(throttle_time_ms=300 if len(arrivals) == 1 else 0))

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            await connection.send(MetadataRequest(), timeout_ms=30_000)
            await asyncio.gather(*[connection.send(MetadataRequest(), timeout_ms=30_000) for _ in range(2)])
            connection.close()

    asyncio.run(main())
    assert arrivals[1] - arrivals[0] >= 0.25


def test_nobody_waits_for_ever_for_a_broker_that_demands_to_be_left_alone_for_hours(
    scripted_broker: Any, metadata: Any
) -> None:
    async def answer(connection: Any, header: Any, request: Any) -> None:
        connection.answer(header, metadata(throttle_time_ms=2**31 - 1))

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            await connection.send(MetadataRequest(), timeout_ms=30_000)
            with pytest.raises(KafkaTimeoutError, match=r"Metadata wait for longer than 200 ms.*throttles"):
                await connection.send(MetadataRequest(), timeout_ms=200)
            assert connection.is_closed

    asyncio.run(main())


def test_something_that_does_not_speak_kafka_is_named_as_such(tcp_server: Any) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async def main() -> None:
        async with tcp_server(serve) as port:
            with pytest.raises(BrokenProtocolError, match=f"127.0.0.1:{port}.*does not speak Kafka"):
                await Connection.open("127.0.0.1", port, client_id="tester")

    asyncio.run(main())


def test_a_refused_connection_names_the_address_and_the_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        async def main() -> None:
            with pytest.raises(KafkaConnectionError, match=f"127.0.0.1:{port}: Connection refused"):
                await Connection.open("127.0.0.1", port, client_id="tester")

        asyncio.run(main())


def test_a_listener_that_hangs_up_as_soon_as_it_is_reached_is_an_error_of_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        async def dial_and_be_reset(*_: Any) -> socket.socket:
            dialed = socket.create_connection(("127.0.0.1", port))
            taken, _address = listener.accept()
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            taken.close()
            with pytest.raises(ConnectionResetError):
                dialed.recv(1)
            dialed.setblocking(False)
            return dialed

        monkeypatch.setattr("barnabas.net.connection.dial", dial_and_be_reset)
        with pytest.raises(KafkaConnectionError, match=f"127.0.0.1:{port} closed the connection as soon as"):
            asyncio.run(Connection.open("127.0.0.1", port, client_id="tester"))


def test_a_silent_listener_is_given_up_at_the_time_out() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        port = listener.getsockname()[1]

        async def main() -> None:
            with pytest.raises(
                KafkaTimeoutError, match="did not answer ApiVersions within request_timeout_ms=100"
            ):
                await Connection.open("127.0.0.1", port, client_id="tester", request_timeout_ms=100)

        asyncio.run(main())


def test_every_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch, broker: Any) -> None:
    real = socket.getaddrinfo

    def two_addresses(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        if host != "two.addresses.test":
            return real(host, port, *args, **kwargs)
        if kwargs.get("flags", 0) & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "not a number")
        tcp = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*tcp, ("127.0.0.9", port)), (*tcp, ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", two_addresses)

    async def main() -> None:
        connection = await Connection.open("two.addresses.test", broker.port, client_id="tester")
        assert connection.versions
        connection.close()

    asyncio.run(main())


def test_a_large_answer_arrives_whole(scripted_broker: Any, metadata: Any) -> None:
    name = "x" * 30_000

    async def answer(connection: Any, header: Any, request: Any) -> None:
        response = metadata()
        response.brokers = [
            type(response).MetadataResponseBroker(node_id=n, host=name, port=n) for n in range(200)
        ]
        connection.answer(header, response)

    async def main() -> None:
        async with scripted_broker(answer) as broker:
            connection = await open_connection(broker)
            response = await connection.send(MetadataRequest(), timeout_ms=30_000)
            assert [b.node_id for b in response.brokers] == list(range(200))
            assert all(b.host == name for b in response.brokers)
            connection.close()

    asyncio.run(main())
