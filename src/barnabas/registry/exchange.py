"""From a request to a registry's answer: which address is asked, with what credentials, how often, and what
an answer that is no success means.

Does no I/O: a generator yields what is to be done (an HTTP request, a pause, a question for a token) and is
sent what came of it. So it is the same for plain calls and for asyncio. Owns tokens and who answered last.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from barnabas._kernel import VERSION
from barnabas.backoff import Backoff
from barnabas.http.messages import HttpAnswer, HttpRequest, NoAnswerError, TlsFailedError
from barnabas.http.token_requests import basic_authorization, client_credentials_request
from barnabas.registry.config import BearerCallback, RegistryConfig
from barnabas.registry.errors import (
    BY_ERROR_CODE,
    BY_STATUS,
    BrokenRegistryError,
    RegistryAuthError,
    RegistryError,
    RegistryUnreachableError,
)
from barnabas.registry.requests import RegistryRequest
from barnabas.registry.schemas import BadAnswerError
from barnabas.values import frozen

T = TypeVar("T")

ACCEPTED = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
NOT_AT_PRESENT = (408, 429, 500, 502, 503, 504)
UNAUTHORIZED, FORBIDDEN = 401, 403
SHOWN_CHARACTERS = 300
# Of its life, after which a token is fetched anew; and seconds that one is taken to last which does not say.
TOKEN_SHARE = 0.8
TOKEN_SECONDS = 60.0


@frozen
class Pause:
    seconds: float


Step = HttpRequest | Pause | BearerCallback
Steps = Generator[Step, Any, T]
"""What is to be done until a `T` is there. A request is sent its HttpAnswer, or thrown a NoAnswerError; a
callback is sent its token."""


class Exchange:
    """With one registry. Threads may share it: what it knows is replaced whole."""

    def __init__(self, config: RegistryConfig, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._answered_last = 0
        self._token: tuple[str, float] | None = None

    def ask(self, request: RegistryRequest[T]) -> Steps[T]:
        """Raises: RegistryError."""
        query = "?" + urlencode(request.query, quote_via=quote) if request.query else ""
        body = None if request.body is None else json.dumps(request.body).encode()
        headers = {
            "Accept": ACCEPTED,
            "Confluent-Client-Version": f"barnabas/{VERSION}",
            **(
                {}
                if body is None
                else {"Content-Type": CONTENT_TYPE, "Confluent-Accept-Unknown-Properties": "true"}
            ),
        }
        what = f"{request.method} {request.path}"
        answer = yield from self._first_answer(what, request.method, request.path + query, headers, body)
        if not answer.is_success:
            raise _error_of(what, answer)
        try:
            return request.read(json.loads(answer.body) if answer.body else None)
        except (ValueError, RecursionError, BadAnswerError) as error:
            raise BrokenRegistryError(
                f"{what}: the answer is not that of a schema registry ({error}): {_shown(answer.body)}; "
                "is the URL right?",
                status=answer.status,
            ) from None

    def _first_answer(
        self, what: str, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Steps[HttpAnswer]:
        """Of the first address that is able to give one."""
        reasons: dict[str, str] = {}
        for failures in range(self._config.retries + 1):
            if failures:
                yield Pause(self._backoff.delay_ms(failures) / 1000)
            for number in range(len(self._config.url)):
                place = (self._answered_last + number) % len(self._config.url)
                url = self._config.url[place]
                authorization = yield from self._authorization()
                try:
                    answer: HttpAnswer = yield HttpRequest(
                        url + target, {**headers, **authorization}, body, method
                    )
                except NoAnswerError as error:
                    reasons[url] = str(error)
                    if isinstance(error, TlsFailedError) and len(self._config.url) == 1:
                        raise RegistryUnreachableError(f"{what}: {url}: {error}") from None
                    continue
                if answer.status not in NOT_AT_PRESENT:
                    self._answered_last = place
                    if answer.status == UNAUTHORIZED:
                        # It may have been revoked: the next call asks for another one.
                        self._token = None
                    return answer
                reasons[url] = f"HTTP {answer.status}{_words(answer)}"
        listed = "; ".join(f"{url}: {reason}" for url, reason in reasons.items())
        raise RegistryUnreachableError(
            f"{what}: no registry answered within {self._config.retries + 1} tries: {listed}"
        )

    # Who asks

    def _authorization(self) -> Steps[dict[str, str]]:
        config = self._config
        if config.basic_auth_user_info is not None:
            return basic_authorization(config.basic_auth_user_info.reveal())
        if config.bearer_auth_token is not None:
            token = config.bearer_auth_token.reveal()
        elif config.bearer_auth_callback is not None:
            token = yield config.bearer_auth_callback
        elif config.bearer_auth_issuer_endpoint_url is not None:
            token = yield from self._issued_token(config.bearer_auth_issuer_endpoint_url)
        else:
            return {}
        found = {"Authorization": f"Bearer {token}"}
        if config.bearer_auth_logical_cluster is not None:
            found["target-sr-cluster"] = config.bearer_auth_logical_cluster
        if config.bearer_auth_identity_pool_id is not None:
            found["Confluent-Identity-Pool-Id"] = config.bearer_auth_identity_pool_id
        return found

    def _issued_token(self, endpoint: str) -> Steps[str]:
        known = self._token
        if known is not None and self._clock() < known[1]:
            return known[0]
        request = self._token_request(endpoint)
        reason = ""
        for failures in range(self._config.retries + 1):
            if failures:
                yield Pause(self._backoff.delay_ms(failures) / 1000)
            try:
                answer: HttpAnswer = yield request
            except NoAnswerError as error:
                reason = str(error)
                if isinstance(error, TlsFailedError):
                    break
                continue
            if answer.is_success:
                token, seconds = _token_of(endpoint, answer)
                self._token = token, self._clock() + seconds * TOKEN_SHARE
                return token
            reason = f"HTTP {answer.status}{_words(answer)}"
            if answer.status not in NOT_AT_PRESENT:
                raise RegistryAuthError(
                    f"{endpoint} gave no token to client {self._config.bearer_auth_client_id!r}: {reason}; "
                    "check bearer_auth_client_id, its secret and bearer_auth_scope",
                    status=answer.status,
                )
        raise RegistryUnreachableError(f"{endpoint} gave no token: {reason}")

    def _token_request(self, endpoint: str) -> HttpRequest:
        client_id, secret = self._config.bearer_auth_client_id, self._config.bearer_auth_client_secret
        assert client_id is not None
        assert secret is not None
        scope = self._config.bearer_auth_scope
        return client_credentials_request(endpoint, client_id, secret.reveal(), scope)


def _token_of(endpoint: str, answer: HttpAnswer) -> tuple[str, float]:
    """A token, and for how many seconds it is good."""
    try:
        found = cast(dict[str, Any], json.loads(answer.body))
        token, seconds = found["access_token"], float(found.get("expires_in") or TOKEN_SECONDS)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        token, seconds = None, 0.0
    if not isinstance(token, str):
        raise RegistryAuthError(f"{endpoint} answered without an access_token: is it the token endpoint?")
    return token, seconds


def _told(answer: HttpAnswer) -> tuple[int | None, str | None]:
    """The error code and the message of an answer, as far as it has them."""
    try:
        found = json.loads(answer.body)
        code, message = found.get("error_code"), found.get("message") or found.get("error_description")
    except (ValueError, RecursionError, AttributeError):
        return None, None
    return (code if isinstance(code, int) else None), (None if message is None else str(message))


def _words(answer: HttpAnswer) -> str:
    message = _told(answer)[1]
    return f" ({message})" if message else ""


def _shown(body: bytes) -> str:
    text = body.decode(errors="replace")
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."


def _error_of(what: str, answer: HttpAnswer) -> RegistryError:
    code, message = _told(answer)
    kind = BY_ERROR_CODE.get(code or 0) or BY_STATUS.get(answer.status) or RegistryError
    numbers = f"error {code}" if code is not None else f"HTTP {answer.status}"
    text = message if message is not None else _shown(answer.body) or "without a word"
    advice = ""
    if answer.status == UNAUTHORIZED:
        advice = "; check basic_auth_user_info or the bearer_auth_ settings"
    elif answer.status == FORBIDDEN:
        advice = "; whoever asks may not do this"
    return kind(f"{what}: {text} ({numbers}){advice}", status=answer.status, error_code=code)
