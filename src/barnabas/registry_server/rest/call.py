"""A request: its path as the original's filters leave it, with the context of `/contexts/{context}/...` in
the names of subjects, and subjects that have an alias by that.

Owns what is in a request, and reading it. Knows nothing of what is done for it, nor of sockets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any
from urllib.parse import parse_qsl, unquote

from barnabas.registry_server import api_errors, subjects
from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.entities import EntityError, JsonObject, Kind
from barnabas.values import frozen

MEDIA_TYPES = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
)
"""The one that is liked best first."""
ANY_BINARY = "application/octet-stream"
ACCEPTS_UNKNOWN = "confluent-accept-unknown-properties"
BEFORE_SUBJECTS = ("subjects", "deks")
ConfigOf = Callable[[str], JsonObject | None]


@frozen
class RestCall:
    """`segments`: of the path, decoded. `headers`: by names in lower case."""

    method: str
    segments: Sequence[str]
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.query if each == name]

    def text(self, name: str, default: str = "") -> str:
        return next(iter(self.values(name)), default)

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """Raises: ApiError."""
        return default if not self.values(name) else path_number(self.text(name))

    def page(self, found: Sequence[Any], most: int | None = None) -> list[Any]:
        """The part of a list that is asked for. `most`: at most so many. Raises: ApiError."""
        offset, limit = self.number("offset", 0), self.number("limit", -1)
        if offset < 0:
            raise api_errors.unprocessable(f"offset must not be negative, but it is {offset}")
        if limit <= 0 or (most is not None and limit > most):
            limit = len(found) if most is None else most
        return list(found[offset : offset + limit])

    def entity(self, kind: Kind) -> JsonObject:
        """The body. Raises: ApiError."""
        is_strict = self.headers.get(ACCEPTS_UNKNOWN, "").lower() != "true"
        found = loaded(self.body)
        try:
            read = kind(found, is_strict)
            json.dumps(read, ensure_ascii=False).encode()
        except EntityError as error:
            raise api_errors.unprocessable(str(error)) from None
        except UnicodeEncodeError:
            raise api_errors.unprocessable("a text has half of a surrogate pair") from None
        return read

    def replaced(self, segments: Sequence[str], query: Sequence[tuple[str, str]]) -> RestCall:
        return RestCall(self.method, segments, query, self.headers, self.body)


def loaded(body: bytes) -> Any:
    """Raises: ApiError."""
    if not body.strip():
        raise api_errors.unprocessable("the request needs a body")
    try:
        found = json.loads(body)
    except RecursionError:
        raise api_errors.unprocessable("the body is too deep") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise api_errors.unprocessable(f"the body is not JSON: {error}") from None
    if found is None:
        raise api_errors.unprocessable("the request needs a body")
    return found


def split(raw_path: str) -> list[str]:
    """The segments of a path, decoded one by one, so that a name may have a slash."""
    return [unquote(each) for each in raw_path.split("/") if each]


def parsed_query(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise api_errors.unprocessable("the query has too many parts") from None


def path_number(text: str) -> int:
    """Raises: ApiError: a path with what is no number leads nowhere."""
    try:
        found = int(text) if text.isascii() and len(text) < 12 else 1 << 31
    except ValueError:
        found = 1 << 31
    if not -(1 << 31) <= found < 1 << 31:
        raise not_found()
    return found


def not_found() -> ApiError:
    return ApiError(404, 404, "HTTP 404 Not Found")


def in_its_context(call: RestCall) -> RestCall:
    """Without `/contexts/{context}`. Raises: ApiError."""
    if len(call.segments) < 2 or call.segments[0] != "contexts":
        return call
    try:
        prefix = subjects.context_prefix(call.segments[1])
    except ValueError as error:
        raise ApiError(400, 400, str(error)) from None
    segments = _with_prefix(call.segments[2:], prefix)
    if not segments and prefix:
        segments = ["contexts", prefix]
    return call.replaced(segments, _query_with_prefix(call, segments, prefix))


def _with_prefix(segments: Sequence[str], prefix: str) -> list[str]:
    found: list[str] = []
    is_subject = is_settings = False
    for number, each in enumerate(segments):
        if is_subject:
            found.append(each if _names_context(each) else prefix + each)
            is_subject = False
            continue
        is_settings = is_settings or (number == 0 and each in ("config", "mode"))
        is_subject = each in BEFORE_SUBJECTS or (number == 0 and is_settings)
        found.append(each)
    if is_settings and is_subject and prefix:
        # Those of the context.
        found.append(prefix)
    return found


def _query_with_prefix(call: RestCall, segments: Sequence[str], prefix: str) -> list[tuple[str, str]]:
    if list(segments[:2]) == ["schemas", "ids"]:
        subject = call.text("subject")
        return _with_query(call.query, "subject", [subject if _names_context(subject) else prefix + subject])
    if list(segments) in (["schemas"], ["subjects"]) or "keks" in segments:
        wanted = call.values("subjectPrefix") or [""]
        wanted = [each if _names_context(each) else prefix + each for each in wanted]
        return _with_query(call.query, "subjectPrefix", wanted)
    if segments and segments[0].startswith("associations") and call.method in ("POST", "PUT", "PATCH"):
        return _with_query(call.query, "context", [prefix])
    return list(call.query)


def by_its_alias(call: RestCall, config_of: ConfigOf) -> RestCall:
    """`config_of`: what is set for a subject."""
    found: list[str] = []
    of_deks = bool(call.segments) and call.segments[0] == "dek-registry"
    for number, each in enumerate(call.segments):
        is_subject = number > 0 and call.segments[number - 1] in BEFORE_SUBJECTS
        found.append(_alias(each, config_of, of_deks=of_deks) if is_subject else each)
    query = list(call.query)
    if found[:2] == ["schemas", "ids"] and call.text("subject"):
        query = _with_query(query, "subject", [_alias(call.text("subject"), config_of, of_deks=False)])
    return call.replaced(found, query)


def _alias(subject: str, config_of: ConfigOf, *, of_deks: bool) -> str:
    config = config_of(subject) or {}
    alias = config.get("alias")
    if of_deks:
        alias = config.get("aliasForDeks", alias)
    return subjects.within(subject, alias) if alias else subject


def _with_query(query: Sequence[tuple[str, str]], name: str, values: Sequence[str]) -> list[tuple[str, str]]:
    return [each for each in query if each[0] != name] + [(name, value) for value in values]


def _names_context(subject: str) -> bool:
    return subject.startswith((":.", subjects.ANY_CONTEXT))


def refuse_body_of_other_type(call: RestCall) -> None:
    """Raises: ApiError."""
    media_type = call.headers.get("content-type", ANY_BINARY).partition(";")[0].strip().lower()
    if media_type not in (*MEDIA_TYPES, ANY_BINARY):
        raise ApiError(415, 415, "HTTP 415 Unsupported Media Type")


def answer_type(accepted: str | None) -> str:
    """Which of the media types is liked best. Raises: ApiError."""
    if accepted is None or not accepted.strip():
        return MEDIA_TYPES[0]
    best, best_weight = "", 0.0
    for media_type in MEDIA_TYPES:
        weight = _weight(media_type, accepted)
        if weight > best_weight:
            best, best_weight = media_type, weight
    if not best:
        raise ApiError(406, 406, "HTTP 406 Not Acceptable")
    return best


def _weight(media_type: str, accepted: str) -> float:
    """Of the range that names it most closely."""
    found = (-1, 0.0)
    for each in accepted.split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        closeness = {media_type: 2, "application/*": 1, "*/*": 0, "*": 0}.get(name.lower(), -1)
        if closeness > found[0]:
            found = closeness, _quality(parameters)
    return found[1]


def _quality(parameters: Sequence[str]) -> float:
    for each in parameters:
        name, _, value = each.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
