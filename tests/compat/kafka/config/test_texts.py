"""The texts of what a program for kafka-python makes show no secret that it put in."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.compat.kafka.admin import ConfigResource
from barnabas.compat.kafka_engine.config.merging import known
from barnabas.compat.kafka_engine.wire.api_messages import api_message
from barnabas.compat.kafka_engine.wire.struct_classes import struct_class

SECRET = "open-sesame"
_PASSWORD = "listener.name.ssl.ssl.keystore.password"
_BROKER = 4


def altered(name: str, value: str) -> Any:
    """A request of kafka-python 3 that sets an entry of a broker's configuration."""
    request = api_message("AlterConfigsRequest")
    resource = request.AlterConfigsResource
    entry = resource.AlterableConfig(name=name, value=value)
    changed = resource(resource_type=_BROKER, resource_name="1", configs=[entry])
    return request(version=1, resources=[changed])


@pytest.mark.parametrize(
    "made",
    [
        known({"sasl_plain_password": None, "client_id": ""}, {"sasl_plain_password": SECRET}),
        known({"ssl_password": None}, {"ssl_password": SECRET}),
        known({"proxy_url": None}, {"proxy_url": f"socks5://user:{SECRET}@host:1080"}),
        ConfigResource("BROKER", "1", {_PASSWORD: SECRET}),
        altered(_PASSWORD, SECRET),
        api_message("SaslAuthenticateRequest")(version=1, auth_bytes=SECRET.encode()),
        struct_class("admin", "SaslAuthenticateRequest_v0")(SECRET.encode()),
        struct_class("sasl_authenticate", "SaslAuthenticateRequest_v0")(SECRET.encode()),
        struct_class("admin", "AlterConfigsRequest_v0")([(_BROKER, "1", [(_PASSWORD, SECRET)])], False),
    ],
    ids=lambda made: type(made).__name__,
)
def test_a_text_has_no_secret(made: Any) -> None:
    assert SECRET not in repr(made)
    assert "***" in repr(made)


def test_texts_have_what_is_no_secret() -> None:
    assert repr(known({"client_id": None, "ssl_password": None}, {"client_id": "me"})) == (
        "{'client_id': 'me', 'ssl_password': None}"
    )
    assert "{'retention.ms': '7'}" in repr(ConfigResource("TOPIC", "name", {"retention.ms": "7"}))
    assert "value='7'" in repr(altered("log.cleaner.threads", "7"))


def test_fields_that_no_message_has_are_shown_without_what_may_be_a_secret() -> None:
    with pytest.raises(ValueError, match="auth_byte") as raised:
        api_message("SaslAuthenticateRequest")(auth_byte=SECRET.encode())
    assert SECRET not in str(raised.value)
    with pytest.raises(ValueError, match=r"\{'topic': 'orders'\}"):
        api_message("MetadataRequest")(topic="orders")
