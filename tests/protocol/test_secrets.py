from __future__ import annotations

import pytest

from barnabas.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.schema import Message

SECRET = "open-sesame"
AlterableConfig = IncrementalAlterConfigsRequest.AlterableConfig


def set_to_secret(name: str) -> IncrementalAlterConfigsRequest:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        configs=[AlterableConfig(name=name, value=SECRET)]
    )
    return IncrementalAlterConfigsRequest(resources=[resource])


@pytest.mark.parametrize(
    "message",
    [
        SaslAuthenticateRequest(auth_bytes=f"\0alice\0{SECRET}".encode()),
        CreateDelegationTokenResponse(hmac=SECRET.encode()),
        AlterUserScramCredentialsRequest(
            upsertions=[
                AlterUserScramCredentialsRequest.ScramCredentialUpsertion(salted_password=SECRET.encode())
            ]
        ),
        set_to_secret("listener.name.ssl.ssl.keystore.password"),
        set_to_secret("ssl.key.password"),
        set_to_secret("ssl.keystore.key"),
        set_to_secret("listener.name.a.plain.sasl.jaas.config"),
        set_to_secret("sasl.oauthbearer.client.credentials.client.secret"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_the_text_of_a_message_shows_no_secret(message: Message) -> None:
    assert SECRET not in repr(message)
    assert "***" in repr(message)


def test_the_text_of_a_message_shows_settings_that_are_no_secret() -> None:
    assert "value='7'" in repr(AlterableConfig(name="retention.ms", value="7"))
