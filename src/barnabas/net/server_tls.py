"""TLS on the server's side: the context of a listener, by the settings that clients have as well.

Knows nothing of listeners, nor of who a client is.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from barnabas.errors import InvalidSettingError
from barnabas.net.tls import load_own_certificate, load_trusted, set_versions
from barnabas.settings.table import CommonConfig, load

_VERIFY_MODES = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: Mapping[str, str], client_auth: str) -> ssl.SSLContext:
    """`settings`: those of clients whose names begin with ssl_. `client_auth`: none, requested or required; a
    client's certificate must come from an authority that the settings trust.

    Raises: InvalidSettingError, which names the setting; MissingExtraError.
    """
    config = load(
        CommonConfig, {"bootstrap_servers": "localhost:9092", "security_protocol": "SSL", **settings}
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    set_versions(context, config)
    if not load_own_certificate(context, config):
        raise InvalidSettingError("ssl_keystore_location is missing: a listener with TLS shows a certificate")
    if client_auth != "none":
        load_trusted(context, config)
        context.verify_mode = _VERIFY_MODES[client_auth]
    return context
