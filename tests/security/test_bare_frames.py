"""How clients authenticate on brokers before 1.0, which newer ones still understand: SaslHandshake version 0,
then the mechanism's messages without a header."""

from __future__ import annotations

import pytest

from barnabas import Admin
from barnabas.errors import BootstrapError
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest

from .secure_kafka import MECHANISMS, SecureKafka


@pytest.fixture(autouse=True)
def _only_the_oldest_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SaslHandshakeRequest, "VERSIONS", (0, 0))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_mechanism_lets_a_client_in(secure: SecureKafka, mechanism: str) -> None:
    with Admin(secure.server("SASL_SSL"), **secure.as_user(mechanism=mechanism)) as admin:
        assert admin.describe_cluster().nodes


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_broker_that_hangs_up_may_mean_the_password(secure: SecureKafka, mechanism: str) -> None:
    settings = secure.as_user(mechanism=mechanism, sasl_password="wrong", default_api_timeout_ms=2_000)
    with (
        Admin(secure.server("SASL_SSL"), **settings) as admin,
        pytest.raises(BootstrapError, match=r"during authentication; brokers before 1\.0 refuse wrong"),
    ):
        admin.list_topics()
