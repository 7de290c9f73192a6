"""How one client secures its connections: by its settings, TLS, a SASL mechanism with its credentials,
and a proxy.

Knows nothing of connections, nor of the mechanisms. What a client does not use is not imported: most of it is
large (certificates, HTTP for tokens).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.errors import MisuseError
from barnabas.net.proxies import proxy_of
from barnabas.settings.table import CommonConfig

if TYPE_CHECKING:
    from barnabas.net.sasl.mechanism import Mechanism
    from barnabas.net.sasl.user_password import CredentialsHolder
    from barnabas.net.tls import Tls


class Security:
    """Shared by all connections of a client.

    Raises: InvalidSettingError, which names the setting; MissingExtraError.
    """

    def __init__(self, config: CommonConfig) -> None:
        self.protocol = config.security_protocol
        self.tls: Tls | None = None
        self.mechanism: Mechanism | None = None
        self.proxy = None if config.proxy_url is None else proxy_of(config.proxy_url.reveal())
        self._credentials: CredentialsHolder | None = None
        if config.security_protocol in ("SSL", "SASL_SSL"):
            from barnabas.net.tls import Tls

            self.tls = Tls(config)
        if config.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
            from barnabas.net.sasl.configured import configured_mechanism

            self.mechanism, self._credentials = configured_mechanism(config)

    def set_credentials(self, username: str, password: str) -> None:
        """The next authentication uses these. On any thread. Raises: MisuseError without PLAIN or SCRAM."""
        if self._credentials is None:
            raise MisuseError(
                "set_sasl_credentials is for sasl_mechanism PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512; tokens "
                "and keys come from their callbacks, again each time"
            )
        self._credentials.replace(username, password)
