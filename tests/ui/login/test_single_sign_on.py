"""A login by OpenID Connect: an issuer on a port of its own, and a browser that is sent to it and back."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from barnabas.credentials import Secret
from barnabas.errors import InvalidSettingError
from barnabas.testing import free_ports
from barnabas.ui.settings import OidcSettings

OpenPage = Callable[..., TestClient]
CLIENT, SECRET = "the-page", "s&cret"
AS_BROWSER = {"Accept": "text/html"}


class Issuer:
    """Lets in whoever `claims` is of. `clients`: what each asked for a token with."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_ports(1)[0]}"
        self.claims: dict[str, Any] = {}
        self.refuses = False
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._given: dict[str, dict[str, list[str]]] = {}
        routes = [
            Route("/.well-known/openid-configuration", self._configuration),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/keys", self._keys),
        ]
        port = urlsplit(self.url).port or 0
        config = uvicorn.Config(Starlette(routes=routes), port=port, log_config=None, ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve()))

    async def _configuration(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def _authorize(self, request: Request) -> Response:
        asked = parse_qs(request.url.query)
        back, state = asked["redirect_uri"][0], asked["state"][0]
        if self.refuses:
            return RedirectResponse(f"{back}?error=access_denied&state={state}")
        code = secrets.token_urlsafe(8)
        self._given[code] = asked
        return RedirectResponse(f"{back}?code={code}&state={state}")

    async def _token(self, request: Request) -> Response:
        form = await request.form()
        asked = self._given.pop(str(form["code"]), None)
        if asked is None or "code_verifier" not in form:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "1",
            "iat": now,
            "exp": now + 600,
            "nonce": asked["nonce"][0],
            **self.claims,
        }
        token = jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": "1"})
        return JSONResponse({"access_token": "a", "token_type": "Bearer", "id_token": token})

    async def _keys(self, request: Request) -> Response:
        return JSONResponse(
            {"keys": [{**RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True), "kid": "1"}]}
        )


@pytest.fixture(scope="module")
def running_issuer(eventually: Callable[..., Any]) -> Iterator[Issuer]:
    issuer = Issuer()
    issuer.thread.start()
    eventually(lambda: issuer.server.started)
    yield issuer
    issuer.server.should_exit = True
    issuer.thread.join()


@pytest.fixture
def issuer(running_issuer: Issuer) -> Issuer:
    running_issuer.claims = {"preferred_username": "ann", "groups": ["readers"]}
    running_issuer.refuses = False
    return running_issuer


@pytest.fixture
def page(open_page: OpenPage, issuer: Issuer) -> TestClient:
    settings = OidcSettings(
        issuer.url, CLIENT, Secret(SECRET), operator_groups=("operators",), admin_groups=("admins",)
    )
    return open_page(oidc=settings, allows_writes=True)


def log_in(page: TestClient, path: str = "/topics") -> httpx.Response:
    """What the browser has in the end."""
    sent = page.get(path, headers=AS_BROWSER, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    to_issuer = page.get("/login", follow_redirects=False).headers["location"]
    back = httpx.get(to_issuer).headers["location"]
    assert back.startswith("http://127.0.0.1/login/callback?")
    return page.get(back, headers=AS_BROWSER)


def test_nothing_is_shown_to_whoever_has_not_logged_in(page: TestClient) -> None:
    assert page.get("/static/style.css").status_code == 200
    assert page.get("/topics", follow_redirects=False).status_code == 401
    assert page.get("/topics", headers={**AS_BROWSER, "HX-Request": "true"}).status_code == 401
    assert page.post("/topics", data={"name": "flights"}).status_code == 401


def test_a_user_comes_back_to_the_page_that_was_asked_for_and_reads(page: TestClient) -> None:
    answer = log_in(page, "/topics?q=flights")
    assert answer.status_code == 200
    assert str(answer.url).endswith("/topics?q=flights")
    assert "ann" in answer.text
    assert "read only" in answer.text
    refused = page.post("/topics", data={"name": "flights"})
    assert refused.status_code == 403
    assert "ann has the role viewer" in refused.text


@pytest.mark.parametrize("groups", [["readers", "admins"], ["operators", "admins"], "readers admins"])
def test_who_is_in_a_group_of_admins_has_the_forms(page: TestClient, issuer: Issuer, groups: Any) -> None:
    issuer.claims["groups"] = groups
    assert 'action="/topics"' in log_in(page).text


def test_who_is_in_a_group_of_operators_changes_records_and_no_topics(
    page: TestClient, issuer: Issuer, written: Callable[..., str]
) -> None:
    issuer.claims["groups"] = ["readers", "operators"]
    topic = written()
    answer = log_in(page, f"/topics/{topic}/records")
    token = answer.text.partition('name="csrf" value="')[2].partition('"')[0]
    assert "read only" not in answer.text
    sent = page.post(f"/topics/{topic}/records", data={"csrf": token, "value": "a"})
    assert "1 record was written" in sent.text
    refused = page.post("/topics", data={"csrf": token, "name": "flights"})
    assert refused.status_code == 403
    assert "ann has the role operator" in refused.text


@pytest.mark.parametrize("groups", [{"admins": True}, 7, None, [["admins"]]])
def test_a_claim_that_is_no_list_of_groups_makes_a_viewer(
    page: TestClient, issuer: Issuer, groups: Any
) -> None:
    issuer.claims["groups"] = groups
    assert "read only" in log_in(page).text


def test_logging_out_ends_the_session(page: TestClient) -> None:
    token = log_in(page).text.partition('name="csrf" value="')[2].partition('"')[0]
    assert page.post("/logout", data={"csrf": "another's"}).status_code == 403
    assert page.post("/logout", data={"csrf": token}).status_code == 200
    assert page.get("/topics").status_code == 401


def test_an_issuer_that_refuses_is_told(page: TestClient, issuer: Issuer) -> None:
    issuer.refuses = True
    answer = log_in(page)
    assert answer.status_code == 403
    assert "access_denied" in answer.text


@pytest.mark.parametrize("claims", [{"aud": "another"}, {"nonce": "another"}, {"exp": 1_700_000_000}])
def test_a_token_that_is_not_for_this_login_lets_nobody_in(
    page: TestClient, issuer: Issuer, claims: dict[str, Any]
) -> None:
    issuer.claims |= claims
    assert log_in(page).status_code == 403
    assert page.get("/topics").status_code == 401


def test_an_answer_that_nobody_waits_for_is_refused(page: TestClient) -> None:
    assert page.get("/login/callback?code=stolen&state=guessed").status_code == 403


def test_an_issuer_that_is_not_there_is_told(open_page: OpenPage) -> None:
    nowhere = f"http://127.0.0.1:{free_ports(1)[0]}"
    page = open_page(oidc=OidcSettings(nowhere, CLIENT, Secret(SECRET)))
    answer = page.get("/login")
    assert answer.status_code == 502
    assert nowhere in answer.text


def test_one_way_to_log_in_is_enough(open_page: OpenPage, tmp_path: Any) -> None:
    users = tmp_path / "users"
    users.write_text("")
    with pytest.raises(InvalidSettingError, match="take one"):
        open_page(users=users, oidc=OidcSettings("http://127.0.0.1", CLIENT, Secret(SECRET)))


def test_below_a_path_the_way_to_the_issuer_and_back_is_below_it_too(
    open_page: OpenPage, issuer: Issuer
) -> None:
    url = "http://tools.example/kafka"
    page = open_page(oidc=OidcSettings(issuer.url, CLIENT, Secret(SECRET)), public_url=url)
    named = {**AS_BROWSER, "Host": "tools.example"}
    sent = page.get("/kafka/topics?q=flights", headers=named, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/kafka/login")
    to_issuer = page.get("/kafka/login", headers=named, follow_redirects=False).headers["location"]
    back = httpx.get(to_issuer).headers["location"]
    assert back.startswith(f"{url}/login/callback?")
    callback = back.removeprefix("http://tools.example")
    there = page.get(callback, headers=named, follow_redirects=False)
    assert (there.status_code, there.headers["location"]) == (303, "/kafka/topics?q=flights")
    assert page.get("/kafka/topics", headers=named).status_code == 200


def test_what_only_begins_as_the_way_in_is_not_open(page: TestClient) -> None:
    for path in ("/loginx", "/login/x", "/staticx", "/topics/static/"):
        assert page.get(path).status_code == 401
