from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from barnabas.http.messages import HttpAnswer, HttpRequest, NoAnswerError, TlsFailedError
from barnabas.registry import (
    BrokenRegistryError,
    IncompatibleSchemaError,
    InvalidSchemaError,
    RegistryAuthError,
    RegistryError,
    RegistryUnreachableError,
    Schema,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
    requests,
)
from barnabas.registry.config import load_registry_config
from barnabas.registry.exchange import Exchange, Pause, Steps

ONE, OTHER = "http://one:8081", "http://other:8081/registry"
TYPES = requests.schema_types()
GOOD = HttpAnswer(200, b'["AVRO"]')


def played(steps: Steps[Any], *outcomes: Any) -> tuple[Any, list[Any]]:
    """What comes of the steps, and what they were, where each has one of the outcomes. A pause has none."""
    seen: list[Any] = []
    left = list(outcomes)
    step = next(steps)
    try:
        while True:
            seen.append(step)
            if isinstance(step, Pause):
                step = steps.send(None)
                continue
            outcome = left.pop(0)
            step = steps.throw(outcome) if isinstance(outcome, Exception) else steps.send(outcome)
    except StopIteration as end:
        return end.value, seen


def exchange(*urls: str, **settings: Any) -> Exchange:
    return Exchange(load_registry_config(urls or ONE, settings))


def asked(seen: list[Any]) -> list[str]:
    return [step.url for step in seen if isinstance(step, HttpRequest)]


def test_a_request_has_the_apis_headers_and_its_query() -> None:
    request = requests.register("a b", Schema('"int"'), True)
    found, (step,) = played(exchange().ask(request), HttpAnswer(200, b'{"id": 3}'))
    assert found == 3
    assert (step.method, step.url) == ("POST", f"{ONE}/subjects/a%20b/versions?normalize=true")
    assert step.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert "application/vnd.schemaregistry.v1+json" in step.headers["Accept"]
    assert json.loads(step.body) == {"schema": '"int"', "schemaType": "AVRO"}
    assert "Authorization" not in step.headers


def test_what_is_not_able_at_present_is_asked_again_after_a_pause_that_grows() -> None:
    outcomes = [HttpAnswer(503, b""), NoAnswerError("refused"), HttpAnswer(429, b""), GOOD]
    found, seen = played(exchange(retry_backoff_ms=100).ask(TYPES), *outcomes)
    assert found == ["AVRO"]
    pauses = [step.seconds for step in seen if isinstance(step, Pause)]
    assert [round(seconds / 0.1 / 2**number) for number, seconds in enumerate(pauses)] == [1, 1, 1]
    assert len(asked(seen)) == 4


def test_the_next_address_is_asked_at_once_and_first_from_then_on() -> None:
    both = exchange(ONE, OTHER)
    _, seen = played(both.ask(TYPES), NoAnswerError("refused"), GOOD)
    assert asked(seen) == [f"{ONE}/schemas/types", f"{OTHER}/schemas/types"]
    assert not any(isinstance(step, Pause) for step in seen)
    _, seen = played(both.ask(TYPES), GOOD)
    assert asked(seen) == [f"{OTHER}/schemas/types"]


def test_nobody_that_answers_is_an_error_with_the_reason_of_each_address() -> None:
    outcomes = [NoAnswerError("connection refused"), HttpAnswer(502, b"")] * 2
    with pytest.raises(RegistryUnreachableError) as caught:
        played(exchange(ONE, OTHER, retries=1).ask(TYPES), *outcomes)
    assert str(caught.value) == (
        "GET /schemas/types: no registry answered within 2 tries: "
        f"{ONE}: connection refused; {OTHER}: HTTP 502"
    )
    assert caught.value.retriable
    assert isinstance(caught.value, ConnectionError)


def test_tls_that_fails_is_not_tried_again() -> None:
    with pytest.raises(RegistryUnreachableError, match="not trusted"):
        played(exchange().ask(TYPES), TlsFailedError("its certificate is not trusted"))


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, 40401, SubjectNotFoundError),
        (404, 40402, VersionNotFoundError),
        (404, 40403, SchemaNotFoundError),
        (409, 409, IncompatibleSchemaError),
        (422, 42201, InvalidSchemaError),
        (422, 42205, RegistryError),
        (401, 401, RegistryAuthError),
        (403, 40301, RegistryAuthError),
    ],
)
def test_an_error_that_was_answered_has_its_class_its_numbers_and_its_words(
    status: int, code: int, kind: type[RegistryError]
) -> None:
    body = json.dumps({"error_code": code, "message": "so it is"}).encode()
    with pytest.raises(RegistryError) as caught:
        played(exchange().ask(TYPES), HttpAnswer(status, body))
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.error_code) == (status, code)
    assert str(caught.value).startswith(f"GET /schemas/types: so it is (error {code})")


@pytest.mark.parametrize(
    "body", [b"<html>not here</html>", b"", b'{"message": 3, "error_code": []}', b"[1]", b"[" * 9_999]
)
def test_an_error_of_somebody_elses_is_shown_as_it_is(body: bytes) -> None:
    with pytest.raises(RegistryError, match="HTTP 404"):
        played(exchange().ask(TYPES), HttpAnswer(404, body))


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"{}", b"", b"[" * 100_000])
def test_a_good_answer_of_somebody_elses_asks_whether_the_url_is_right(body: bytes) -> None:
    with pytest.raises(BrokenRegistryError, match="is the URL right"):
        played(exchange().ask(TYPES), HttpAnswer(200, body))


# Who asks


def authorization(seen: list[Any]) -> str:
    return seen[-1].headers["Authorization"]


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_a_user_is_taken_from_the_setting_or_from_the_url() -> None:
    _, seen = played(exchange(basic_auth_user_info="ann:s:e").ask(TYPES), GOOD)
    assert authorization(seen) == basic("ann:s:e")
    _, seen = played(exchange("http://ann%40x:p%3Aw@one:8081").ask(TYPES), GOOD)
    assert authorization(seen) == basic("ann@x:p:w")
    assert asked(seen) == [f"{ONE}/schemas/types"]


def test_a_token_comes_with_whom_it_is_for() -> None:
    settings = {"bearer_auth_logical_cluster": "lsrc-1", "bearer_auth_identity_pool_id": "pool-1"}
    _, (step,) = played(exchange(bearer_auth_token="abc", **settings).ask(TYPES), GOOD)
    assert step.headers["Authorization"] == "Bearer abc"
    assert step.headers["target-sr-cluster"] == "lsrc-1"
    assert step.headers["Confluent-Identity-Pool-Id"] == "pool-1"


def test_a_callback_is_asked_before_each_request() -> None:
    def callback() -> str:
        raise AssertionError("this is for whoever does the steps")

    outcomes = ["one", HttpAnswer(503, b""), "two", GOOD]
    _, seen = played(exchange(bearer_auth_callback=callback).ask(TYPES), *outcomes)
    assert [step for step in seen if step is callback] == [callback, callback]
    assert authorization(seen) == "Bearer two"


ISSUED = {
    "bearer_auth_issuer_endpoint_url": "http://issuer/token",
    "bearer_auth_client_id": "me",
    "bearer_auth_client_secret": "s cret",
    "bearer_auth_scope": "all",
}


def test_a_token_is_issued_once_for_most_of_its_life() -> None:
    now = 0.0
    issued = Exchange(load_registry_config(ONE, ISSUED), clock=lambda: now)
    _, seen = played(issued.ask(TYPES), HttpAnswer(200, b'{"access_token": "t1", "expires_in": 100}'), GOOD)
    assert asked(seen) == ["http://issuer/token", f"{ONE}/schemas/types"]
    assert seen[0].body == b"grant_type=client_credentials&scope=all"
    assert seen[0].headers["Authorization"] == basic("me:s%20cret")
    assert authorization(seen) == "Bearer t1"
    now = 79.0
    _, seen = played(issued.ask(TYPES), GOOD)
    assert authorization(seen) == "Bearer t1"
    now = 80.0
    _, seen = played(issued.ask(TYPES), HttpAnswer(200, b'{"access_token": "t2"}'), GOOD)
    assert authorization(seen) == "Bearer t2"


def test_a_token_that_is_refused_is_not_shown_again() -> None:
    issued = exchange(**ISSUED)
    token = HttpAnswer(200, b'{"access_token": "t1", "expires_in": 100}')
    with pytest.raises(RegistryAuthError):
        played(issued.ask(TYPES), token, HttpAnswer(401, b""))
    _, seen = played(issued.ask(TYPES), HttpAnswer(200, b'{"access_token": "t2", "expires_in": 9}'), GOOD)
    assert authorization(seen) == "Bearer t2"


@pytest.mark.parametrize(
    ("answers", "error", "words"),
    [
        (
            [HttpAnswer(400, b'{"error": "x", "error_description": "no such client"}')],
            RegistryAuthError,
            "gave no token to client 'me': HTTP 400 .no such client.; check bearer_auth_client_id",
        ),
        ([HttpAnswer(200, b"<html>")], RegistryAuthError, "is it the token endpoint"),
        ([HttpAnswer(503, b"")] * 2, RegistryUnreachableError, "gave no token: HTTP 503"),
        ([TlsFailedError("bad certificate")], RegistryUnreachableError, "gave no token: bad certificate"),
    ],
)
def test_an_issuer_that_gives_no_token_is_named(
    answers: list[Any], error: type[RegistryError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        played(exchange(retries=1, **ISSUED).ask(TYPES), *answers)
    assert "s cret" not in str(caught.value)
