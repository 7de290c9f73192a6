"""TLS on the server's side: the context of a listener, by the settings that clients have as well, and a
handshake that ends with an alert where it is refused.

asyncio ends a connection whose handshake fails without sending the alert that OpenSSL has made for the
client. So the object that shakes hands here does not say that it failed: it asks for more bytes, whereupon
asyncio sends what there is to send. Knows nothing of listeners, nor of who a client is.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from barnabas.errors import InvalidSettingError
from barnabas.net.tls import load_own_certificate, load_trusted, set_versions
from barnabas.settings.table import CommonConfig, load

_VERIFY_MODES = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
# Fatal: internal_error. Java sends it to whoever does not speak TLS; OpenSSL makes no alert for them.
_PLAIN_ALERT = b"\x15\x03\x03\x00\x02\x02\x50"

Refuse = Callable[[ssl.SSLError], None]
REFUSE: ContextVar[Refuse] = ContextVar("REFUSE")
"""Told of a handshake in this context that is refused. Whoever sets it ends the connection then."""


class _ServerHandshake(ssl.SSLObject):
    """One connection's TLS."""

    _incoming: ssl.MemoryBIO
    _outgoing: ssl.MemoryBIO
    _refuse: Refuse
    _is_refused = False

    def attach(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._refuse = REFUSE.get()

    def do_handshake(self) -> None:
        if not self._is_refused:
            try:
                super().do_handshake()
                return
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError as error:
                self._is_refused = True
                if not self._outgoing.pending:
                    self._outgoing.write(_PLAIN_ALERT)
                self._refuse(error)
        # What the client has sent before it heard of the alert: unread, it would have the connection reset,
        # and the alert lost.
        self._incoming.read()
        raise ssl.SSLWantReadError


class _ServerContext(ssl.SSLContext):
    """Of connections whose handshakes tell of a refusal, where there is a `REFUSE`."""

    sslobject_class = _ServerHandshake

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> Any:
        made = super().wrap_bio(incoming, outgoing, *args, **kwargs)
        assert isinstance(made, _ServerHandshake)
        made.attach(incoming, outgoing)
        return made


def server_context(settings: Mapping[str, str], client_auth: str) -> ssl.SSLContext:
    """`settings`: those of clients whose names begin with ssl_. `client_auth`: none, requested or required; a
    client's certificate must come from an authority that the settings trust.

    Raises: InvalidSettingError, which names the setting; MissingExtraError.
    """
    config = load(
        CommonConfig, {"bootstrap_servers": "localhost:9092", "security_protocol": "SSL", **settings}
    )
    context = _ServerContext(ssl.PROTOCOL_TLS_SERVER)
    set_versions(context, config)
    if not load_own_certificate(context, config):
        raise InvalidSettingError("ssl_keystore_location is missing: a listener with TLS shows a certificate")
    if client_auth != "none":
        load_trusted(context, config)
        context.verify_mode = _VERIFY_MODES[client_auth]
    return context
