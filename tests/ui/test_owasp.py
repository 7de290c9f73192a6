"""OWASP's lists (Top 10, ASVS), as far as they are about a page such as this one: what a hostile user of the
cluster, a hostile page elsewhere and a hostile visitor can try. Roles are in test_roles.py, the browser in
test_hostile_in_browser.py."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient
from tests.ui.hostile import MARK, NAMES, TOPIC, SeenPage, crawled, harmful, hostile_cluster

import barnabas.ui
from barnabas.registry_server.access import user_line
from barnabas.ui.app import make_app
from barnabas.ui.limits import (
    ATTEMPT_SECONDS,
    LONGEST_BODY_BYTES,
    MOST_ADDRESSES,
    MOST_ATTEMPTS,
    LoginAttempts,
)
from barnabas.ui.settings import UiSettings

OpenPage = Callable[..., TestClient]
TEMPLATES = Path(barnabas.ui.__file__).parent / "templates"
STATIC = Path(barnabas.ui.__file__).parent / "static"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with (
        hostile_cluster(tmp_path_factory.mktemp("hostile")) as settings,
        TestClient(make_app(settings), base_url="http://127.0.0.1") as page,
    ):
        yield page


# Injection: what is in the cluster


@pytest.fixture(scope="module")
def pages(hostile: TestClient) -> dict[str, SeenPage]:
    return dict(crawled(hostile))


def test_nothing_of_a_cluster_becomes_a_part_of_a_page(pages: dict[str, SeenPage]) -> None:
    assert len(pages) > 20
    for path, shown in pages.items():
        assert shown.harm == [], path


@pytest.mark.parametrize("name", sorted(NAMES.keys() - {"commit-metadata"}))
def test_it_is_shown_as_the_text_that_it_is(pages: dict[str, SeenPage], name: str) -> None:
    texts = [text for shown in pages.values() for text in shown.texts]
    begin = NAMES[name][: len(name) + 20]
    assert any(begin in text or json.dumps(begin)[1:-1] in text for text in texts)


def test_every_address_of_a_page_is_one_of_its_own(pages: dict[str, SeenPage]) -> None:
    for path, shown in pages.items():
        for address in shown.addresses:
            is_own = address.startswith(("/", "#", "?")) and not address.startswith(("//", "/\\"))
            assert is_own, (path, address)


def test_a_live_tail_sends_records_as_text(hostile: TestClient) -> None:
    # The rows of a search and of the tail are of the same template.
    text = hostile.get(f"/topics/{TOPIC}/records").text
    assert any(NAMES["value"][:40] in each for each in SeenPage(text).texts)
    assert f"<img {MARK}" not in text


# Injection: what is in a request


def routes_of(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, Route]]:
    for route in routes:
        if isinstance(route, Mount):
            yield from routes_of(list(route.routes or []), prefix + route.path)
        elif isinstance(route, Route):
            yield prefix + route.path, route


def plain_app() -> Starlette:
    return make_app(UiSettings(client={"bootstrap_servers": "127.0.0.1:1"}))


READ = [
    path for path, route in routes_of(plain_app().routes) if "GET" in (route.methods or ()) and path != "/"
]
PARAMETERS = (
    "q",
    "id",
    "at",
    "name",
    "topic",
    "version",
    "against",
    "place",
    "partition",
    "limit",
    "where",
    "sort",
    "page",
    "way",
    "user",
    "condition",
    "format",
    "to",
    "from",
)


@pytest.mark.parametrize("path", [path for path in READ if not path.endswith("/tail")])
def test_nothing_of_a_request_becomes_a_part_of_a_page(hostile: TestClient, path: str) -> None:
    harm = harmful("x")
    filled = re.sub(r"\{\w+:int\}", "0", path)
    asked = [(TOPIC, {name: harm}) for name in PARAMETERS]
    asked.append((quote(harm.replace("/", "|"), safe=""), dict.fromkeys(PARAMETERS, harm)))
    for in_path, params in asked:
        there = re.sub(r"\{\w+\}", in_path, filled)
        answer = hostile.get(there, params=params)
        assert answer.status_code != 500
        if answer.headers["content-type"].startswith("text/html"):
            assert SeenPage(answer.text).harm == [], params
        else:
            # What a record has is not shown as what it may say that it is.
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-disposition"].startswith("attachment;")


def test_every_message_of_an_error_is_text(hostile: TestClient) -> None:
    harm = harmful("x")
    for path in (f"/topics/{quote(harm, safe='')}", f"/group?id={quote(harm)}", f"/{quote(harm)}"):
        answer = hostile.get(path)
        assert answer.status_code in (400, 404)
        assert SeenPage(answer.text).harm == []


def test_templates_and_scripts_have_no_way_around_the_escapes() -> None:
    for file in TEMPLATES.rglob("*.html"):
        text = file.read_text()
        for way in (
            r"\|\s*safe\b",
            r"autoescape",
            r"Markup",
            r"\bstyle=",
            r"\son\w+=",
            r"<script>",
            r"<[^>]*\s[\w-]+=\{\{",
        ):
            # In Jinja's own tags an argument may begin so.
            assert not re.search(way, re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL)), (file, way)
        for address in re.findall(r"""(?:href|src|action|hx-get|hx-post)="([^"]*)""", text):
            assert re.match(
                r"\{\{ (root|base) \}\}(/|\{\{)|\{\{ (with_query\(|here|there|base )|#|\{% ", address
            ), (
                file,
                address,
            )
    for file in STATIC.glob("*.js"):
        if file.name != "htmx.min.js":
            text = file.read_text()
            for way in ("innerHTML", "outerHTML", "document.write", "eval(", "new Function", "javascript:"):
                assert way not in text, (file, way)


# Forms of other sites, other names, other frames


def test_what_is_answered_says_how_a_browser_has_to_treat_it(open_page: OpenPage) -> None:
    page = open_page()
    for path in ("/topics", "/no-such-page", "/topics/no-such-topic", "/static/page.js"):
        headers = page.get(path).headers
        policy = dict(
            part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";") if part
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "127.0.0.1@evil.example"]
)
def test_a_request_by_another_name_is_refused(hostile: TestClient, host: str) -> None:
    assert hostile.get("/topics", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "X-Original-URL", "X-Rewrite-URL", "Forwarded"])
def test_headers_of_proxies_lead_nowhere(hostile: TestClient, header: str) -> None:
    answer = hostile.get("/", headers={header: "evil.example"}, follow_redirects=False)
    assert answer.headers["location"] == "/topics"
    assert "evil.example" not in hostile.get("/topics", headers={header: "evil.example"}).text


def session_token(page: TestClient) -> str:
    return page.get("/topics").text.split('name="csrf" value="')[1].split('"')[0]


@pytest.mark.parametrize(
    "referer",
    [
        "http://evil.example//evil.example/",
        "http://evil.example/\\evil.example/",
        "http://evil.example/\t/evil.example/",
        "javascript:alert(1)",
        "//evil.example",
    ],
)
def test_a_failed_form_leads_back_to_the_page_itself(hostile: TestClient, referer: str) -> None:
    form = {"csrf": session_token(hostile), "do": "remove", "id": "no-such-fault"}
    answer = hostile.post("/faults/switch", data=form, headers={"Referer": referer}, follow_redirects=False)
    assert answer.status_code == 303
    there = urljoin("http://127.0.0.1/", answer.headers["location"])
    assert urlsplit(there).netloc == "127.0.0.1"
    assert re.match(r"/[^/\\]", answer.headers["location"])


def test_a_form_in_the_address_is_no_form(hostile: TestClient) -> None:
    csrf = session_token(hostile)
    answer = hostile.post(f"/topics?csrf={csrf}&name=by-address&partitions=1")
    assert answer.status_code == 403
    assert hostile.get(f"/faults/switch?csrf={csrf}&do=clear").status_code in (404, 405)
    assert hostile.request("PUT", "/topics", data={"csrf": csrf}).status_code == 405
    assert "by-address" not in hostile.get("/topics").text


def test_a_session_that_somebody_made_up_is_none(hostile: TestClient) -> None:
    import base64

    made = base64.b64encode(json.dumps({"csrf": "known"}).encode()).decode()
    for cookie in (f"{made}.abc.def", made, "null", "a" * 5_000):
        answer = hostile.post(
            "/faults/switch", data={"csrf": "known", "do": "clear"}, headers={"Cookie": f"session={cookie}"}
        )
        assert answer.status_code == 403


def test_scripts_cannot_read_the_session(open_page: OpenPage) -> None:
    cookie = open_page(allows_writes=True).get("/topics").headers["set-cookie"]
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "domain=" not in cookie


# Too much


def test_a_body_that_is_too_long_is_refused_before_it_is_read(hostile: TestClient) -> None:
    headers = {"Content-Length": str(LONGEST_BODY_BYTES + 1)}
    assert hostile.post("/topics", content=b"", headers=headers).status_code == 413
    assert hostile.post("/topics", headers={"Content-Length": "-1"}, content=b"").status_code in (400, 413)


def test_a_body_that_does_not_say_how_long_it_is_is_cut(hostile: TestClient) -> None:
    def without_end() -> Iterator[bytes]:
        yield b"name="
        for _ in range(LONGEST_BODY_BYTES // (1 << 20) + 1):
            yield b"x" * (1 << 20)

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert hostile.post("/topics", content=without_end(), headers=headers).status_code == 413


def test_a_form_of_too_many_fields_is_refused(hostile: TestClient) -> None:
    body = "&".join(f"f{number}=" for number in range(60_000))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert hostile.post("/topics", content=body, headers=headers).status_code == 400


def test_a_form_with_a_file_is_refused(hostile: TestClient) -> None:
    files = {"name": ("name", b"x" * 1_000)}
    assert hostile.post("/topics", files=files).status_code == 400


def test_a_group_of_thousands_of_partitions_can_be_moved(hostile: TestClient) -> None:
    form = {f"to:{TOPIC}:{number}": "0" for number in range(5_000)}
    answer = hostile.post(
        f"/group/reset?id={quote(harmful('x'))}", data={"csrf": session_token(hostile), **form}
    )
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..\\app.py",
        "/static/.%00./app.py",
        "/static/",
        "/static",
    ],
)
def test_no_file_is_read_but_the_page_s_own(open_page: OpenPage, path: str) -> None:
    answer = open_page().get(path)
    assert answer.status_code in (400, 404)
    assert "import" not in answer.text


# Passwords


@pytest.fixture
def users(tmp_path: Path) -> Path:
    file = tmp_path / "users"
    file.write_text(f"{user_line('ann', 'read', 'right-one')}\n{user_line('bob', 'write', 'b')}\n")
    return file


def test_passwords_cannot_be_tried_without_end(open_page: OpenPage, users: Path) -> None:
    page = open_page(users=users)
    assert page.get("/topics", auth=("bob", "b")).status_code == 200
    for number in range(MOST_ATTEMPTS):
        assert page.get("/topics", auth=("ann", f"wrong-{number}")).status_code == 401
    answer = page.get("/topics", auth=("ann", "right-one"))
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= ATTEMPT_SECONDS
    # Whoever is in stays in, and whoever says nothing is only asked.
    assert page.get("/topics", auth=("bob", "b")).status_code == 200
    assert page.get("/topics").status_code == 401


def test_attempts_are_counted_by_address_for_a_while_and_not_kept_without_end() -> None:
    now = 0.0
    attempts = LoginAttempts(lambda: now)
    for _ in range(MOST_ATTEMPTS):
        attempts.failed("a")
    assert attempts.seconds_left("a") == ATTEMPT_SECONDS
    assert attempts.seconds_left("b") == 0
    now = ATTEMPT_SECONDS
    assert attempts.seconds_left("a") == 0
    attempts.failed("a")
    assert attempts.seconds_left("a") == 0
    for number in range(MOST_ADDRESSES * 2):
        attempts.failed(str(number))
    assert len(attempts._failures) == MOST_ADDRESSES


def test_no_password_is_in_a_log_or_a_page(
    open_page: OpenPage, users: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = tmp_path / "audit"
    page = open_page(users=users, allows_writes=True, audit_log=audit)
    with caplog.at_level(logging.DEBUG):
        page.get("/topics", auth=("ann", "wrong-one"))
        answer = page.get("/topics", auth=("ann", "right-one"))
        page.post("/cluster/users", data={"user": "x", "password": "sent-one"}, auth=("bob", "b"))
        form = {"csrf": "", "user": "x", "password": "sent-one"}
        page.post("/cluster/users", data=form, auth=("ann", "right-one"))
    said = caplog.text + audit.read_text() + answer.text
    for secret in ("wrong-one", "right-one", "sent-one"):
        assert secret not in said
    assert "a login from testclient was refused" in caplog.text


def test_passwords_of_the_cluster_are_on_no_page() -> None:
    secret = "cluster-password"
    client = {
        "bootstrap_servers": "127.0.0.1:1",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "u",
        "sasl_password": secret,
        "default_api_timeout_ms": 100,
    }
    with TestClient(make_app(UiSettings(client=client)), base_url="http://127.0.0.1") as page:
        for path in ("/", "/no-such-page", "/groups"):
            assert secret not in page.get(path).text


# What the page asks for others


def test_no_form_takes_an_address_that_the_page_would_ask() -> None:
    # Registry, listener, faults and issuer are named where the page is started, and nowhere else.
    for file in TEMPLATES.rglob("*.html"):
        for name in re.findall(r'<(?:input|textarea|select)[^>]* name="([^"]*)"', file.read_text()):
            assert name not in ("url", "uri", "address", "endpoint", "registry", "listener"), file


def test_an_error_of_the_page_tells_nothing_of_its_inside() -> None:
    app = plain_app()

    async def broken(request: object) -> Response:
        raise RuntimeError("inside-of-the-page")

    app.router.routes.insert(0, Route("/broken", broken))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as page:
        answer = page.get("/broken")
    assert answer.status_code == 500
    assert "inside-of-the-page" not in answer.text
    assert "Traceback" not in answer.text
