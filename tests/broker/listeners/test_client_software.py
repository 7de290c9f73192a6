"""What a client says of its software when it asks for versions (KIP-511): Kafka's answers and ours."""

from __future__ import annotations

import asyncio

from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

NAMES = {
    "usual": "apache-kafka-java",
    "short": "a",
    "empty": "",
    "ends in a dash": "librdkafka-",
    "has a blank": "my client",
    "has an underscore": "my_client",
    "ends in a line": "client\n",
}


async def _errors(bootstrap: str) -> dict[str, str]:
    host, port = bootstrap.split(":")
    connection = await Connection.open(host, int(port), client_id="test")
    try:
        answers = {
            name: await connection.send(ApiVersionsRequest(text, "1.0"), timeout_ms=60_000)
            for name, text in NAMES.items()
        }
        answers["odd version"] = await connection.send(ApiVersionsRequest("a", "1 0"), timeout_ms=60_000)
    finally:
        connection.close()
    return {name: ErrorCode(answer.error_code).name for name, answer in answers.items()}


def test_a_name_of_software_is_taken_or_refused_as_kafka_does() -> None:
    with ApacheKafka() as kafka, EmbeddedBroker() as embedded:
        expected, given = (asyncio.run(_errors(broker.bootstrap)) for broker in (kafka, embedded))
    assert given == expected
    assert set(expected.values()) == {"NONE", "INVALID_REQUEST"}
