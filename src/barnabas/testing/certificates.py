"""Certificates for tests of TLS: good ones, and ones that a client or a broker must refuse.

Owns the PEM files in one folder, made with the `cryptography` package when they are first needed.
"""

from __future__ import annotations

import datetime
import importlib.util
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from barnabas.testing.process import MissingProgramError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

KEY_PASSWORD = "key-secret"
_YEAR = datetime.timedelta(days=365)


class Certificates:
    """Paths of PEM files.

    `ca`: the authority that signed all but the stranger's. `broker`: key and chain of the broker, for
    127.0.0.1 and localhost; `broker_expired` and `broker_wrong_host` (other.example) beside it. `client`,
    `client_key`: of the user carol; `client_key_encrypted` is the same key, with the password
    `key_password`; `client_expired` is hers of last year, for the same key. `stranger`, `stranger_key`: of a
    client whose authority, `stranger_ca`, no broker trusts.
    """

    key_password = KEY_PASSWORD

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = folder / "ca.pem"
        self.broker = folder / "broker.pem"
        self.broker_expired = folder / "broker-expired.pem"
        self.broker_wrong_host = folder / "broker-wrong-host.pem"
        self.client = folder / "carol.pem"
        self.client_key = folder / "carol.key"
        self.client_key_encrypted = folder / "carol-encrypted.key"
        self.client_expired = folder / "carol-expired.pem"
        self.stranger_ca = folder / "stranger-ca.pem"
        self.stranger = folder / "stranger.pem"
        self.stranger_key = folder / "stranger.key"

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        """Those that `folder` has already, or new ones.

        Raises: MissingProgramError without the `cryptography` package.
        """
        certificates = cls(folder)
        # Written last of all.
        if not certificates.stranger_key.exists():
            certificates._write()
        return certificates

    def _write(self) -> None:
        if importlib.util.find_spec("cryptography") is None:
            raise MissingProgramError(
                "certificates are made with the cryptography package, which is not installed: "
                "pip install 'barnabas[testing]'"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        authority = _Authority("barnabas-test-ca")
        self.ca.write_bytes(authority.certificate_pem)
        local = ["localhost", "127.0.0.1"]
        for path, hosts, expired in (
            (self.broker, local, False),
            (self.broker_expired, local, True),
            (self.broker_wrong_host, ["other.example"], False),
        ):
            key = _new_key()
            chain = authority.sign(key, hosts[0], hosts, expired=expired) + authority.certificate_pem
            path.write_bytes(_key_pem(key) + chain)
        carol = _new_key()
        self.client_key.write_bytes(_key_pem(carol))
        self.client_key_encrypted.write_bytes(_key_pem(carol, KEY_PASSWORD))
        self.client.write_bytes(authority.sign(carol, "carol", [], expired=False))
        self.client_expired.write_bytes(authority.sign(carol, "carol", [], expired=True))
        foreign = _Authority("stranger-ca")
        mallory = _new_key()
        self.stranger_ca.write_bytes(foreign.certificate_pem)
        self.stranger.write_bytes(foreign.sign(mallory, "mallory", [], expired=False))
        self.stranger_key.write_bytes(_key_pem(mallory))


class _Authority:
    """A certificate authority that signs itself."""

    def __init__(self, common_name: str) -> None:
        from cryptography import x509

        self._key = _new_key()
        self._name = _name(common_name)
        today = datetime.datetime.now(datetime.UTC)
        builder = _builder(self._key, self._name, self._name, today - 3 * _YEAR, today + _YEAR)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(usage, critical=True)
        self.certificate_pem = _signed(builder, self._key)

    def sign(
        self, key: ec.EllipticCurvePrivateKey, common_name: str, hosts: list[str], *, expired: bool
    ) -> bytes:
        """A certificate for `key`: of this year, or of the one before last."""
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        begin = datetime.datetime.now(datetime.UTC) - (2 * _YEAR if expired else datetime.timedelta(days=1))
        builder = _builder(key, _name(common_name), self._name, begin, begin + _YEAR)
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
        )
        return _signed(builder, self._key)


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _key_pem(key: ec.EllipticCurvePrivateKey, password: str | None = None) -> bytes:
    from cryptography.hazmat.primitives import serialization

    encryption = (
        serialization.NoEncryption()
        if password is None
        else serialization.BestAvailableEncryption(password.encode())
    )
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def _name(common_name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    key: ec.EllipticCurvePrivateKey,
    subject: x509.Name,
    issuer: x509.Name,
    begin: datetime.datetime,
    end: datetime.datetime,
) -> x509.CertificateBuilder:
    from cryptography import x509

    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(begin).not_valid_after(end)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import hashes, serialization

    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
