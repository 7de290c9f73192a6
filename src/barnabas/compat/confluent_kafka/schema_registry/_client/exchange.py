# pyright: basic
"""From a call to a registry's answer, as the original goes about it: headers, retries, the next address,
tokens, errors.

Does no I/O: steps, as `barnabas.registry.exchange` has them. Owns the token.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from barnabas.compat.confluent_kafka.cimpl import version
from barnabas.compat.confluent_kafka.schema_registry._client.config import RestConfig
from barnabas.compat.confluent_kafka.schema_registry.common._oauthbearer import (
    AzureSource,
    CustomSource,
    OidcSource,
    StaticSource,
    bearer_fields,
)
from barnabas.compat.confluent_kafka.schema_registry.common.schema_registry_client import (
    full_jitter,
    is_retriable,
)
from barnabas.compat.confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError
from barnabas.http.messages import HttpAnswer, HttpRequest, NoAnswerError
from barnabas.http.token_requests import basic_authorization
from barnabas.registry.exchange import ACCEPTED, CONTENT_TYPE, Pause, Steps

NO_CONTENT = 204
# Of its life, after which a token is fetched anew.
TOKEN_SHARE = 0.8


class _NoTokenError(Exception):
    """In the original's words, but for those that it puts around them."""


class RestExchange:
    def __init__(self, config: RestConfig) -> None:
        self._config = config
        self._token: tuple[str, float, float] | None = None

    def ask(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Steps[Any]:
        """What a registry answered, read as JSON. Raises: SchemaRegistryError, OAuthTokenError, httpx's
        errors."""
        config = self._config
        client = {"Confluent-Client-Version": f"python/{version()}"}
        if body is None:
            content, headers = None, {"Accept": ACCEPTED, **client}
        else:
            content = json.dumps(body).encode()
            headers = {
                "Content-Length": str(len(content)),
                "Content-Type": CONTENT_TYPE,
                "Confluent-Accept-Unknown-Properties": "true",
                **client,
            }
        if config.bearer_source is not None:
            headers |= yield from self._bearer_headers()
        if config.auth is not None:
            headers |= basic_authorization(":".join(config.auth))
        target = path + _query(query)
        answer: HttpAnswer | None = None
        for number, url in enumerate(config.base_urls):
            is_last = number == len(config.base_urls) - 1
            if config.auth is not None:
                url = _without_user(url)
            try:
                answer = yield from self._retried(HttpRequest(f"{url}/{target}", headers, content, method))
                if answer.is_success:
                    is_empty = answer.status == NO_CONTENT or not answer.body
                    return None if is_empty else json.loads(answer.body)
            except NoAnswerError as error:
                if is_last:
                    _raise_cause(error)
                continue
            except ValueError:
                if is_last:
                    raise
                continue
            if not is_retriable(answer.status):
                break
        assert answer is not None
        raise _error_of(answer)

    def _retried(self, request: HttpRequest) -> Steps[HttpAnswer]:
        config = self._config
        retries = 0
        while True:
            try:
                answer: HttpAnswer = yield request
            except NoAnswerError:
                if retries >= config.max_retries:
                    raise
            else:
                if not is_retriable(answer.status) or retries >= config.max_retries:
                    return answer
            yield self._pause(retries)
            retries += 1

    def _pause(self, retries: int) -> Pause:
        config = self._config
        return Pause(full_jitter(config.retries_wait_ms, config.retries_max_wait_ms, retries) / 1000)

    # Tokens

    def _bearer_headers(self) -> Steps[dict[str, str]]:
        fields = yield from self._bearer_fields()
        required = ("bearer.auth.token", "bearer.auth.logical.cluster")
        missing = [name for name in required if name not in fields]
        if missing:
            raise ValueError(
                "Missing required bearer auth fields, needs to be set in config or custom function: "
                + ", ".join(missing)
            )
        headers = {
            "Authorization": f"Bearer {fields['bearer.auth.token']}",
            "target-sr-cluster": fields["bearer.auth.logical.cluster"],
        }
        if "bearer.auth.identity.pool.id" in fields:
            headers["Confluent-Identity-Pool-Id"] = fields["bearer.auth.identity.pool.id"]
        return headers

    def _bearer_fields(self) -> Steps[dict[str, str]]:
        source = self._config.bearer_source
        if isinstance(source, CustomSource):
            return (yield lambda: source.function(source.config))
        assert source is not None
        if isinstance(source, StaticSource):
            token = source.token
        else:
            token = yield from self._issued_token(source)
        return bearer_fields(token, source.logical_cluster, source.identity_pool)

    def _issued_token(self, source: OidcSource | AzureSource) -> Steps[str]:
        known = self._token
        if known is not None:
            token, seconds, until = known
            if until >= time.time() + seconds * (1 - TOKEN_SHARE):
                return token
        request = _oidc_request(source) if isinstance(source, OidcSource) else _azure_request(source)
        retries = 0
        while True:
            try:
                answer: HttpAnswer = yield request
                self._token = _token_of(source, answer)
                return self._token[0]
            except (NoAnswerError, _NoTokenError) as error:
                if retries >= self._config.max_retries:
                    cause = error.__cause__ if isinstance(error, NoAnswerError) else None
                    raise OAuthTokenError(
                        f"Failed to retrieve token after {self._config.max_retries} attempts due to error: "
                        f"{cause or error}"
                    ) from None
            yield self._pause(retries)
            retries += 1


def _oidc_request(source: OidcSource) -> HttpRequest:
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8",
        **basic_authorization(f"{source.client_id}:{source.client_secret}"),
    }
    form = {"grant_type": "client_credentials"}
    if source.scope:
        form["scope"] = source.scope
    return HttpRequest(source.token_endpoint, headers, urlencode(form).encode())


def _azure_request(source: AzureSource) -> HttpRequest:
    return HttpRequest(source.token_endpoint, {"Metadata": "true"})


def _token_of(source: OidcSource | AzureSource, answer: HttpAnswer) -> tuple[str, float, float]:
    """A token, for how many seconds it is good, and until when. Raises: _NoTokenError."""
    is_oidc = isinstance(source, OidcSource)
    if is_oidc and answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        phrase = HTTPStatus(answer.status).phrase if answer.status in list(HTTPStatus) else ""
        raise _NoTokenError(
            f"Server error '{answer.status} {phrase}' for url '{source.token_endpoint}'\nFor more "
            f"information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/{answer.status}"
        )
    try:
        found = json.loads(answer.body)
        if is_oidc and "error" in found:
            raise _NoTokenError(f"{found['error']}: {found.get('error_description', '')}")
        seconds = float(found["expires_in"]) if "expires_in" in found or not is_oidc else 0.0
        until = float(found["expires_on"]) if not is_oidc else time.time() + seconds
        return str(found["access_token"]), seconds, until
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise _NoTokenError(str(error)) from None


# What goes over the wire


def quoted(part: str) -> str:
    """A part of a path."""
    return quote(part, safe="")


def _query(values: Mapping[str, Any] | None) -> str:
    pairs = [
        (name, _in_query(each))
        for name, value in (values or {}).items()
        for each in (value if isinstance(value, list) else [value])
    ]
    return "?" + urlencode(pairs) if pairs else ""


def _in_query(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _raise_cause(error: NoAnswerError) -> NoReturn:
    """What httpx raised, which is what the original lets through."""
    raise error.__cause__ or error from None


def _error_of(answer: HttpAnswer) -> SchemaRegistryError:
    try:
        found = json.loads(answer.body)
        return SchemaRegistryError(answer.status, found.get("error_code"), found.get("message"))
    except (ValueError, RecursionError, AttributeError):
        return SchemaRegistryError(answer.status, -1, f"Unknown Schema Registry Error: {answer.body}")
