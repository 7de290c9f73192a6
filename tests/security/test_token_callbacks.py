"""What a callback for tokens raises."""

from __future__ import annotations

import pytest

from barnabas import Admin
from barnabas.credentials import OAuthBearerToken
from barnabas.errors import CredentialsError
from barnabas.testing import EmbeddedBroker, SecureListeners

LISTENER = "SASL_PLAINTEXT"


@pytest.mark.integration
def test_the_error_of_a_token_callback_is_the_cause_of_the_error_of_a_call() -> None:
    def token() -> OAuthBearerToken:
        raise RuntimeError("the vault is sealed")

    with (
        EmbeddedBroker(security=SecureListeners(), storage="memory") as broker,
        Admin(
            broker.bootstrap_for(LISTENER),
            security_protocol=LISTENER,
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_token_callback=token,
        ) as admin,
        pytest.raises(CredentialsError, match="callback raised RuntimeError") as caught,
    ):
        admin.list_topics()
    assert str(caught.value.__cause__) == "the vault is sealed"
