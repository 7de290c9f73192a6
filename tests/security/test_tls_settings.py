"""Settings for TLS that cannot work: which one it is, and what to do."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from barnabas.errors import InvalidSettingError
from barnabas.net.tls import Tls
from barnabas.settings.table import AdminConfig, load
from barnabas.testing import Certificates


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.in_folder(tmp_path_factory.mktemp("certificates"))


def tls(**settings: Any) -> Tls:
    given = {"bootstrap_servers": "host:9093", "security_protocol": "SSL", **settings}
    return Tls(load(AdminConfig, given))


def test_names_are_checked_and_old_versions_refused_unless_settings_say_otherwise() -> None:
    context = tls().context
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.maximum_version == ssl.TLSVersion.TLSv1_3
    assert context.get_ca_certs()
    lenient = tls(ssl_endpoint_identification_algorithm="").context
    assert not lenient.check_hostname
    assert lenient.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("settings", "versions"),
    [
        ({"ssl_protocol": "TLSv1.2"}, ("TLSv1_2", "TLSv1_2")),
        ({"ssl_enabled_protocols": "TLSv1.3"}, ("TLSv1_3", "TLSv1_3")),
        ({"ssl_enabled_protocols": "tlsv1.3,tlsv1.2"}, ("TLSv1_2", "TLSv1_3")),
        ({"ssl_cipher_suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}, ("TLSv1_2", "TLSv1_2")),
        (
            {
                "ssl_cipher_suites": "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,"
                "TLS_CHACHA20_POLY1305_SHA256"
            },
            ("TLSv1_3", "TLSv1_3"),
        ),
    ],
)
def test_versions_follow_from_what_may_be_offered(
    settings: dict[str, Any], versions: tuple[str, str]
) -> None:
    context = tls(**settings).context
    assert (context.minimum_version.name, context.maximum_version.name) == versions


@pytest.mark.parametrize(
    ("standard", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("DHE-RSA-AES256-GCM-SHA384", "DHE-RSA-AES256-GCM-SHA384"),
    ],
)
def test_suites_go_by_either_name(standard: str, openssl: str) -> None:
    offered = [suite["name"] for suite in tls(ssl_cipher_suites=standard).context.get_ciphers()]
    assert [name for name in offered if not name.startswith("TLS_")] == [openssl]


def pkcs12(files: Certificates, folder: Path, *, has_key: bool = True) -> str:
    """A store with the authority's certificate, and with a client's own and its key."""
    key: Any = load_pem_private_key(files.client_key.read_bytes(), None) if has_key else None
    certificate = x509.load_pem_x509_certificate(files.client.read_bytes()) if has_key else None
    authority = x509.load_pem_x509_certificate(files.ca.read_bytes())
    encryption = BestAvailableEncryption(b"secret")
    content = serialize_key_and_certificates(b"carol", key, certificate, [authority], encryption)
    return write(folder, "store.p12", content)


def test_a_pkcs12_store_holds_what_to_trust(files: Certificates, tmp_path: Path) -> None:
    settings = {
        "ssl_truststore_location": pkcs12(files, tmp_path, has_key=False),
        "ssl_truststore_password": "secret",
    }
    trusted = tls(**settings).context.get_ca_certs()
    assert trusted == tls(ssl_truststore_location=str(files.ca)).context.get_ca_certs()


def test_a_store_of_type_jks_may_be_a_pkcs12_store_as_in_java(files: Certificates, tmp_path: Path) -> None:
    settings = {
        "ssl_truststore_type": "JKS",
        "ssl_truststore_location": pkcs12(files, tmp_path, has_key=False),
        "ssl_truststore_password": "secret",
    }
    trusted = tls(**settings).context.get_ca_certs()
    assert trusted == tls(ssl_truststore_location=str(files.ca)).context.get_ca_certs()


def test_a_type_of_store_without_a_store_trusts_the_system_as_in_java() -> None:
    assert tls(ssl_truststore_type="JKS", ssl_keystore_type="JKS").context.verify_mode.name == "CERT_REQUIRED"


def write(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            lambda f, _: {"ssl_truststore_location": "/nowhere.pem"},
            "/nowhere.pem' cannot be read",
        ),
        (
            lambda f, d: {"ssl_truststore_location": write(d, "t.jks", b"\xfe\xed\xfe\xed....")},
            r"is a JKS store, which only Java reads: convert it with keytool .* -deststoretype PKCS12",
        ),
        (
            lambda f, d: {"ssl_keystore_location": write(d, "k.p12", b"\x30\x82....")},
            r"ssl_keystore_location: .*is a PKCS12 store: give ssl_keystore_password",
        ),
        (
            lambda f, d: {"ssl_keystore_location": pkcs12(f, d), "ssl_keystore_password": "wrong"},
            r"ssl_keystore_location: .*: ssl_keystore_password does not open it, or it is damaged",
        ),
        (
            lambda f, d: {
                "ssl_keystore_location": pkcs12(f, d, has_key=False),
                "ssl_keystore_password": "secret",
            },
            r"ssl_keystore_location: .* holds no private key with a certificate",
        ),
        (
            lambda f, d: {
                "ssl_truststore_location": write(d, "t.p12", b"text"),
                "ssl_truststore_type": "PKCS12",
            },
            r"ssl_truststore_location: .*is a PKCS12 store: give ssl_truststore_password",
        ),
        (
            lambda f, d: {"ssl_keystore_location": write(d, "k.jceks", b"\xce\xce\xce\xce....")},
            r"is a JCEKS store, which .* -srcstoretype JCEKS -destkeystore .*\.p12 and its password",
        ),
        (
            lambda f, d: {"ssl_truststore_location": str(f.ca), "ssl_truststore_type": "JKS"},
            r"ssl_truststore_type is JKS, but '.*ca\.pem' is a PEM file: leave ssl_truststore_type out",
        ),
        (
            lambda f, d: {"ssl_truststore_location": str(f.ca), "ssl_truststore_type": "PKCS12"},
            r"ssl_truststore_type is PKCS12, but '.*ca\.pem' is a PEM file: leave ssl_truststore_type out",
        ),
        (
            lambda f, d: {"ssl_keystore_location": write(d, "k.jks", b"text"), "ssl_keystore_type": "jks"},
            r"ssl_keystore_location: '.*k\.jks' is not a key store of Java",
        ),
        (
            lambda f, d: {"ssl_truststore_location": "/nowhere.jks", "ssl_truststore_type": "JKS"},
            r"ssl_truststore_location: '/nowhere\.jks' cannot be read",
        ),
        (
            lambda f, d: {"ssl_truststore_location": write(d, "empty.pem", b"")},
            "no certificates can be read there",
        ),
        (lambda f, _: {"ssl_ca_pem": "nothing"}, "ssl_truststore_certificates: no certificates can be read"),
        (
            lambda f, _: {"ssl_ca_pem": "x", "ssl_ca_location": "y"},
            "ssl_truststore_location and ssl_truststore_certificates exclude each other",
        ),
        (
            lambda f, _: {"ssl_certificate_location": str(f.client), "ssl_key_location": str(f.stranger_key)},
            "the private key does not belong to the certificate",
        ),
        (
            lambda f, _: {
                "ssl_certificate_location": str(f.client),
                "ssl_key_location": str(f.client_key_encrypted),
            },
            "the key is encrypted: give ssl_key_password",
        ),
        (
            lambda f, _: {
                "ssl_certificate_location": str(f.client),
                "ssl_key_location": str(f.client_key_encrypted),
                "ssl_key_password": "wrong",
            },
            "ssl_key_password does not open the key",
        ),
        (lambda f, _: {"ssl_keystore_location": str(f.client)}, "no certificate and key can be read there"),
        (lambda f, _: {"ssl_key_location": str(f.client_key)}, "needs ssl_certificate_location"),
        (
            lambda f, _: {"ssl_key_pem": "key"},
            "ssl_keystore_certificate_chain and ssl_keystore_key need",
        ),
        (
            lambda f, _: {"ssl_keystore_location": str(f.client), "ssl_key_pem": "key"},
            "ssl_keystore_location and ssl_keystore_certificate_chain exclude each other",
        ),
        (
            lambda f, _: {"ssl_protocol": "TLSv1.2", "ssl_enabled_protocols": "TLSv1.3"},
            "ssl_enabled_protocols has no version up to ssl_protocol='TLSv1.2'",
        ),
        (lambda f, _: {"ssl_cipher_suites": "MADE-UP"}, "ssl_cipher_suites: none of MADE-UP is known"),
        (
            lambda f, _: {"ssl_cipher_suites": "TLS_AES_128_GCM_SHA256"},
            "some suites of TLS 1.3, among which Python cannot choose",
        ),
        (
            lambda f, _: {
                "ssl_cipher_suites": "TLS_RSA_WITH_AES_256_GCM_SHA384",
                "ssl_enabled_protocols": "TLSv1.3",
            },
            "ssl_cipher_suites has no suite for the versions",
        ),
        (lambda f, _: {"ssl_context": "context"}, "ssl_context must be an ssl.SSLContext, not 'context'"),
    ],
)
def test_what_cannot_work_is_refused_by_name(
    files: Certificates, tmp_path: Path, settings: Callable[[Certificates, Path], dict[str, Any]], text: str
) -> None:
    with pytest.raises(InvalidSettingError, match=text):
        tls(**settings(files, tmp_path))


@pytest.mark.parametrize(
    ("name", "value", "protocols"),
    [
        ("sasl_username", "alice", "SASL_SSL or SASL_PLAINTEXT"),
        ("ssl_ca_location", "ca.pem", "SSL or SASL_SSL"),
    ],
)
def test_a_setting_without_a_security_protocol_is_refused_as_useless(
    name: str, value: str, protocols: str
) -> None:
    with pytest.raises(InvalidSettingError, match=f"needs security_protocol: set it to {protocols}"):
        load(AdminConfig, {"bootstrap_servers": "host:9092", name: value})
