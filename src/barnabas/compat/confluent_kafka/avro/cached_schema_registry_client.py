# pyright: basic
"""`CachedSchemaRegistryClient`, the legacy client of a registry: its properties, its calls, what it knows."""

from __future__ import annotations

import json
import logging
import warnings
import weakref
from collections import defaultdict
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

from barnabas.compat.confluent_kafka.avro._no_answer import no_answer_error
from barnabas.compat.confluent_kafka.avro.error import ClientError
from barnabas.compat.confluent_kafka.avro.load import loads
from barnabas.credentials import Secret
from barnabas.errors import ClosedError
from barnabas.http.messages import HttpAnswer, HttpRequest, NoAnswerError
from barnabas.http.token_requests import basic_authorization
from barnabas.registry.cache import Cache
from barnabas.registry.config import RegistryConfig
from barnabas.registry.exchange import ACCEPTED, CONTENT_TYPE, Steps
from barnabas.registry.transport import LONGEST_TIMEOUT_MS, Transport

VALID_LEVELS = ["NONE", "FULL", "FORWARD", "BACKWARD"]
VALID_METHODS = ["GET", "POST", "PUT", "DELETE"]
VALID_AUTH_PROVIDERS = ["URL", "USER_INFO", "SASL_INHERIT"]
ACCEPT_HDR = ACCEPTED

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka.avro.cached_schema_registry_client")

# What a subject's name may have in a path besides letters and digits, as the original leaves it there.
_AS_IT_IS = "!$&'()*+,:;=@~"


class CachedSchemaRegistryClient:
    """A client of a registry, for Avro alone. Deprecated by the original since its 1.1.

    `url`: a dict with `url`, `ssl.ca.location`, `ssl.certificate.location`, `ssl.key.location`,
    `ssl.key.password`, `basic.auth.credentials.source` (URL, USER_INFO with `basic.auth.user.info`, or
    SASL_INHERIT with `sasl.mechanism`, `sasl.username` and `sasl.password`) and `auto.register.schemas`; or,
    which is deprecated, the URL itself, with the other arguments.

    Schemas are those of `load` and `loads`. Every call raises ClientError; where nobody answers it is an
    exception of `requests` too, such as `requests.ConnectionError`, and over HTTPS one of urllib3 (its
    HTTPError), if these are installed. Raises: ValueError, TypeError, InvalidSettingError, MissingExtraError.
    """

    def __init__(
        self,
        url: str | dict[str, Any],
        max_schemas_per_subject: int = 1000,
        ca_location: str | None = None,
        cert_location: str | None = None,
        key_location: str | None = None,
    ) -> None:
        if isinstance(url, dict):
            conf = dict(url)
        else:
            conf = {
                "url": url,
                "ssl.ca.location": ca_location,
                "ssl.certificate.location": cert_location,
                "ssl.key.location": key_location,
            }
            warnings.warn(
                "CachedSchemaRegistry constructor is being deprecated. "
                "Use CachedSchemaRegistryClient(dict: config) instead. "
                "Existing params ca_location, cert_location and key_location will be replaced with their "
                "librdkafka equivalents as keys in the conf dict: `ssl.ca.location`, "
                "`ssl.certificate.location` and `ssl.key.location` respectively",
                category=DeprecationWarning,
                stacklevel=2,
            )
        address = conf.pop("url", "")
        if not isinstance(address, str):
            raise TypeError("URL must be of type str")
        if not address.startswith("http"):
            raise ValueError("Invalid URL provided for Schema Registry")
        address = address.rstrip("/")
        authorities = conf.pop("ssl.ca.location", None)
        certificate, key = conf.pop("ssl.certificate.location", None), conf.pop("ssl.key.location", None)
        if bool(certificate) != bool(key):
            raise ValueError(
                "Both schema.registry.ssl.certificate.location and schema.registry.ssl.key.location must be "
                "set"
            )
        self._user = _take_user(conf, address)
        password = conf.pop("ssl.key.password", None)
        self.auto_register_schemas = conf.pop("auto.register.schemas", True)
        if conf:
            raise ValueError(f"Unrecognized configuration properties: {conf.keys()}")
        parts = urlsplit(address)
        self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()

        self.subject_to_schema_ids: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """By subject and text of a schema, its id."""
        self.id_to_schema: dict[int, Any] = {}
        self.subject_to_schema_versions: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """By subject and text of a schema, its version."""
        # A schema takes long to write; this one is written for each message.
        self._texts: Cache[int, tuple[Any, str]] = Cache(max_schemas_per_subject)
        self._transport = Transport(
            RegistryConfig(
                ssl_ca_location=authorities,
                ssl_certificate_location=certificate,
                ssl_key_location=key,
                ssl_key_password=None if password is None else Secret(password),
                request_timeout_ms=LONGEST_TIMEOUT_MS,
            )
        )
        weakref.finalize(self, self._transport.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections. A second time does nothing."""
        self._transport.close()

    def _send_request(self, url: str, method: str = "GET", body: Any = None) -> tuple[Any, int]:
        """The answer, read as JSON if it is any, and its status."""
        if method not in VALID_METHODS:
            raise ClientError(f"Method {method} is invalid; valid methods include {VALID_METHODS}")
        headers = {"Accept": ACCEPT_HDR, **({} if self._user is None else basic_authorization(self._user))}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = CONTENT_TYPE
        from httpx import InvalidURL

        try:
            answer = self._transport.run(_asked(HttpRequest(url, headers, content, method)))
        except ClosedError as error:
            raise ClientError(f"{url}: {error}") from error
        except (NoAnswerError, InvalidURL, UnicodeError) as error:
            raise no_answer_error(url, error) from error
        try:
            return json.loads(answer.body), answer.status
        except (ValueError, RecursionError):
            return answer.body, answer.status

    def _place(self, *parts: Any) -> str:
        return "/".join([self.url, *(quote(str(part), safe=_AS_IT_IS) for part in parts)])

    def _text(self, schema: Any) -> str:
        known = self._texts.get(id(schema))
        if known is None:
            # Kept with its text, the schema keeps its id.
            known = schema, str(schema)
            self._texts.put(id(schema), known)
        return known[1]

    def _remember(
        self, schema: Any, schema_id: int, subject: str | None = None, version: int | None = None
    ) -> None:
        schema = self.id_to_schema.setdefault(schema_id, schema)
        if subject:
            self.subject_to_schema_ids[subject][self._text(schema)] = schema_id
            if version:
                self.subject_to_schema_versions[subject][self._text(schema)] = version

    def register(self, subject: str, avro_schema: Any) -> int:
        """Makes a schema a version of a subject, and gives its id. Raises: ClientError."""
        text = self._text(avro_schema)
        known = self.subject_to_schema_ids[subject].get(text)
        if known is not None:
            return known
        answer, code = self._send_request(
            self._place("subjects", subject, "versions"), method="POST", body={"schema": text}
        )
        if not _is_success(code):
            said = {
                401: "Unauthorized access. Error code:",
                403: "Unauthorized access. Error code:",
                409: "Incompatible Avro schema:",
                422: "Invalid Avro schema:",
            }.get(code, "Unable to register schema. Error code:")
            raise ClientError(f"{said}{code} message:{answer}")
        self._remember(avro_schema, answer["id"], subject)
        self.subject_to_schema_ids[subject][text] = answer["id"]
        return answer["id"]

    def check_registration(self, subject: str, avro_schema: Any) -> int:
        """The id of a schema that is a version of a subject. Raises: ClientError."""
        text = self._text(avro_schema)
        known = self.subject_to_schema_ids[subject].get(text)
        if known is not None:
            return known
        answer, code = self._send_request(
            self._place("subjects", subject), method="POST", body={"schema": text}
        )
        if not _is_success(code):
            said = {
                401: "Unauthorized access. Error code:",
                403: "Unauthorized access. Error code:",
                404: "Schema or subject not found:",
            }.get(code, "Unable to check schema registration. Error code:")
            raise ClientError(f"{said}{code}")
        self._remember(avro_schema, answer["id"], subject)
        self.subject_to_schema_ids[subject][text] = answer["id"]
        return answer["id"]

    def delete_subject(self, subject: str) -> Any:
        """Deletes a subject, and gives the numbers of its versions. Raises: ClientError."""
        answer, code = self._send_request(self._place("subjects", subject), method="DELETE")
        if not _is_success(code):
            raise ClientError(f"Unable to delete subject: {answer}")
        return answer

    def get_by_id(self, schema_id: int) -> Any:
        """The schema with this id, or None. Raises: ClientError, if it is broken."""
        if schema_id in self.id_to_schema:
            return self.id_to_schema[schema_id]
        answer, code = self._send_request(self._place("schemas", "ids", schema_id))
        if not _is_success(code):
            said = "Schema not found:" if code == 404 else "Unable to get schema for the specific ID:"
            log.error("%s%s", said, code)
            return None
        try:
            schema = loads(answer.get("schema"))
        except ClientError as error:
            raise ClientError(f"Received bad schema (id {schema_id}) from registry: {error}") from error
        self._remember(schema, schema_id)
        return schema

    def get_latest_schema(self, subject: str) -> tuple[Any, Any, Any]:
        """Id, schema and number of the latest version of a subject, or three times None. Raises:
        ClientError."""
        return self.get_by_version(subject, "latest")

    def get_by_version(self, subject: str, version: int | str) -> tuple[Any, Any, Any]:
        """Id, schema and number of a version of a subject, or three times None. Raises: ClientError."""
        answer, code = self._send_request(self._place("subjects", subject, "versions", version))
        if not _is_success(code):
            if code in (404, 422):
                log.error("%s%s", "Schema not found:" if code == 404 else "Invalid version:", code)
            return (None, None, None)
        schema_id, number = answer["id"], answer["version"]
        schema = self.id_to_schema.get(schema_id)
        if schema is None:
            schema = loads(answer["schema"])
        self._remember(schema, schema_id, subject, number)
        return (schema_id, schema, number)

    def get_version(self, subject: str, avro_schema: Any) -> Any:
        """The number of the version of a subject that a schema is, or None. Raises: ClientError."""
        text = self._text(avro_schema)
        known = self.subject_to_schema_versions[subject].get(text)
        if known is not None:
            return known
        answer, code = self._send_request(
            self._place("subjects", subject), method="POST", body={"schema": text}
        )
        if not _is_success(code):
            log.error("%s%s", "Not found:" if code == 404 else "Unable to get version of a schema:", code)
            return None
        self._remember(avro_schema, answer["id"], subject, answer["version"])
        return answer["version"]

    def test_compatibility(self, subject: str, avro_schema: Any, version: int | str = "latest") -> Any:
        """Whether a schema is compatible with a version of a subject. False also where that is not known."""
        place = self._place("compatibility", "subjects", subject, "versions", version)
        try:
            answer, code = self._send_request(place, method="POST", body={"schema": self._text(avro_schema)})
            if _is_success(code):
                return answer.get("is_compatible")
        except Exception as error:
            log.error("_send_request() failed: %s", error)
            return False
        said = {404: "Subject or version not found:", 422: "Invalid subject or schema:"}
        log.error("%s%s", said.get(code, "Unable to check the compatibility: "), code)
        return False

    def update_compatibility(self, level: str, subject: str | None = None) -> str:
        """Sets the level of a subject, or of all: NONE, FULL, FORWARD or BACKWARD. Raises: ClientError."""
        if level not in VALID_LEVELS:
            raise ClientError(f"Invalid level specified: {level}")
        answer, code = self._send_request(self._config(subject), method="PUT", body={"compatibility": level})
        if not _is_success(code):
            raise ClientError(f"Unable to update level: {level}. Error code: {code}")
        return answer["compatibility"]

    def get_compatibility(self, subject: str | None = None) -> str:
        """The level of a subject, or of all. Raises: ClientError, also for one that is not among those
        four."""
        answer, code = self._send_request(self._config(subject))
        if not _is_success(code):
            raise ClientError(f"Unable to fetch compatibility level. Error code: {code}")
        level = answer.get("compatibilityLevel", None)
        if level not in VALID_LEVELS:
            said = "No compatibility was returned" if level is None else level
            raise ClientError(f"Invalid compatibility level received: {said}")
        return level

    def _config(self, subject: str | None) -> str:
        return self._place("config", *([subject] if subject else []))


def _asked(request: HttpRequest) -> Steps[HttpAnswer]:
    return (yield request)


def _is_success(code: int) -> bool:
    return 200 <= code <= 299


def _take_user(conf: dict[str, Any], url: str) -> str | None:
    """Name and password with a colon between them."""
    source = conf.pop("basic.auth.credentials.source", "URL").upper()
    if source not in VALID_AUTH_PROVIDERS:
        raise ValueError(
            f"schema.registry.basic.auth.credentials.source must be one of {VALID_AUTH_PROVIDERS}"
        )
    if source == "SASL_INHERIT":
        if conf.pop("sasl.mechanism", "").upper() == "GSSAPI":
            raise ValueError("SASL_INHERIT does not support SASL mechanism GSSAPI")
        return f"{conf.pop('sasl.username', '')}:{conf.pop('sasl.password', '')}"
    if source == "USER_INFO":
        return conf.pop("basic.auth.user.info", "")
    parts = urlsplit(url)
    if parts.username is None:
        return None
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"
