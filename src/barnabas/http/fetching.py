"""One request over HTTP, through the proxies of the environment (`https_proxy`, `no_proxy`, ...).

Owns the connection for as long as the request takes. Waits: an event loop has it done in a thread. Must not
know what is asked, nor what an answer means.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any

from barnabas.http.messages import FIRST_REDIRECT, HttpAnswer, HttpRequest, NoAnswerError, TlsFailedError

LONGEST_ANSWER_BYTES = 1 << 20
FIRST_ERROR = 400


def fetch(
    request: HttpRequest,
    *,
    timeout_seconds: float,
    tls: ssl.SSLContext | None = None,
    follows_redirects: bool = False,
    longest_answer_bytes: int = LONGEST_ANSWER_BYTES,
) -> HttpAnswer:
    """The answer to a request, cut off at `longest_answer_bytes`. `timeout_seconds` bounds each step of it;
    `tls`: None for Python's own trust in authorities. A redirect would carry the headers to another address,
    secrets among them: without `follows_redirects` it is an answer like any other.

    Raises: NoAnswerError, TlsFailedError.
    """
    handlers: list[urllib.request.BaseHandler] = [_EveryStatus(follows_redirects)]
    if tls is not None:
        handlers.append(urllib.request.HTTPSHandler(context=tls))
    opener = urllib.request.build_opener(*handlers)
    sent = urllib.request.Request(
        request.url, data=request.body, headers=dict(request.headers), method=request.method
    )
    try:
        with opener.open(sent, timeout=timeout_seconds) as answer:
            return HttpAnswer(answer.status, answer.read(longest_answer_bytes))
    except urllib.error.URLError as error:
        kind = TlsFailedError if isinstance(error.reason, ssl.SSLError) else NoAnswerError
        raise kind(str(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(str(error)) from None


class _EveryStatus(urllib.request.HTTPErrorProcessor):
    """Gives answers of every status, where urllib raises those that are no success."""

    def __init__(self, follows_redirects: bool) -> None:
        self._follows_redirects = follows_redirects

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        if self._follows_redirects and FIRST_REDIRECT <= response.status < FIRST_ERROR:
            return super().http_response(request, response)
        return response

    https_response = http_response
