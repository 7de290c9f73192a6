"""What must not be seen is seen nowhere: not in reprs, errors, logs or tracebacks."""

from __future__ import annotations

import copy
import dataclasses
import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Admin, AwsCredentials, Consumer, OAuthBearerToken, Producer
from barnabas.credentials import Secret
from barnabas.errors import BarnabasError, ConfigError
from barnabas.net.sasl.user_password import CredentialsHolder, UserPassword
from barnabas.net.security import Security
from barnabas.settings.table import CommonConfig, ConsumerConfig, ProducerConfig, load

from .secure_kafka import SecureKafka

HIDDEN = "hidden-hidden"

SECRETS = [field.name for field in dataclasses.fields(CommonConfig) if "Secret" in str(field.type)]


def settings(**others: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": "host:9092",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": HIDDEN,
        **others,
    }


def test_the_settings_that_are_secrets_are_known() -> None:
    assert SECRETS == [
        "ssl_truststore_password",
        "ssl_keystore_key",
        "ssl_keystore_password",
        "ssl_key_password",
        "sasl_password",
        "sasl_jaas_config",
        "sasl_oauthbearer_client_credentials_client_secret",
        "sasl_oauthbearer_assertion_private_key_pem",
        "sasl_oauthbearer_assertion_private_key_passphrase",
        "aws_secret_access_key",
        "aws_session_token",
        "proxy_url",
    ]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_setting_is_in_no_repr(name: str) -> None:
    config = load(ConsumerConfig, settings(**{name: HIDDEN}))
    assert getattr(config, name).reveal() == HIDDEN
    for text in (repr(config), str(config), str(dataclasses.asdict(config)), f"{getattr(config, name)}"):
        assert HIDDEN not in text


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_a_wrong_type_is_not_quoted(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be a string$"):
        load(ProducerConfig, settings(**{name: [HIDDEN]}))


def test_a_secret_stays_one_when_it_is_copied() -> None:
    secret = Secret(HIDDEN)
    for copied in (copy.deepcopy(secret), pickle.loads(pickle.dumps(secret))):
        assert copied == secret
        assert HIDDEN not in repr(copied)
    assert secret != HIDDEN
    assert not Secret("")


def test_credentials_are_in_no_repr() -> None:
    security = Security(load(ProducerConfig, settings()))
    objects = [
        security,
        security.mechanism,
        UserPassword("alice", Secret(HIDDEN)),
        CredentialsHolder(UserPassword("alice", Secret(HIDDEN))).current,
        OAuthBearerToken(HIDDEN),
        AwsCredentials("key", HIDDEN, HIDDEN),
    ]
    for each in objects:
        assert HIDDEN not in repr(each)


@pytest.mark.parametrize("client", [Producer, Consumer, Admin])
@pytest.mark.parametrize(
    "changes",
    [
        {"sasl_mechanism": "OAUTHBEARER"},
        {"security_protocol": None},
        {"sasl_username": None},
        {"sasl_passwort": HIDDEN},
        {
            "sasl_password": None,
            "sasl_username": None,
            "sasl_jaas_config": f'P required password="{HIDDEN}";',
        },
        {"ssl_keystore_key": HIDDEN, "ssl_keystore_certificate_chain": "none"},
    ],
)
def test_settings_that_cannot_work_are_refused_without_their_secrets(
    client: Callable[..., object], changes: dict[str, Any]
) -> None:
    given = settings(**changes)
    if given["security_protocol"] is None:
        del given["security_protocol"]
    with pytest.raises(ConfigError) as caught:
        client(given.pop("bootstrap_servers"), **given)
    assert HIDDEN not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
def test_a_failed_login_leaves_no_secret_behind(
    secure: SecureKafka, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    token = f"e30.{HIDDEN}.e30"
    changes = (
        {"sasl_oauthbearer_token_callback": lambda: token}
        if mechanism == "OAUTHBEARER"
        else {"sasl_password": HIDDEN}
    )
    given = secure.as_user("alice", mechanism=mechanism, **changes)
    with (
        caplog.at_level(logging.DEBUG),
        Admin(secure.server("SASL_SSL"), **given) as admin,
        pytest.raises(BarnabasError) as caught,
    ):
        admin.list_topics()
    assert HIDDEN not in "".join(traceback.format_exception(caught.value))
    assert caplog.text
    assert HIDDEN not in caplog.text
