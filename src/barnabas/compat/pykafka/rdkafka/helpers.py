"""How librdkafka would be told of TLS."""

from __future__ import annotations

from typing import Any

__all__ = ["rdk_ssl_config"]


def rdk_ssl_config(cluster: Any) -> dict[str, Any]:
    """librdkafka's properties for what a cluster's SslConfig says; none without one."""
    given = cluster._ssl_config
    if given is None:
        return {}
    properties = {
        "security.protocol": "ssl",
        "ssl.ca.location": given.cafile,
        "ssl.certificate.location": given.certfile,
        "ssl.key.location": given.keyfile,
        "ssl.key.password": given.password,
    }
    return {name: value for name, value in properties.items() if value is not None}
