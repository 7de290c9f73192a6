"""One listener: its TLS, its mechanisms, and who a client is that has come in by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.broker.client_connection import ClientConnection
from barnabas.broker.cluster import Cluster
from barnabas.broker.delegation_tokens.token_store import DelegationTokenStore
from barnabas.broker.login.doorkeeper import SaslDoorkeeper
from barnabas.broker.login.listeners import BrokerListener, tls_context
from barnabas.broker.login.mechanisms import mechanisms_of
from barnabas.broker.principal import ANONYMOUS, Principal
from barnabas.broker_errors import InvalidConfigError
from barnabas.errors import InvalidSettingError
from barnabas.net.distinguished_names import PrincipalRules, subject_name
from barnabas.net.server import DisconnectError


class Door:
    """Of one node. `users`: passwords by name. Raises: InvalidConfigError."""

    def __init__(
        self,
        listener: BrokerListener,
        node_id: int,
        cluster: Cluster,
        tokens: DelegationTokenStore,
        users: Mapping[str, str],
    ) -> None:
        self.listener = listener
        self._node_id = node_id
        self._cluster = cluster
        self._tokens = tokens
        self._users = users
        self.renew()

    def renew(self) -> None:
        """Has what the settings say now hold for those who come from now on. Raises: InvalidConfigError, and
        then all stays."""
        settings, listener = self._cluster.settings.of_node(self._node_id), self.listener
        tls = tls_context(settings, listener)
        try:
            rules = PrincipalRules(settings.of_listener("ssl.principal.mapping.rules", listener.name))
        except InvalidSettingError as error:
            raise InvalidConfigError(str(error)) from None
        mechanisms = (
            mechanisms_of(
                listener, settings, self._users, lambda: self._cluster.scram_users.credentials, self._tokens
            )
            if listener.has_sasl
            else {}
        )
        self.tls, self._rules, self._mechanisms = tls, rules, mechanisms
        self._max_frame_bytes = int(settings.of_listener("sasl.server.max.receive.size", listener.name))
        self._max_session_ms = int(settings.of_listener("connections.max.reauth.ms", listener.name))
        self._refusal_delay_ms = settings.number("connection.failed.authentication.delay.ms")

    def connection(self, host: str, port: int, certificate: Mapping[str, Any] | None) -> ClientConnection:
        """Raises: DisconnectError for a certificate that no rule makes a user of."""
        principal = ANONYMOUS
        if certificate is not None and not self.listener.has_sasl:
            name = subject_name(certificate)
            user = self._rules.apply(name)
            if user is None:
                raise DisconnectError(f"no rule of ssl.principal.mapping.rules fits {name}")
            principal = Principal(user)
        return ClientConnection(
            host,
            port,
            certificate,
            listener=self.listener.name,
            protocol=self.listener.protocol,
            node=self._node_id,
            principal=principal,
        )

    def doorkeeper(self, connection: ClientConnection) -> SaslDoorkeeper:
        return SaslDoorkeeper(
            connection,
            self._mechanisms,
            max_frame_bytes=self._max_frame_bytes,
            max_session_ms=self._max_session_ms,
            refusal_delay_ms=self._refusal_delay_ms,
        )
