"""The SASL mechanisms of a listener, and the users that they know.

Owns whose password counts, and by whom tickets and tokens have to be given. Must not know how messages come
and go.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import partial

from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.delegation_tokens.token_store import DelegationTokenStore
from barnabas.broker.login.listeners import BrokerListener
from barnabas.broker.scram_users import ScramCredential, UserAndMechanism
from barnabas.broker_errors import InvalidConfigError
from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.net.sasl import jaas
from barnabas.net.sasl.scram import HASHES
from barnabas.net.sasl_server.conversation import MakeConversation, Proof
from barnabas.net.sasl_server.gssapi import KerberosService
from barnabas.net.sasl_server.kerberos_names import SETTING as KERBEROS_RULES
from barnabas.net.sasl_server.oauthbearer import OAuthBearerServer, TokenCheck, unsecured_check
from barnabas.net.sasl_server.plain import PlainServer
from barnabas.net.sasl_server.scram import ScramSecret, ScramServer
from barnabas.net.sasl_server.signed_tokens import TokenRules, signed_check

OFFERED = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
# Kafka's numbers of the mechanisms.
_SCRAM_NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_USER_OPTION = "user_"
_ITERATIONS = 4096

ScramCredentials = Callable[[], Mapping[UserAndMechanism, ScramCredential]]


def mechanisms_of(
    listener: BrokerListener,
    settings: BrokerSettings,
    users: Mapping[str, str],
    stored: ScramCredentials,
    tokens: DelegationTokenStore,
) -> dict[str, MakeConversation]:
    """Those that are enabled. `users`: passwords by name, beside those of the settings and `stored` ones.

    Raises: InvalidConfigError.
    """
    enabled = settings.of_listener("sasl.enabled.mechanisms", listener.name)
    found: dict[str, MakeConversation] = {}
    for mechanism in filter(None, (name.strip() for name in enabled.split(","))):
        options = _jaas_options(settings, listener, mechanism)
        match mechanism:
            case "PLAIN":
                found[mechanism] = _plain(options, users)
            case "SCRAM-SHA-256" | "SCRAM-SHA-512":
                found[mechanism] = _scram(mechanism, users, stored, tokens)
            case "OAUTHBEARER":
                check = _token_check(settings, listener, options)
                found[mechanism] = partial(OAuthBearerServer, check)
            case "GSSAPI":
                found[mechanism] = _kerberos(settings, listener, options).converse
            case _:
                raise InvalidConfigError(
                    f"sasl.enabled.mechanisms of listener {listener.name}: {mechanism} is not offered, but "
                    f"{', '.join(OFFERED)} are"
                )
    return found


def _token_check(
    settings: BrokerSettings, listener: BrokerListener, options: Mapping[str, str]
) -> TokenCheck:
    """Tokens have to be signed where the settings say by whom."""

    def value(name: str) -> str:
        return settings.of_listener(f"sasl.oauthbearer.{name}", listener.name, "OAUTHBEARER")

    url = value("jwks.endpoint.url")
    if not url:
        return unsecured_check(options)
    rules = TokenRules(
        jwks_endpoint_url=url,
        jwks_endpoint_refresh_ms=int(value("jwks.endpoint.refresh.ms")),
        jwks_endpoint_retry_backoff_ms=int(value("jwks.endpoint.retry.backoff.ms")),
        audience=[name.strip() for name in value("expected.audience").split(",") if name.strip()],
        issuer=value("expected.issuer") or None,
        clock_skew_seconds=int(value("clock.skew.seconds")),
        scope_claim_name=value("scope.claim.name"),
        sub_claim_name=value("sub.claim.name"),
    )
    try:
        return signed_check(rules)
    except InvalidSettingError as error:
        raise InvalidConfigError(f"listener {listener.name}: {error}") from None


def _kerberos(
    settings: BrokerSettings, listener: BrokerListener, options: Mapping[str, str]
) -> KerberosService:
    keytab = options.get("keyTab", "").removeprefix("file:")
    if not keytab:
        raise InvalidConfigError(
            f"sasl.jaas.config of GSSAPI on listener {listener.name} names no keyTab, as in "
            'com.sun.security.auth.module.Krb5LoginModule required keyTab="/etc/kafka.keytab" '
            'principal="kafka/host@REALM";'
        )
    rules = settings.of_listener(KERBEROS_RULES, listener.name, "GSSAPI")
    try:
        return KerberosService(keytab, options.get("principal"), rules)
    except InvalidSettingError as error:
        raise InvalidConfigError(f"listener {listener.name}: {error}") from None


def _plain(options: Mapping[str, str], users: Mapping[str, str]) -> MakeConversation:
    of_settings = {
        name.removeprefix(_USER_OPTION): password
        for name, password in options.items()
        if name.startswith(_USER_OPTION)
    }
    passwords = {**of_settings, **users}
    return lambda: PlainServer(passwords)


def _scram(
    mechanism: str, users: Mapping[str, str], stored: ScramCredentials, tokens: DelegationTokenStore
) -> MakeConversation:
    known = {user: scram_secret(mechanism, password) for user, password in users.items()}

    def find(user: str, is_token: bool) -> tuple[ScramSecret, Proof] | None:
        if is_token:
            return _find_token(mechanism, tokens, user)
        credential = stored().get((user, _SCRAM_NUMBERS[mechanism]))
        secret = known.get(user) if credential is None else _kept_secret(credential)
        return None if secret is None else (secret, Proof(user))

    return lambda: ScramServer(mechanism, find)


def _find_token(
    mechanism: str, tokens: DelegationTokenStore, token_id: str
) -> tuple[ScramSecret, Proof] | None:
    token = tokens.find(token_id)
    if token is None:
        return None
    password = base64.b64encode(tokens.hmac(token)).decode()
    owner = token.owner.partition(":")[2]
    return scram_secret(mechanism, password), Proof(owner, token.expiry_timestamp_ms, by_token=True)


def _kept_secret(credential: ScramCredential) -> ScramSecret:
    return ScramSecret(
        base64.b64decode(credential.salt),
        credential.iterations,
        base64.b64decode(credential.stored_key),
        base64.b64decode(credential.server_key),
    )


def scram_secret(mechanism: str, password: str) -> ScramSecret:
    """Of a password that is known: its salt is made of it, the same at every start."""
    digest = HASHES[mechanism]
    salt = hashlib.sha256(f"{mechanism} {password}".encode()).digest()[:16]
    return ScramSecret.of(digest, password.encode(), salt, _ITERATIONS)


def _jaas_options(settings: BrokerSettings, listener: BrokerListener, mechanism: str) -> dict[str, str]:
    text = settings.of_listener("sasl.jaas.config", listener.name, mechanism)
    if not text:
        return {}
    try:
        module = jaas.parse(Secret(text))
    except InvalidSettingError as error:
        where = f"sasl.jaas.config of {mechanism} on listener {listener.name}"
        raise InvalidConfigError(f"{where}: {error}") from None
    return {name: value.reveal() for name, value in module.options.items()}
