"""The SASL mechanisms of a listener, and the users that they know.

Owns whose password counts. Must not know how messages come and go.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping

from barnabas.broker.login.listeners import BrokerListener
from barnabas.broker.login.token_store import DelegationTokenStore
from barnabas.broker.scram_users import ScramCredential, UserAndMechanism
from barnabas.broker.settings import BrokerSettings
from barnabas.broker_errors import InvalidConfigError
from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.net.sasl import jaas
from barnabas.net.sasl.scram import HASHES
from barnabas.net.sasl_server.conversation import MakeConversation, Proof
from barnabas.net.sasl_server.oauthbearer import OAuthBearerServer, unsecured_check
from barnabas.net.sasl_server.plain import PlainServer
from barnabas.net.sasl_server.scram import ScramSecret, ScramServer

OFFERED = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
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
        if mechanism not in OFFERED:
            raise InvalidConfigError(
                f"sasl.enabled.mechanisms of listener {listener.name}: {mechanism} is not offered, but "
                f"{', '.join(OFFERED)} are"
            )
        options = _jaas_options(settings, listener, mechanism)
        found[mechanism] = _maker(mechanism, options, users, stored, tokens)
    return found


def _maker(
    mechanism: str,
    options: Mapping[str, str],
    users: Mapping[str, str],
    stored: ScramCredentials,
    tokens: DelegationTokenStore,
) -> MakeConversation:
    if mechanism == "PLAIN":
        of_settings = {
            name.removeprefix(_USER_OPTION): password
            for name, password in options.items()
            if name.startswith(_USER_OPTION)
        }
        passwords = {**of_settings, **users}
        return lambda: PlainServer(passwords)
    if mechanism == "OAUTHBEARER":
        check = unsecured_check(options)
        return lambda: OAuthBearerServer(check)
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
