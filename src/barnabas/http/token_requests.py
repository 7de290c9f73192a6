"""What an endpoint is asked for a token (RFC 6749), and how a request says who asks. Knows neither where the
endpoint is configured, nor what it answers.
"""

from __future__ import annotations

import base64
from urllib.parse import quote, urlencode

from barnabas.http.messages import HttpRequest


def basic_authorization(user: str) -> dict[str, str]:
    """`user`: name and password with a colon between them."""
    return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}


def client_credentials_request(
    url: str, client_id: str, client_secret: str, scope: str | None, *, encodes: bool = True
) -> HttpRequest:
    """A client that has a secret asks. `encodes`: whether id and secret are encoded before they are joined,
    as RFC 6749 wants (2.3.1)."""
    parts = [client_id, client_secret]
    pair = ":".join([quote(part, safe="") for part in parts] if encodes else parts)
    return form_request(url, {"grant_type": "client_credentials"}, scope, **basic_authorization(pair))


def form_request(url: str, form: dict[str, str], scope: str | None, **headers: str) -> HttpRequest:
    if scope is not None:
        form = {**form, "scope": scope}
    return HttpRequest(
        url,
        {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
            **headers,
        },
        urlencode(form).encode(),
    )
