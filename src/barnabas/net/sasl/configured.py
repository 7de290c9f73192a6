"""The SASL mechanism that a client's settings ask for, with its credentials.

Owns which settings belong to which mechanism, and what is missing. Imports all mechanisms: only a client that
uses SASL imports this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never
from urllib.parse import urlsplit

from barnabas.credentials import shown_url
from barnabas.errors import InvalidSettingError
from barnabas.net.sasl import jaas
from barnabas.net.sasl.assertion import (
    Assertion,
    AssertionFile,
    Claims,
    SignedAssertion,
    check_exclusive,
)
from barnabas.net.sasl.aws_msk_iam import AwsMskIam
from barnabas.net.sasl.grants import (
    AZURE_METADATA_URL,
    JWT_BEARER,
    AzureMetadata,
    ClientCredentials,
    Grant,
    JwtBearer,
)
from barnabas.net.sasl.gssapi import Gssapi
from barnabas.net.sasl.mechanism import Mechanism
from barnabas.net.sasl.oauthbearer import OAuthBearer
from barnabas.net.sasl.oidc import OidcClient
from barnabas.net.sasl.plain import Plain
from barnabas.net.sasl.scram import Scram
from barnabas.net.sasl.user_password import CredentialsHolder, UserPassword
from barnabas.net.tls import endpoint_context
from barnabas.settings.table import CommonConfig


def configured_mechanism(config: CommonConfig) -> tuple[Mechanism, CredentialsHolder | None]:
    """The mechanism, and where it takes user and password from, if it does.

    Raises: InvalidSettingError, which names the setting; MissingExtraError.
    """
    config = with_login_module(config)
    name = config.sasl_mechanism
    match name:
        case "PLAIN":
            credentials = _credentials(config)
            return Plain(credentials), credentials
        case "SCRAM-SHA-256" | "SCRAM-SHA-512":
            credentials = _credentials(config)
            return Scram(name, credentials), credentials
        case "OAUTHBEARER":
            source = config.sasl_oauthbearer_token_callback or _oidc_client(config).token
            window_factor = config.sasl_login_refresh_window_factor
            return OAuthBearer(source, config.sasl_oauthbearer_extensions, window_factor), None
        case "AWS_MSK_IAM":
            return AwsMskIam(config), None
        case "GSSAPI":
            return Gssapi(config), None
        case _:
            assert_never(name)


def _credentials(config: CommonConfig) -> CredentialsHolder:
    """Raises: InvalidSettingError."""
    if config.sasl_username is None or config.sasl_password is None:
        raise InvalidSettingError(
            f"sasl_mechanism {config.sasl_mechanism} needs sasl_username and sasl_password, or "
            "sasl_jaas_config"
        )
    return CredentialsHolder(UserPassword(config.sasl_username, config.sasl_password, config.sasl_tokenauth))


def with_login_module(config: CommonConfig) -> CommonConfig:
    """The settings with what sasl_jaas_config says. Raises: InvalidSettingError."""
    if config.sasl_jaas_config is None:
        return config
    found = jaas.settings(config.sasl_jaas_config, config.sasl_mechanism)
    for name in found:
        if getattr(config, name):
            raise InvalidSettingError(f"{name} is given twice, once in sasl_jaas_config")
    return replace(config, **found)


def _oidc_client(config: CommonConfig) -> OidcClient:
    url, grant = _endpoint_and_grant(config)
    scheme = urlsplit(url).scheme
    if scheme not in ("http", "https"):
        raise InvalidSettingError(
            f"sasl_oauthbearer_token_endpoint_url: {shown_url(url)!r} is not an http(s) URL"
        )
    return OidcClient(
        url,
        grant,
        config.sasl_login_connect_timeout_ms,
        endpoint_context(config) if scheme == "https" else None,
    )


def _endpoint_and_grant(config: CommonConfig) -> tuple[str, Grant]:
    url, scope = config.sasl_oauthbearer_token_endpoint_url, config.sasl_oauthbearer_scope
    if config.sasl_oauthbearer_metadata_authentication_type == "azure_imds":
        return AZURE_METADATA_URL if url is None else url, AzureMetadata()
    if config.sasl_oauthbearer_grant_type == JWT_BEARER:
        if url is None:
            raise InvalidSettingError(
                "sasl_oauthbearer_grant_type jwt-bearer needs sasl_oauthbearer_token_endpoint_url"
            )
        return url, JwtBearer(_assertion(config), scope)
    client_id = config.sasl_oauthbearer_client_credentials_client_id
    secret = config.sasl_oauthbearer_client_credentials_client_secret
    if url is None or client_id is None or secret is None:
        raise InvalidSettingError(
            "sasl_mechanism OAUTHBEARER needs sasl_oauthbearer_token_callback, or all of "
            "sasl_oauthbearer_token_endpoint_url, sasl_oauthbearer_client_credentials_client_id and "
            "sasl_oauthbearer_client_credentials_client_secret"
        )
    return url, ClientCredentials(client_id, secret, scope, config.sasl_oauthbearer_header_urlencode)


def _assertion(config: CommonConfig) -> Assertion:
    prefix = "sasl_oauthbearer_assertion"
    file = config.sasl_oauthbearer_assertion_file
    key_file = config.sasl_oauthbearer_assertion_private_key_file
    key_text = config.sasl_oauthbearer_assertion_private_key_pem
    check_exclusive(file, {f"{prefix}_private_key_file": key_file, f"{prefix}_private_key_pem": key_text})
    if file is not None:
        return AssertionFile(file)
    if key_file is not None and key_text is not None:
        raise InvalidSettingError(
            f"{prefix}_private_key_file and {prefix}_private_key_pem exclude each other"
        )
    key = key_text if key_file is None else key_file
    if key is None:
        raise InvalidSettingError(
            f"sasl_oauthbearer_grant_type jwt-bearer needs {prefix}_file, {prefix}_private_key_file or "
            f"{prefix}_private_key_pem"
        )
    claims = Claims(
        subject=config.sasl_oauthbearer_assertion_claim_sub,
        issuer=config.sasl_oauthbearer_assertion_claim_iss,
        audience=config.sasl_oauthbearer_assertion_claim_aud,
        seconds_valid=config.sasl_oauthbearer_assertion_claim_exp_seconds,
        seconds_before=config.sasl_oauthbearer_assertion_claim_nbf_seconds,
        has_id=config.sasl_oauthbearer_assertion_claim_jti_include,
        template=config.sasl_oauthbearer_assertion_template_file,
    )
    passphrase = config.sasl_oauthbearer_assertion_private_key_passphrase
    return SignedAssertion(key, passphrase, config.sasl_oauthbearer_assertion_algorithm, claims)
