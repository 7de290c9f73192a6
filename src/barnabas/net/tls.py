"""TLS: the context that a client's settings describe, and what a failed handshake means.

Owns reading certificates and keys. Knows nothing of Kafka's protocol.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Generator
from pathlib import Path

from barnabas.errors import (
    AuthenticationError,
    CertificateExpiredError,
    CertificateNotTrustedError,
    ClientCertificateError,
    HostNameError,
    InvalidSettingError,
    SecurityProtocolError,
    TlsError,
)
from barnabas.net.keystores import key_and_certificates, trusted_certificates
from barnabas.settings.table import CommonConfig, StoreType

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
TLS_1_3_SUITES = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}

# How stores of Java's own kinds begin.
JAVA_STORES = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
PEM_START = b"----"
# A PKCS 12 file is one long ASN.1 sequence.
PKCS12_MAGIC = b"\x30\x82"

# X509_V_ERR_... of OpenSSL's x509_vfy.h.
EXPIRED = {9: "is not valid yet", 10: "has expired"}
WRONG_NAME = {62, 64}

# Alerts with which a server complains about the client's certificate, or its absence.
CLIENT_CERTIFICATE_ALERTS = {
    "SSLV3_ALERT_BAD_CERTIFICATE": "is not a good one",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "is of a kind that it does not take",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "is revoked",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "is not accepted: it has expired, or the broker does not trust it",
    "TLSV1_ALERT_UNKNOWN_CA": "comes from an authority that it does not trust",
    "TLSV1_ALERT_ACCESS_DENIED": "is not allowed in",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "is missing",
}
NOT_TLS_REASONS = {
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNEXPECTED_MESSAGE",
    "BAD_RECORD_TYPE",
}
NO_COMMON_VERSION_REASONS = {
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "NO_PROTOCOLS_AVAILABLE",
}


class Tls:
    """How one client speaks TLS. `has_certificate`: whether it has one of its own to show.

    Raises: InvalidSettingError, which names the setting.
    """

    def __init__(self, config: CommonConfig) -> None:
        self.has_certificate = False
        self.checks_host_name = False
        if config.ssl_context is not None:
            self.context = config.ssl_context
            self.checks_host_name = config.ssl_context.check_hostname
            # A context does not tell whether it has one.
            self.has_certificate = True
            return
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.checks_host_name = config.ssl_endpoint_identification_algorithm == "https"
        self.context.check_hostname = self.checks_host_name
        set_versions(self.context, config)
        load_trusted(self.context, config)
        self.has_certificate = load_own_certificate(self.context, config)

    def without_name_check(self) -> ssl.SSLContext:
        """A context that trusts the same authorities but takes any host name, to ask for a certificate's
        names. Nothing is ever sent through it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        for certificate in self.context.get_ca_certs(binary_form=True):
            context.load_verify_locations(cadata=certificate)
        return context

    def error(self, error: ssl.SSLError, name: str) -> AuthenticationError:
        """What a failed handshake means, for the one who has to mend it. `name` is the broker's."""
        reason = error.reason or str(error)
        if isinstance(error, ssl.SSLCertVerificationError):
            return _verification_error(error, name)
        if reason in CLIENT_CERTIFICATE_ALERTS:
            return self._client_certificate_error(reason, name)
        if reason in NOT_TLS_REASONS:
            return not_tls_error(name)
        if reason in NO_COMMON_VERSION_REASONS:
            return TlsError(f"{name}: no version of TLS is spoken by both sides: check ssl_enabled_protocols")
        if reason == "SSLV3_ALERT_HANDSHAKE_FAILURE":
            return TlsError(
                f"{name} broke the TLS handshake off: both sides share no cipher suite (check "
                "ssl_cipher_suites), or it wants a client certificate (check ssl_keystore_location)"
            )
        return TlsError(f"{name}: the TLS handshake failed: {reason}")

    def _client_certificate_error(self, reason: str, name: str) -> ClientCertificateError:
        if self.has_certificate and reason != "TLSV13_ALERT_CERTIFICATE_REQUIRED":
            return ClientCertificateError(
                f"{name} refuses this client: its certificate {CLIENT_CERTIFICATE_ALERTS[reason]}; check "
                "ssl_keystore_location"
            )
        return ClientCertificateError(
            f"{name} wants a certificate of this client: give one with ssl_keystore_location"
        )


def endpoint_context(config: CommonConfig) -> ssl.SSLContext:
    """For HTTPS to an endpoint that issues tokens. Raises: InvalidSettingError."""
    try:
        return ssl.create_default_context(cafile=config.https_ca_location)
    except OSError as error:
        raise InvalidSettingError(
            f"https_ca_location {config.https_ca_location!r}: no certificates can be read there "
            f"({_words(error)})"
        ) from None


def not_tls_error(name: str) -> SecurityProtocolError:
    return SecurityProtocolError(
        f"{name} does not speak TLS on this port: set security_protocol to PLAINTEXT or SASL_PLAINTEXT, or "
        "use the broker's TLS port"
    )


def host_name_error(host: str, name: str, names: tuple[str, ...]) -> HostNameError:
    listing = f" It is for {', '.join(names)}." if names else ""
    return HostNameError(
        f"{name}: the broker's TLS certificate is not for {host!r}.{listing} Connect by a name that it has, "
        "or get it one that has this name; ssl_endpoint_identification_algorithm='' does not check names",
        names,
    )


def names_in(certificate: dict[str, object]) -> tuple[str, ...]:
    """The host names and addresses of what `getpeercert` gives."""
    alternatives = certificate.get("subjectAltName", ())
    assert isinstance(alternatives, tuple)
    pairs: list[tuple[str, str]] = list(alternatives)  # pyright: ignore[reportUnknownArgumentType]
    if pairs:
        return tuple(value for _, value in pairs)
    subject = certificate.get("subject", ())
    assert isinstance(subject, tuple)
    parts: list[tuple[tuple[str, str], ...]] = list(subject)  # pyright: ignore[reportUnknownArgumentType]
    return tuple(value for part in parts for key, value in part if key == "commonName")


def _verification_error(error: ssl.SSLCertVerificationError, name: str) -> AuthenticationError:
    if error.verify_code in WRONG_NAME:
        return HostNameError(f"{name}: the broker's TLS certificate is for another host name")
    if error.verify_code in EXPIRED:
        return CertificateExpiredError(
            f"{name}: the broker's TLS certificate {EXPIRED[error.verify_code]}, or one of its authorities': "
            "renew it on the broker, and check the clocks of both machines"
        )
    return CertificateNotTrustedError(
        f"{name}: the broker's TLS certificate is not trusted ({error.verify_message}): name the authority "
        "that signed it with ssl_truststore_location"
    )


def set_versions(context: ssl.SSLContext, config: CommonConfig) -> None:
    """Allows the versions and cipher suites of the settings alone. Raises: InvalidSettingError."""
    wanted = [version for version in config.ssl_enabled_protocols if version <= config.ssl_protocol]
    if not wanted:
        raise InvalidSettingError(
            f"ssl_enabled_protocols has no version up to ssl_protocol={config.ssl_protocol!r}"
        )
    suites = config.ssl_cipher_suites
    older = [_openssl_name(suite) for suite in suites if suite not in TLS_1_3_SUITES]
    if suites:
        newer = TLS_1_3_SUITES & set(suites)
        if newer and newer != TLS_1_3_SUITES and "TLSv1.3" in wanted:
            raise InvalidSettingError(
                "ssl_cipher_suites names some suites of TLS 1.3, among which Python cannot choose: name all "
                f"of them ({', '.join(sorted(TLS_1_3_SUITES))}) or none"
            )
        wanted = [version for version in wanted if (newer if version == "TLSv1.3" else older)]
    if not wanted:
        raise InvalidSettingError("ssl_cipher_suites has no suite for the versions in ssl_enabled_protocols")
    context.minimum_version = VERSIONS[min(wanted)]
    context.maximum_version = VERSIONS[max(wanted)]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise InvalidSettingError(f"ssl_cipher_suites: none of {', '.join(older)} is known") from None


def _openssl_name(suite: str) -> str:
    """OpenSSL's name of a suite for TLS 1.2 that goes by its standard one, as in Java."""
    if not suite.startswith("TLS_"):
        return suite
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher]).replace("_", "-")


def load_trusted(context: ssl.SSLContext, config: CommonConfig) -> None:
    """Trusts the authorities that the settings name, else the system's. Raises: InvalidSettingError."""
    location, text = config.ssl_truststore_location, config.ssl_truststore_certificates
    if location is not None and text is not None:
        raise InvalidSettingError(
            "ssl_truststore_location and ssl_truststore_certificates exclude each other"
        )
    if location is not None and _is_pkcs12("ssl_truststore_location", location, config.ssl_truststore_type):
        text = trusted_certificates("ssl_truststore_location", location, config.ssl_truststore_password)
    try:
        if text is not None:
            context.load_verify_locations(cadata=text)
        elif location is None:
            context.load_default_certs()
        elif Path(location).is_dir():
            context.load_verify_locations(capath=location)
        else:
            context.load_verify_locations(cafile=location)
    except (ssl.SSLError, ValueError, TypeError) as error:
        name = "ssl_truststore_certificates" if location is None else f"ssl_truststore_location {location!r}"
        raise InvalidSettingError(f"{name}: no certificates can be read there ({_words(error)})") from None


def load_own_certificate(context: ssl.SSLContext, config: CommonConfig) -> bool:
    """Loads the certificate to be shown; whether there is one. Raises: InvalidSettingError."""
    with contextlib.ExitStack() as files:
        certificates, key, setting = _certificate_files(config, files)
        if certificates is None:
            return False
        for path in {certificates, key or certificates}:
            _first_bytes(setting, path)

        is_encrypted = False

        def password() -> str:
            # Without this OpenSSL would ask at the terminal.
            nonlocal is_encrypted
            is_encrypted = True
            if config.ssl_key_password is None:
                raise InvalidSettingError(f"{setting}: the key is encrypted: give ssl_key_password")
            return config.ssl_key_password.reveal()

        try:
            context.load_cert_chain(certificates, key, password)
        except ssl.SSLError as error:
            raise InvalidSettingError(f"{setting}: {_key_problem(error, is_encrypted)}") from None
    return True


def _certificate_files(
    config: CommonConfig, files: contextlib.ExitStack
) -> tuple[str | None, str | None, str]:
    """The files of the chain and of the key (None: the same), and the setting to blame."""
    chain, key = config.ssl_keystore_certificate_chain, config.ssl_keystore_key
    ways = {
        "ssl_keystore_location": config.ssl_keystore_location is not None,
        "ssl_certificate_location": config.ssl_certificate_location is not None
        or config.ssl_key_location is not None,
        "ssl_keystore_certificate_chain": chain is not None or key is not None,
    }
    given = [name for name, is_given in ways.items() if is_given]
    if not given:
        return None, None, ""
    if len(given) > 1:
        raise InvalidSettingError(f"{' and '.join(given)} exclude each other")
    (setting,) = given
    if setting == "ssl_keystore_location":
        location = config.ssl_keystore_location
        if location is not None and _is_pkcs12(setting, location, config.ssl_keystore_type):
            key_text, chain = key_and_certificates(setting, location, config.ssl_keystore_password)
            return files.enter_context(_as_file(chain)), files.enter_context(_as_file(key_text)), setting
        return location, None, setting
    if setting == "ssl_certificate_location":
        if config.ssl_certificate_location is None:
            raise InvalidSettingError("ssl_key_location needs ssl_certificate_location")
        return config.ssl_certificate_location, config.ssl_key_location, setting
    if chain is None or key is None:
        raise InvalidSettingError("ssl_keystore_certificate_chain and ssl_keystore_key need each other")
    return files.enter_context(_as_file(chain)), files.enter_context(_as_file(key.reveal())), setting


@contextlib.contextmanager
def _as_file(text: str) -> Generator[str]:
    """The path of a file with this text, which only this process can read. OpenSSL takes nothing else."""
    if hasattr(os, "memfd_create"):
        # It never reaches a disk.
        with open(os.memfd_create("barnabas"), "w") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pem"
        path.touch(mode=0o600)
        path.write_text(text)
        yield str(path)


def _is_pkcs12(setting: str, location: str, kind: StoreType) -> bool:
    """As in Java, one of type JKS may be a PKCS#12 store. Raises: InvalidSettingError where it cannot be
    read, or is a store that is not read."""
    if Path(location).is_dir():
        return False
    start = _first_bytes(setting, location)
    if kind == "PEM" or start[:2] == PKCS12_MAGIC:
        return start[:2] == PKCS12_MAGIC
    if start == PEM_START:
        name = setting.replace("location", "type")
        raise InvalidSettingError(f"{name} is {kind}, but {location!r} is a PEM file: leave {name} out")
    if kind == "JKS":
        raise InvalidSettingError(f"{setting}: {location!r} is not a key store of Java")
    return True


def _first_bytes(setting: str, location: str) -> bytes:
    try:
        with open(location, "rb") as file:
            start = file.read(4)
    except OSError as error:
        raise InvalidSettingError(f"{setting}: {location!r} cannot be read: {_words(error)}") from None
    kind = JAVA_STORES.get(start)
    if kind is not None:
        raise InvalidSettingError(
            f"{setting}: {location!r} is a {kind} store, which only Java reads: convert it with keytool "
            f"-importkeystore -srckeystore {location} -srcstoretype {kind} -destkeystore {location}.p12 "
            f"-deststoretype PKCS12, and give {location}.p12 and its password"
        )
    return start


def _key_problem(error: ssl.SSLError, is_encrypted: bool) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the private key does not belong to the certificate"
    if is_encrypted:
        return "ssl_key_password does not open the key"
    return f"no certificate and key can be read there ({_words(error)})"


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno:
        return os.strerror(error.errno)
    return str(error)
