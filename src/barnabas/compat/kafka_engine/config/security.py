"""ssl_* and sasl_* as settings of the core.

The context of TLS is made here, as the original makes its own: revoked certificates, and ciphers in OpenSSL's
words, are no settings of the core.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, get_args

from barnabas.credentials import OAuthBearerToken, TokenCallback
from barnabas.errors import CredentialsError, InvalidSettingError
from barnabas.settings.table import SaslMechanism, SecurityProtocol

PROTOCOLS = get_args(SecurityProtocol)
MECHANISMS = get_args(SaslMechanism)


def security_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Raises: InvalidSettingError; OSError for a file that cannot be read, ssl.SSLError for what is in it."""
    protocol = config["security_protocol"]
    if protocol not in PROTOCOLS:
        raise InvalidSettingError(f"security_protocol must be in {', '.join(PROTOCOLS)}")
    settings: dict[str, Any] = {"security_protocol": protocol}
    if protocol.endswith("SSL"):
        settings["ssl_context"] = config["ssl_context"] or ssl_context(config)
    if protocol.startswith("SASL"):
        settings |= _sasl(config)
    return settings


def ssl_context(config: Mapping[str, Any]) -> ssl.SSLContext:
    """Raises: OSError, ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(config["ssl_check_hostname"])
    if config["ssl_cafile"]:
        context.load_verify_locations(config["ssl_cafile"])
    else:
        context.load_default_certs()
    if config["ssl_certfile"]:
        context.load_cert_chain(config["ssl_certfile"], config["ssl_keyfile"], config.get("ssl_password"))
    if config["ssl_crlfile"]:
        context.load_verify_locations(config["ssl_crlfile"])
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    if config.get("ssl_ciphers"):
        context.set_ciphers(config["ssl_ciphers"])
    return context


def _sasl(config: Mapping[str, Any]) -> dict[str, Any]:
    mechanism: Any = config.get("sasl_mechanism")
    if mechanism not in MECHANISMS:
        raise InvalidSettingError(f"sasl_mechanism must be in {', '.join(MECHANISMS)}, not {mechanism!r}")
    settings: dict[str, Any] = {"sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        provider = config.get("sasl_oauth_token_provider")
        return settings | {"sasl_oauthbearer_token_callback": _tokens_of(provider)}
    if mechanism == "GSSAPI":
        return settings | _kerberos(config)
    if mechanism == "AWS_MSK_IAM":
        if config["security_protocol"] != "SASL_SSL":
            raise InvalidSettingError("AWS_MSK_IAM requires SASL_SSL")
        return settings
    for name in ("sasl_plain_username", "sasl_plain_password"):
        if not config.get(name):
            raise InvalidSettingError(f"{name} required for {mechanism.partition('-')[0]} sasl")
    return settings | {
        "sasl_username": config["sasl_plain_username"],
        "sasl_password": config["sasl_plain_password"],
    }


def _tokens_of(provider: Any) -> TokenCallback:
    """A callback of the core's that asks an AbstractTokenProvider, or a function where that is given."""
    token: Any = provider if callable(provider) else getattr(provider, "token", None)
    if token is None:
        raise InvalidSettingError(
            "sasl_oauth_token_provider required for OAUTHBEARER sasl: an AbstractTokenProvider"
            if provider is None
            else "sasl_oauth_token_provider must implement AbstractTokenProvider"
        )

    def ask() -> OAuthBearerToken:
        try:
            text = token()
            extensions: Any = getattr(provider, "extensions", dict[str, str])()
        except Exception as error:
            raise CredentialsError(f"sasl_oauth_token_provider failed: {error!r}") from error
        return OAuthBearerToken(text, extensions=extensions or {})

    return ask


def _kerberos(config: Mapping[str, Any]) -> dict[str, Any]:
    """A name is service@host, or as gssapi writes it, service/host@REALM."""
    if config.get("sasl_kerberos_name") is None:
        host = config.get("sasl_kerberos_domain_name")
        settings = {"sasl_kerberos_service_name": config["sasl_kerberos_service_name"]}
        return settings | ({"sasl_kerberos_host": host} if host else {})
    service, separator, host = str(config["sasl_kerberos_name"]).partition("/")
    if separator:
        host = host.partition("@")[0]
    else:
        service, _, host = service.partition("@")
    return {"sasl_kerberos_service_name": service} | ({"sasl_kerberos_host": host} if host else {})
