"""Key management systems of clouds: each library that a driver uses, against what answers as documented,
beside the original's driver where that can be led there."""

from __future__ import annotations

import base64
import datetime
import http.server
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest
from confluent_kafka.schema_registry.rules.encryption.awskms.aws_driver import (
    AwsKmsDriver as OriginalAwsDriver,
)
from confluent_kafka.schema_registry.rules.encryption.azurekms.azure_driver import (
    AzureKmsClient as OriginalAzureClient,
)
from confluent_kafka.schema_registry.rules.encryption.gcpkms.gcp_client import (
    _GcpKmsAead as OriginalGcpAead,  # type: ignore[attr-defined]
)
from confluent_kafka.schema_registry.rules.encryption.hcvault.hcvault_driver import (
    HcVaultKmsDriver as OriginalVaultDriver,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from barnabas.registry.rules import RuleError
from barnabas.registry.rules.encryption import kms
from barnabas.registry.rules.encryption.executors import EncryptionExecutor
from barnabas.registry.rules.encryption.keys import Kek
from barnabas.registry.rules.encryption.kms_aws import AwsKmsDriver
from barnabas.registry.rules.encryption.kms_azure import KEY_VERSION_SAVE, AzureKmsClient, AzureKmsDriver
from barnabas.registry.rules.encryption.kms_gcp import GcpKmsClient, GcpKmsDriver
from barnabas.registry.rules.encryption.kms_local import LocalKmsDriver
from barnabas.registry.rules.encryption.kms_vault import HcVaultKmsDriver

SEAL = b"sealed:"
ARN = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd"

Answer = Callable[[str, str, Any, bytes], tuple[int, dict[str, str], bytes]]


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """`serve(answer)` gives a URL; `answer(method, path, headers, body)` gives status, headers and body."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def begin(answer: Answer, tls: ssl.SSLContext | None = None) -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                status, headers, data = answer(self.command, self.path, self.headers, body)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = do_POST

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"127.0.0.1:{server.server_address[1]}"

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


# AWS


@pytest.fixture
def aws(serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What was asked: the operation, and its body."""
    asked: list[tuple[str, Any]] = []

    def answer(method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        scope = headers["Authorization"].split("Credential=")[1].split(",")[0]
        if "X-Amz-Target" not in headers:
            asked.append((scope, parse_qs(body.decode())))
            return 200, {"Content-Type": "text/xml"}, ROLE
        operation = headers["X-Amz-Target"]
        given = json.loads(body)
        asked.append((f"{operation} {scope}", given))
        if given["KeyId"] != ARN:
            return 400, {}, json.dumps({"__type": "NotFoundException", "message": "no such key"}).encode()
        if operation.endswith("Encrypt"):
            sealed = SEAL + base64.b64decode(given["Plaintext"])
            found = {"CiphertextBlob": base64.b64encode(sealed).decode(), "KeyId": ARN}
        else:
            plain = base64.b64decode(given["CiphertextBlob"]).removeprefix(SEAL)
            found = {"Plaintext": base64.b64encode(plain).decode(), "KeyId": ARN}
        return 200, {"Content-Type": "application/x-amz-json-1.1"}, json.dumps(found).encode()

    url = f"http://{serve(answer)}"
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return asked


ROLE = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><AssumedRoleId>id</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/r/s</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>ROLEKEY</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>
<SessionToken>token</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>
</AssumeRoleResult></AssumeRoleResponse>"""
KEY = {"access.key.id": "OWNKEY", "secret.access.key": "secret"}


def both_ways(one: Any, other: Any) -> None:
    """What each encrypts, both decrypt."""
    for sealer in (one, other):
        sealed = sealer.encrypt(b"data key", b"")
        assert sealed != b"data key"
        assert one.decrypt(sealed, b"") == other.decrypt(sealed, b"") == b"data key"


@pytest.mark.parametrize(
    "conf",
    [KEY, {**KEY, "role.arn": "arn:aws:iam::1:role/r", "role.external.id": "xyz"}],
    ids=["key", "role"],
)
@pytest.mark.integration
def test_keys_of_aws_are_asked_as_the_original_asks(aws: list[tuple[str, Any]], conf: dict[str, str]) -> None:
    url = f"aws-kms://{ARN}"
    theirs = OriginalAwsDriver().new_kms_client(conf, url).get_aead(url)
    own = AwsKmsDriver().new_kms_client(conf, url)
    assert own.does_support(url)
    both_ways(own.get_aead(url), theirs)
    operations = [
        (operation.split(" ")[0].split("/")[-1], body, operation)
        for operation, body in aws
        if "Trent" in operation
    ]
    user = "ROLEKEY" if "role.arn" in conf else "OWNKEY"
    assert all(f"{user}/" in operation and "/eu-central-1/kms/" in operation for *_, operation in operations)
    roles = [body for operation, body in aws if "Trent" not in operation]
    if "role.arn" in conf:
        # The original's session, and ours.
        assert len(roles) == 2
        assert roles[0] == roles[1]
        assert roles[0]["RoleSessionName"] == ["confluent-encrypt"]
        assert roles[0]["ExternalId"] == ["xyz"]


@pytest.mark.integration
def test_a_key_that_aws_does_not_have_is_said(aws: list[tuple[str, Any]]) -> None:
    url = f"aws-kms://{ARN}5"
    with pytest.raises(Exception, match=r"NotFoundException.*no such key"):
        AwsKmsDriver().new_kms_client(KEY, url).get_aead(url).encrypt(b"x", b"")
    with pytest.raises(RuleError, match="'nonsense' is no ARN of a key"):
        AwsKmsDriver().new_kms_client(KEY, "aws-kms://nonsense")


@pytest.mark.integration
def test_aws_has_associated_data_as_its_context(aws: list[tuple[str, Any]]) -> None:
    url = f"aws-kms://{ARN}"
    AwsKmsDriver().new_kms_client(KEY, url).get_aead(url).encrypt(b"x", b"\x01")
    assert aws[-1][1]["EncryptionContext"] == {"associatedData": "01"}


# HashiCorp Vault


@pytest.fixture
def vault(serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    asked: list[tuple[str, str | None, str | None, Any]] = []

    def answer(method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        given = json.loads(body)
        asked.append((path, headers["X-Vault-Token"], headers["X-Vault-Namespace"], given))
        if path.endswith("/login"):
            return 200, {}, json.dumps({"auth": {"client_token": f"of {given['role_id']}"}}).encode()
        if not path.endswith("/my-key"):
            return 404, {}, b'{"errors": ["no such key"]}'
        if "/encrypt/" in path:
            found = {"ciphertext": f"vault:v1:{given['plaintext']}"}
        else:
            found = {"plaintext": given["ciphertext"].removeprefix("vault:v1:")}
        return 200, {"Content-Type": "application/json"}, json.dumps({"data": found}).encode()

    for name in list(os.environ):
        if name.startswith("VAULT_"):
            monkeypatch.delenv(name)
    return SimpleNamespace(url=f"hcvault://http://{serve(answer)}", asked=asked)


@pytest.mark.parametrize(
    ("conf", "environment", "token", "namespace"),
    [
        ({"token.id": "t", "namespace": "n"}, {}, "t", "n"),
        ({}, {"VAULT_TOKEN": "e", "VAULT_NAMESPACE": "m"}, "e", "m"),
        ({"approle.role.id": "r", "approle.secret.id": "s"}, {}, "of r", None),
        ({}, {"VAULT_APPROLE_ROLE_ID": "q", "VAULT_APPROLE_SECRET_ID": "s"}, "of q", None),
    ],
)
@pytest.mark.integration
def test_keys_of_vault_are_asked_as_the_original_asks(
    vault: Any,
    monkeypatch: pytest.MonkeyPatch,
    conf: dict[str, str],
    environment: dict[str, str],
    token: str,
    namespace: str | None,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    url = f"{vault.url}/some/transit/keys/my-key"
    own = HcVaultKmsDriver().new_kms_client(conf, url)
    assert own.does_support(url)
    theirs = OriginalVaultDriver().new_kms_client(conf, url)
    vault.asked.clear()
    for client in (theirs, own):
        aead = client.get_aead(url)
        assert aead.decrypt(aead.encrypt(b"data key", b""), b"") == b"data key"
    assert vault.asked[:2] == vault.asked[2:]
    assert vault.asked[0][:3] == ("/v1/some/transit/encrypt/my-key", token, namespace)
    both_ways(own.get_aead(url), theirs.get_aead(url))


@pytest.mark.integration
def test_what_vault_refuses_is_said(vault: Any) -> None:
    conf = {"token.id": "t"}
    url = f"{vault.url}/transit/keys/other"
    with pytest.raises(Exception, match="no such key"):
        HcVaultKmsDriver().new_kms_client(conf, url).get_aead(url).encrypt(b"x", b"")
    url = f"{vault.url}/transit/other"
    with pytest.raises(RuleError, match="invalid key path '/transit/other'"):
        HcVaultKmsDriver().new_kms_client(conf, url).get_aead(url)
    with pytest.raises(RuleError, match=r"ssl\.certificate\.location required when configuring"):
        HcVaultKmsDriver().new_kms_client({"ssl.key.location": "x"}, url)


@pytest.mark.integration
def test_vault_s_certificate_is_verified_whatever_the_environment_says(
    vault: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"{vault.url}/transit/keys/my-key"
    monkeypatch.setenv("VAULT_CACERT", "")
    monkeypatch.setenv("VAULT_SKIP_VERIFY", "true")
    client: Any = HcVaultKmsDriver().new_kms_client({"token.id": "t", "ssl.ca.location": ""}, url)
    assert client._client.adapter._kwargs["verify"] is True
    conf = {"ssl.ca.location": "ca.pem", "ssl.certificate.location": "c.pem", "ssl.key.location": "k.pem"}
    client = HcVaultKmsDriver().new_kms_client(conf, url)
    assert client._client.adapter._kwargs["verify"] == "ca.pem"
    assert client._client.adapter._kwargs["cert"] == ("c.pem", "k.pem")


@pytest.fixture
def executor() -> Iterator[Callable[..., EncryptionExecutor]]:
    """`executor(config)`: what encrypts for a serializer whose rules have the settings `config`."""
    made: list[EncryptionExecutor] = []

    def begin(config: dict[str, str]) -> EncryptionExecutor:
        made.append(EncryptionExecutor())
        made[-1].configure(None, config)
        return made[-1]

    yield begin
    for each in made:
        each.close()


def kek(kms_type: str, key_id: str, props: dict[str, str] | None = None) -> Kek:
    return Kek("k", kms_type, key_id, props or {}, None, False)


@pytest.mark.integration
def test_credentials_go_to_listed_hosts_alone_where_the_registry_names_the_address(
    vault: Any, monkeypatch: pytest.MonkeyPatch, executor: Callable[..., EncryptionExecutor]
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "secret")
    key_id = vault.url.removeprefix("hcvault://") + "/transit/keys/my-key"
    host = key_id.split("/")[2]
    closed = executor({"token.id": "own"})
    refusal = r"names the address 'http://127\.0\.0\.1:\d+/.*', whose host encrypt\.kms\.hosts of the rules'"
    for key in (
        kek("hcvault", key_id),
        kek("hcvault", key_id, {"token.id": "of the writer"}),
        kek("hcvault", key_id, {"encrypt.kms.hosts": host}),
        kek("local-kms", "x", {"encrypt.alternate.kms.key.ids": key_id}),
    ):
        with pytest.raises(RuleError, match=refusal):
            closed.wrapped(key, b"data key")
        with pytest.raises(RuleError, match=refusal):
            closed.unwrapped(key, base64.b64encode(b"vault:v1:x").decode())
    assert vault.asked == []
    opened = executor({"token.id": "own", "encrypt.kms.hosts": f"other:1, {host}"})
    sealed = opened.wrapped(kek("hcvault", key_id), b"data key")
    assert sealed == b"vault:v1:" + base64.b64encode(b"data key")
    assert [token for _, token, *_ in vault.asked] == ["own"]


@pytest.mark.integration
def test_an_address_that_the_program_itself_gives_needs_no_list(
    vault: Any, executor: Callable[..., EncryptionExecutor]
) -> None:
    key_id = vault.url.removeprefix("hcvault://") + "/transit/keys/my-key"
    own = executor({"token.id": "own", "encrypt.alternate.kms.key.ids": key_id})
    # The registry's is refused, and the program's stands in.
    assert own.wrapped(kek("hcvault", "http://other/transit/keys/k"), b"x").startswith(b"vault:v1:")
    assert [token for _, token, *_ in vault.asked] == ["own"]


@pytest.mark.parametrize(
    ("key", "address"),
    [
        (("azure-kms", "https://elsewhere/keys/k"), "https://elsewhere/keys/k"),
        (
            (
                "gcp-kms",
                "projects/p/locations/l/keyRings/r/cryptoKeys/k",
                {"token.uri": "https://elsewhere/t"},
            ),
            "https://elsewhere/t",
        ),
        (("own-kms", "http://elsewhere/k"), "http://elsewhere/k"),
    ],
)
def test_each_system_is_asked_at_listed_hosts_alone(
    executor: Callable[..., EncryptionExecutor], key: tuple[Any, ...], address: str
) -> None:
    with pytest.raises(RuleError, match=f"names the address '{address}', whose host"):
        executor({"encrypt.kms.hosts": "vault"}).wrapped(kek(*key), b"x")


def test_a_list_of_hosts_that_cannot_be_is_refused(executor: Callable[..., EncryptionExecutor]) -> None:
    with pytest.raises(RuleError, match=r"encrypt\.kms\.hosts .* 'http://a' is neither a host nor host:port"):
        executor({"encrypt.kms.hosts": "b, http://a"}).wrapped(kek("hcvault", "http://a/x/keys/k"), b"x")


# Google Cloud

GCP_NAME = "projects/p/locations/global/keyRings/r/cryptoKeys/k"


@pytest.fixture
def gcp() -> Iterator[Any]:
    """The library's client of a server in this process."""
    import grpc
    from google.cloud import kms_v1
    from google.cloud.kms_v1.services.key_management_service.transports import (
        KeyManagementServiceGrpcTransport,
    )
    from google.cloud.kms_v1.types import service

    def encrypt(request: Any, context: Any) -> Any:
        if not request.name.startswith(GCP_NAME):
            context.abort(grpc.StatusCode.NOT_FOUND, "no such key")
        return service.EncryptResponse(ciphertext=SEAL + request.plaintext)

    def decrypt(request: Any, context: Any) -> Any:
        return service.DecryptResponse(plaintext=request.ciphertext.removeprefix(SEAL))

    methods = {
        name: grpc.unary_unary_rpc_method_handler(
            call,
            request_deserializer=getattr(service, f"{name}Request").deserialize,
            response_serializer=getattr(service, f"{name}Response").serialize,
        )
        for name, call in (("Encrypt", encrypt), ("Decrypt", decrypt))
    }
    server = grpc.server(futures.ThreadPoolExecutor(2))
    handler = grpc.method_handlers_generic_handler("google.cloud.kms.v1.KeyManagementService", methods)
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    yield kms_v1.KeyManagementServiceClient(transport=KeyManagementServiceGrpcTransport(channel=channel))
    channel.close()
    server.stop(None).wait()


def test_keys_of_google_are_asked_as_the_original_asks(gcp: Any) -> None:
    url = f"gcp-kms://{GCP_NAME}"
    own = GcpKmsClient(url, gcp)
    assert own.does_support(url)
    both_ways(own.get_aead(url), OriginalGcpAead(gcp, GCP_NAME))


def test_what_google_refuses_is_said(gcp: Any) -> None:
    other = "gcp-kms://projects/other/locations/global/keyRings/r/cryptoKeys/k"
    with pytest.raises(Exception, match="no such key"):
        GcpKmsClient(other, gcp).get_aead(other).encrypt(b"x", b"")
    with pytest.raises(RuleError, match="invalid key name 'nonsense'"):
        GcpKmsClient("gcp-kms://nonsense", gcp).get_aead("gcp-kms://nonsense")
    version = f"gcp-kms://{GCP_NAME}/cryptoKeyVersions/1"
    aead = GcpKmsClient(version, gcp).get_aead(version)
    sealed = aead.encrypt(b"x", b"")
    with pytest.raises(RuleError, match="one version of a key only encrypts"):
        aead.decrypt(sealed, b"")


def test_a_service_account_s_key_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    conf = {
        "client.id": "i",
        "client.email": "me@example.com",
        "private.key.id": "k",
        "private.key": pem.decode(),
    }
    client: Any = GcpKmsDriver().new_kms_client(conf, f"gcp-kms://{GCP_NAME}")
    credentials = client._client.transport._credentials
    assert credentials.service_account_email == "me@example.com"
    client._client.transport.close()
    with pytest.raises(RuleError, match=r"account\.type must be 'service_account'"):
        GcpKmsDriver().new_kms_client({"account.type": "user"}, f"gcp-kms://{GCP_NAME}")


# Azure

VERSION = "0123456789abcdef0123456789abcdef"


class Token:
    """A credential as the library takes them."""

    def get_token(self, *scopes: str, **options: Any) -> Any:
        from azure.core.credentials import AccessToken

        return AccessToken("a token", int(datetime.datetime.now().timestamp()) + 3600)


def certificate(folder: Path, host: str) -> tuple[Path, ssl.SSLContext]:
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, both = folder / "ca.pem", folder / "both.pem"
    authority.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    both.write_bytes(
        authority.read_bytes()
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return authority, context


@pytest.fixture
def azure(serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """A key vault whose address is one of a domain, by which the library knows whom to give its token."""
    key = rsa.generate_private_key(65537, 2048)
    asked: list[str] = []
    place = SimpleNamespace(url="", asked=asked)
    pad = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)

    def number(value: int) -> str:
        data = value.to_bytes((value.bit_length() + 7) // 8)
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def answer(method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if headers["Authorization"] is None:
            resource = place.url.replace("https://vault.", "https://")
            challenge = f'Bearer authorization="https://login.example/tenant", resource="{resource}"'
            return 401, {"WWW-Authenticate": challenge}, b""
        steps = path.partition("?")[0].split("/")
        asked.append("/".join([method, *steps[2:]]))
        if method == "GET":
            numbers = key.public_key().public_numbers()
            jwk = {
                "kid": f"{place.url}/keys/{steps[2]}/{VERSION}",
                "kty": "RSA",
                "key_ops": ["encrypt", "decrypt"],
                "n": number(numbers.n),
                "e": number(numbers.e),
            }
            found: Any = {"key": jwk, "attributes": {"enabled": True}}
        else:
            given = json.loads(body)
            value = base64.urlsafe_b64decode(given["value"] + "===")
            done = key.decrypt(value, pad) if steps[-1] == "decrypt" else key.public_key().encrypt(value, pad)
            found = {"kid": f"{place.url}/keys/{steps[2]}/{VERSION}", "value": number_of(done)}
        return 200, {"Content-Type": "application/json"}, json.dumps(found).encode()

    def number_of(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    authority, context = certificate(tmp_path, "vault.azure.test")
    port = serve(answer, context).rpartition(":")[2]
    place.url = f"https://vault.azure.test:{port}"
    real = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **words: Any) -> Any:
        return real("127.0.0.1" if host == "vault.azure.test" else host, *arguments, **words)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority))
    return place


@pytest.mark.parametrize("saves", ["true", "false"])
@pytest.mark.parametrize("version", ["", f"/{VERSION}"])
@pytest.mark.integration
def test_keys_of_azure_are_used_as_the_original_uses_them(azure: Any, saves: str, version: str) -> None:
    url = f"azure-kms://{azure.url}/keys/k{version}"
    conf = {KEY_VERSION_SAVE: saves}
    own = AzureKmsClient(url, Token(), conf)
    assert own.does_support(url)
    theirs = OriginalAzureClient(url, Token(), conf)  # type: ignore[arg-type]
    if saves == "true" and not version:
        # The original asks for the current version with credentials of its own.
        sealed = own.get_aead(url).encrypt(b"data key", b"")
        assert theirs.get_aead(url).decrypt(sealed, b"") == b"data key"
    else:
        both_ways(own.get_aead(url), theirs.get_aead(url))
        sealed = own.get_aead(url).encrypt(b"data key", b"")
    assert sealed.startswith(f"azure:v1:{VERSION}:".encode()) == (saves == "true")
    # Also where the version is not saved any more.
    assert AzureKmsClient(url, Token(), {}).get_aead(url).decrypt(sealed, b"") == b"data key"


@pytest.mark.integration
def test_a_version_that_would_lead_elsewhere_is_refused(azure: Any) -> None:
    url = f"azure-kms://{azure.url}/keys/k/{VERSION}"
    aead = AzureKmsClient(url, Token(), {}).get_aead(url)
    with pytest.raises(RuleError, match="ciphertext carries an invalid azure:v1: key version"):
        aead.decrypt(b"azure:v1:" + b"../" * 10 + b"xx:rest", b"")
    assert azure.asked == []


@pytest.mark.parametrize(
    "key", ["", "https://v/secrets/x", "https://v/keys", "https://v/keys/a/b/c", "v/keys/a"]
)
def test_what_is_no_key_of_azure_is_refused(key: str) -> None:
    with pytest.raises(RuleError, match="invalid Azure Key Vault key id"):
        AzureKmsClient(f"azure-kms://{key}", Token(), {}).get_aead(f"azure-kms://{key}")


def test_a_key_without_a_version_that_is_not_saved_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    AzureKmsClient("azure-kms://https://v/keys/a", Token(), {}).get_aead("azure-kms://https://v/keys/a")
    assert "is versionless and encrypt.azure.key.version.save is not enabled" in caplog.text


# All


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("local-kms://x", LocalKmsDriver),
        ("aws-kms://x", AwsKmsDriver),
        ("azure-kms://x", AzureKmsDriver),
        ("gcp-kms://x", GcpKmsDriver),
        ("hcvault://x", HcVaultKmsDriver),
    ],
)
def test_a_driver_is_found_by_the_key_and_one_s_own_comes_first(
    url: str, driver: type[kms.KmsDriver]
) -> None:
    kms.reset_kms_drivers()
    assert type(kms.registered_or_own_driver(url)) is driver
    assert driver().get_key_url_prefix() == url.removesuffix("x")

    class Own(LocalKmsDriver):
        def get_key_url_prefix(self) -> str:
            return url

    kms.register_kms_driver(Own())
    try:
        assert type(kms.registered_or_own_driver(url)) is Own
        assert type(kms.get_kms_driver(url)) is Own
    finally:
        kms.reset_kms_drivers()
    with pytest.raises(RuleError, match="no KMS driver found for key URL: other"):
        kms.registered_or_own_driver("other://x")


def test_a_local_key_needs_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_SECRET", raising=False)
    with pytest.raises(RuleError, match="cannot load secret"):
        LocalKmsDriver().new_kms_client({}, "local-kms://x")
    monkeypatch.setenv("LOCAL_SECRET", "s")
    client = LocalKmsDriver().new_kms_client({}, "local-kms://x")
    assert client.does_support("local-kms://y")
    aead = client.get_aead("local-kms://x")
    assert aead.decrypt(aead.encrypt(b"x", b""), b"") == b"x"


@pytest.mark.parametrize(
    ("missing", "extra", "code"),
    [
        ("boto3", "registry-encryption-aws", "AwsKmsDriver().new_kms_client({}, 'aws-kms://a:b:c:d:e:f')"),
        (
            "hvac",
            "registry-encryption-vault",
            "HcVaultKmsDriver().new_kms_client({}, 'hcvault://http://x/a/keys/b')",
        ),
        (
            "azure.identity",
            "registry-encryption-azure",
            "AzureKmsDriver().new_kms_client({}, 'azure-kms://x')",
        ),
        (
            "google.cloud.kms_v1",
            "registry-encryption-gcp",
            "GcpKmsDriver().new_kms_client({}, 'gcp-kms://x')",
        ),
        (
            "cryptography",
            "registry-encryption",
            "LocalKmsDriver().new_kms_client({'secret': 's'}, 'local-kms://x')",
        ),
        (
            "celpy",
            "registry-rules",
            "CelExecutor().execute(SimpleNamespace(rule=Rule('r', expr='1')), 1, {})",
        ),
        (
            "jsonata",
            "registry-rules",
            "JsonataExecutor().transform(SimpleNamespace(rule=Rule('r', expr='1')), 1)",
        ),
    ],
)
@pytest.mark.integration
def test_what_is_not_installed_is_named(missing: str, extra: str, code: str) -> None:
    program = f"""
import sys
from types import SimpleNamespace
sys.modules[{missing!r}] = None
from barnabas.errors import MissingExtraError
from barnabas.registry import Rule
from barnabas.registry.rules.cel import CelExecutor
from barnabas.registry.rules.jsonata import JsonataExecutor
from barnabas.registry.rules.encryption.kms_aws import AwsKmsDriver
from barnabas.registry.rules.encryption.kms_azure import AzureKmsDriver
from barnabas.registry.rules.encryption.kms_gcp import GcpKmsDriver
from barnabas.registry.rules.encryption.kms_local import LocalKmsDriver
from barnabas.registry.rules.encryption.kms_vault import HcVaultKmsDriver
try:
    {code}
except MissingExtraError as error:
    print(error.extra)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == extra, done.stderr
