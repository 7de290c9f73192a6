"""SslConfig and authenticators as settings of the core."""

from __future__ import annotations

import socket
import ssl
from typing import Any

__all__ = ["security_settings"]


def security_settings(ssl_config: Any, sasl_authenticator: Any) -> dict[str, Any]:
    """`ssl_config`: anything with a `wrap_socket`.

    Raises: OSError for files that cannot be read, ssl.SSLError for what is in them, TypeError for a
    `wrap_socket` that makes no socket of TLS.
    """
    settings: dict[str, Any] = {}
    if sasl_authenticator is not None:
        settings |= sasl_authenticator.core_settings()
    if ssl_config is not None:
        settings["ssl_context"] = _context_of(ssl_config)
    protocol = "SSL" if ssl_config is not None else "PLAINTEXT"
    if sasl_authenticator is not None:
        protocol = f"SASL_{protocol}"
    return settings | {"security_protocol": protocol}


def _context_of(ssl_config: Any) -> ssl.SSLContext:
    """What makes a socket one of TLS may be a program's own function: one that is not connected shows which
    context it takes."""
    with socket.socket() as plain, ssl_config.wrap_socket(plain) as wrapped:
        context = getattr(wrapped, "context", None)
    if not isinstance(context, ssl.SSLContext):
        raise TypeError(f"ssl_config.wrap_socket must give an ssl.SSLSocket, not {wrapped!r}")
    return context
