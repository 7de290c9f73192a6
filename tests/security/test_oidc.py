"""Tokens from an endpoint that grants them to clients with a secret, up to a real broker that takes them."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from barnabas import Admin
from barnabas.errors import (
    BootstrapError,
    CredentialsError,
    InvalidSettingError,
    SaslAuthenticationError,
)

from .secure_kafka import SecureKafka, unsecured_token

CLIENT, SECRET = "me & mine", "s%cret/?"


@dataclass
class Asked:
    authorization: str | None
    form: dict[str, str]
    method: str = "POST"
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Endpoint:
    """What it answers: a status and a body. `asked` is what came."""

    url: str = ""
    status: int = 200
    body: bytes = b""
    delay_seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[Asked] = field(default_factory=list[Asked])

    def grant(self, token: str, expires_in: float | None = 300) -> None:
        self.body = json.dumps({"access_token": token, "expires_in": expires_in}).encode()

    def settings(self, secure: SecureKafka, **others: Any) -> dict[str, Any]:
        return {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauthbearer_token_endpoint_url": self.url,
            "sasl_oauthbearer_client_credentials_client_id": CLIENT,
            "sasl_oauthbearer_client_credentials_client_secret": SECRET,
            **secure.trust,
            **others,
        }


@pytest.fixture
def serve() -> Iterator[Callable[..., Endpoint]]:
    """`serve(context=None)` starts an endpoint, with TLS if a context is given."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def start(context: ssl.SSLContext | None = None) -> Endpoint:
        endpoint = Endpoint()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
                endpoint.asked.append(
                    Asked(
                        self.headers["Authorization"],
                        dict(urllib.parse.parse_qsl(form)),
                        self.command,
                        self.path,
                        dict(self.headers),
                    )
                )
                time.sleep(endpoint.delay_seconds)
                self.send_response(endpoint.status)
                for name, value in endpoint.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(endpoint.body)))
                self.end_headers()
                self.wfile.write(endpoint.body)

            do_GET = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        scheme = "http" if context is None else "https"
        endpoint.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/token"
        return endpoint

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_granted_token_lets_the_client_in(secure: SecureKafka, serve: Callable[..., Endpoint]) -> None:
    endpoint = serve()
    endpoint.grant(unsecured_token("admin"))
    settings = endpoint.settings(secure, sasl_oauthbearer_scope="kafka.all")
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes
    (asked,) = endpoint.asked
    assert asked.form == {"grant_type": "client_credentials", "scope": "kafka.all"}
    assert asked.authorization is not None
    kind, encoded = asked.authorization.split()
    pair = [urllib.parse.unquote(part) for part in base64.b64decode(encoded).decode().split(":")]
    assert (kind, pair) == ("Basic", [CLIENT, SECRET])


def test_an_endpoint_may_want_id_and_secret_as_they_are(
    secure: SecureKafka, serve: Callable[..., Endpoint]
) -> None:
    endpoint = serve()
    endpoint.grant(unsecured_token("admin"))
    settings = endpoint.settings(secure, sasl_oauthbearer_header_urlencode=False)
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes
    assert endpoint.asked[0].authorization is not None
    assert base64.b64decode(endpoint.asked[0].authorization.split()[1]).decode() == f"{CLIENT}:{SECRET}"


def test_one_token_serves_all_connections_while_it_is_fresh(
    secure: SecureKafka, serve: Callable[..., Endpoint]
) -> None:
    endpoint = serve()
    endpoint.grant(unsecured_token("admin"))
    settings = endpoint.settings(secure, connections_max_idle_ms=50)
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        admin.list_topics()
        # Long enough for the connection to be closed as idle.
        time.sleep(0.3)
        admin.list_topics()
    assert len(endpoint.asked) == 1


def test_a_token_near_its_end_is_replaced(secure: SecureKafka, serve: Callable[..., Endpoint]) -> None:
    endpoint = serve()
    endpoint.grant(unsecured_token("admin"), expires_in=0.3)
    settings = endpoint.settings(secure, connections_max_idle_ms=50)
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        admin.list_topics()
        time.sleep(0.4)
        admin.list_topics()
    # A third time where one call took more than one connection.
    assert len(endpoint.asked) >= 2


def test_an_endpoint_with_tls_is_trusted_by_its_own_setting(
    secure: SecureKafka, serve: Callable[..., Endpoint]
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(secure.certificates.broker)
    endpoint = serve(context)
    endpoint.grant(unsecured_token("admin"))
    trusting = endpoint.settings(secure, https_ca_location=str(secure.certificates.ca))
    with Admin(secure.server("SASL_SSL"), **trusting) as admin:
        assert admin.describe_cluster().nodes
    with (
        Admin(secure.server("SASL_SSL"), **endpoint.settings(secure)) as admin,
        pytest.raises(CredentialsError, match=r"TLS failed.*CERTIFICATE_VERIFY_FAILED"),
    ):
        admin.list_topics()


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (
            401,
            b'{"error": "invalid_client", "error_description": "who?"}',
            r"HTTP 401 \(invalid_client: who\?\)",
        ),
        (403, b"<html>no</html>", r"HTTP 403; check sasl_oauthbearer_client_credentials_client_id"),
        (302, b"", "HTTP 302"),
        (200, b"<html>welcome</html>", "without an access_token: is it the token endpoint"),
        (200, b'{"access_token": 7}', "without an access_token"),
        (200, b'["access_token"]', "without an access_token"),
        (200, b'{"access_token": "t", "expires_in": "soon"}', "without an access_token"),
    ],
)
def test_a_refusal_shows_at_once_and_says_why(
    secure: SecureKafka, serve: Callable[..., Endpoint], status: int, body: bytes, text: str
) -> None:
    endpoint = serve()
    endpoint.status, endpoint.body = status, body
    endpoint.headers = {"Location": "http://127.0.0.1:1/"} if status == 302 else {}
    with (
        Admin(secure.server("SASL_SSL"), **endpoint.settings(secure)) as admin,
        pytest.raises(CredentialsError, match=text) as caught,
    ):
        admin.list_topics()
    assert SECRET not in str(caught.value)


def test_a_token_that_the_broker_refuses_is_not_the_endpoints_fault(
    secure: SecureKafka, serve: Callable[..., Endpoint]
) -> None:
    endpoint = serve()
    endpoint.grant("not.a.token")
    with (
        Admin(secure.server("SASL_SSL"), **endpoint.settings(secure)) as admin,
        pytest.raises(SaslAuthenticationError, match="OAUTHBEARER"),
    ):
        admin.list_topics()


def test_an_endpoint_that_is_away_for_a_while_is_asked_again(
    secure: SecureKafka, serve: Callable[..., Endpoint], eventually: Callable[..., Any]
) -> None:
    endpoint = serve()
    endpoint.status = 503
    listed: list[list[str]] = []
    with Admin(secure.server("SASL_SSL"), **endpoint.settings(secure)) as admin:
        asking = threading.Thread(target=lambda: listed.append(admin.list_topics()))
        asking.start()
        eventually(lambda: len(endpoint.asked) >= 2)
        endpoint.grant(unsecured_token("admin"))
        endpoint.status = 200
        asking.join(60)
    assert len(listed) == 1


def test_a_silent_endpoint_is_given_up_in_time(secure: SecureKafka, serve: Callable[..., Endpoint]) -> None:
    endpoint = serve()
    endpoint.delay_seconds = 1.0
    settings = endpoint.settings(secure, sasl_login_connect_timeout_ms=100, default_api_timeout_ms=2_000)
    with (
        Admin(secure.server("SASL_SSL"), **settings) as admin,
        pytest.raises(BootstrapError, match="gave no token"),
    ):
        admin.list_topics()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sasl_oauthbearer_client_credentials_client_id": None}, "OAUTHBEARER needs"),
        ({"sasl_oauthbearer_token_endpoint_url": "file:///etc/passwd"}, "is not an http"),
        ({"sasl_oauthbearer_extensions": "auth=me"}, "extension 'auth'"),
        ({"sasl_oauthbearer_extensions": ["no value"]}, "extension 'no value'"),
        (
            {"sasl_oauthbearer_token_endpoint_url": "https://host/", "https_ca_location": "/nowhere.pem"},
            "https_ca_location '/nowhere.pem'",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(changes: dict[str, Any], text: str) -> None:
    settings: dict[str, Any] = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": "http://host/",
        "sasl_oauthbearer_client_id": CLIENT,
        "sasl_oauthbearer_client_secret": SECRET,
    }
    if "sasl_oauthbearer_client_credentials_client_id" in changes:
        del settings["sasl_oauthbearer_client_id"]
    with pytest.raises(InvalidSettingError, match=text):
        Admin("host:9092", **(settings | changes))


# Other grants

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASSERTION = "sasl_oauthbearer_assertion_"


def by_assertion(endpoint: Endpoint, secure: SecureKafka, **assertion: Any) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_grant_type": JWT_BEARER,
        "sasl_oauthbearer_token_endpoint_url": endpoint.url,
        **{f"{ASSERTION}{name}": value for name, value in assertion.items()},
        **secure.trust,
    }


def pem(key: Any, passphrase: bytes | None = None) -> str:
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def opened(assertion: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    """Header, payload, signature, and what is signed."""
    header, payload, signature = assertion.split(".")
    signed = f"{header}.{payload}".encode()
    return json.loads(decoded(header)), json.loads(decoded(payload)), decoded(signature), signed


def assertion_shown(endpoint: Endpoint, secure: SecureKafka, settings: dict[str, Any]) -> str:
    """What a client shows the endpoint, before its token lets it in."""
    endpoint.grant(unsecured_token("admin"))
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes
    (asked,) = endpoint.asked
    assert asked.authorization is None
    assert asked.form["grant_type"] == JWT_BEARER
    return asked.form["assertion"]


def test_an_assertion_signed_by_rsa_lets_the_client_in(
    secure: SecureKafka, serve: Callable[..., Endpoint], tmp_path: Path
) -> None:
    endpoint, key = serve(), rsa.generate_private_key(65537, 2048)
    (tmp_path / "key.pem").write_text(pem(key, b"open"))
    settings = by_assertion(
        endpoint,
        secure,
        private_key_file=str(tmp_path / "key.pem"),
        private_key_passphrase="open",
        claim_sub="me",
        claim_iss="us",
        claim_aud="them",
        claim_exp_seconds=100,
        claim_nbf_seconds=7,
        claim_jti_include=True,
    )
    now = time.time()
    header, payload, signature, signed = opened(
        assertion_shown(endpoint, secure, {**settings, "sasl_oauthbearer_scope": "a b"})
    )
    key.public_key().verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
    assert header == {"alg": "RS256", "typ": "JWT"}
    assert abs(payload["iat"] - now) < 60
    assert (payload["exp"] - payload["iat"], payload["iat"] - payload["nbf"]) == (100, 7)
    assert (payload["sub"], payload["iss"], payload["aud"]) == ("me", "us", "them")
    assert uuid.UUID(payload["jti"])
    assert endpoint.asked[0].form["scope"] == "a b"


def test_an_assertion_signed_on_a_curve_is_added_to_its_template(
    secure: SecureKafka, serve: Callable[..., Endpoint], tmp_path: Path
) -> None:
    endpoint, key = serve(), ec.generate_private_key(ec.SECP256R1())
    template = {"header": {"kid": "1", "alg": "none"}, "payload": {"sub": "it", "list": [1], "iat": 0}}
    (tmp_path / "template.json").write_text(json.dumps(template))
    settings = by_assertion(
        endpoint,
        secure,
        private_key_pem=pem(key),
        algorithm="ES256",
        template_file=str(tmp_path / "template.json"),
        claim_aud="them",
    )
    header, payload, signature, signed = opened(assertion_shown(endpoint, secure, settings))
    numbers = [int.from_bytes(signature[start : start + 32], "big") for start in (0, 32)]
    key.public_key().verify(encode_dss_signature(*numbers), signed, ec.ECDSA(hashes.SHA256()))
    assert len(signature) == 64
    assert header == {"kid": "1", "alg": "ES256", "typ": "JWT"}
    assert (payload["sub"], payload["list"], payload["aud"]) == ("it", [1], "them")
    assert payload["exp"] - payload["iat"] == 300


def test_an_assertion_is_read_from_its_file_each_time(
    secure: SecureKafka, serve: Callable[..., Endpoint], tmp_path: Path
) -> None:
    endpoint, file = serve(), tmp_path / "assertion"
    file.write_text("header.payload.signature\n")
    settings = by_assertion(endpoint, secure, file=str(file))
    assert assertion_shown(endpoint, secure, settings) == "header.payload.signature"


@pytest.mark.parametrize(
    ("assertion", "text"),
    [
        ({"private_key_pem": "no key"}, "private_key_pem: no private key can be read"),
        ({"private_key_file": "/nowhere"}, "private_key_file '/nowhere' cannot be read: No such file"),
        ({"file": "/nowhere"}, "assertion_file '/nowhere' cannot be read: No such file"),
        ({"template_file": "/nowhere"}, "template_file '/nowhere' cannot be read: No such file"),
        ({"template_file": "EMPTY"}, "is no JSON object with the objects `header` and `payload`"),
        ({"algorithm": "ES256"}, "assertion_algorithm ES256 takes a key on the curve P-256"),
        ({"private_key_passphrase": "secret"}, "the key is not encrypted"),
    ],
)
def test_an_assertion_that_cannot_be_made_is_told_at_once(
    secure: SecureKafka, serve: Callable[..., Endpoint], tmp_path: Path, assertion: dict[str, Any], text: str
) -> None:
    (tmp_path / "empty").write_text("{}")
    given = {
        name: str(tmp_path / "empty") if value == "EMPTY" else value for name, value in assertion.items()
    }
    if not {"file", "private_key_file", "private_key_pem"} & given.keys():
        given["private_key_pem"] = pem(rsa.generate_private_key(65537, 2048))
    with (
        Admin(secure.server("SASL_SSL"), **by_assertion(serve(), secure, **given)) as admin,
        pytest.raises(CredentialsError, match=text),
    ):
        admin.list_topics()


@pytest.mark.parametrize(
    ("assertion", "text"),
    [
        ({}, "needs sasl_oauthbearer_assertion_file, "),
        ({"file": "f", "private_key_file": "k"}, "assertion_file and .*private_key_file exclude each other"),
        ({"private_key_pem": "p", "private_key_file": "k"}, "_file and .*_pem exclude each other"),
    ],
)
def test_settings_of_assertions_that_exclude_each_other_are_refused(
    secure: SecureKafka, assertion: dict[str, Any], text: str
) -> None:
    with pytest.raises(InvalidSettingError, match=text):
        Admin("host:9092", **by_assertion(Endpoint("http://host/"), secure, **assertion))


def test_azures_metadata_service_is_asked_as_it_wants_to_be(
    secure: SecureKafka, serve: Callable[..., Endpoint]
) -> None:
    endpoint = serve()
    # Azure gives the seconds as a text.
    endpoint.body = json.dumps({"access_token": unsecured_token("admin"), "expires_in": "3600"}).encode()
    settings = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_metadata_authentication_type": "azure_imds",
        "sasl_oauthbearer_token_endpoint_url": f"{endpoint.url}?api-version=2018-02-01&resource=api://kafka",
        **secure.trust,
    }
    with Admin(secure.server("SASL_SSL"), **settings) as admin:
        assert admin.describe_cluster().nodes
    (asked,) = endpoint.asked
    assert (asked.method, asked.path) == ("GET", "/token?api-version=2018-02-01&resource=api://kafka")
    assert asked.headers["Metadata"] == "true"
    assert asked.authorization is None
