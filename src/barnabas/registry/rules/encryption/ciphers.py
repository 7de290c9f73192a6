"""Data keys at work: AES-GCM and AES-SIV, in the bytes that Tink has for them without a prefix.

A key is Tink's message of it (AesGcmKey, AesSivKey), since that is what a KEK encrypts. What GCM gives is the
nonce, the ciphertext and the tag; what SIV gives, the synthetic nonce and the ciphertext (RFC 5297, with one
part of associated data).
"""

from __future__ import annotations

import hmac
import os
from typing import Any

from barnabas.errors import MissingExtraError
from barnabas.registry.rules.encryption.keys import DekAlgorithm
from barnabas.registry.rules.errors import RuleError

NONCE_BYTES, TAG_BYTES, BLOCK_BYTES = 12, 16, 16
_KEY_BYTES = {DekAlgorithm.AES128_GCM: 16, DekAlgorithm.AES256_GCM: 32, DekAlgorithm.AES256_SIV: 64}
# Of `key_value` in Tink's message: its number, and that it is bytes.
_KEY_VALUE = {DekAlgorithm.AES128_GCM: 0x1A, DekAlgorithm.AES256_GCM: 0x1A, DekAlgorithm.AES256_SIV: 0x12}
_VERSION = 0x08


def cryptography(name: str) -> Any:
    """A module of the library. Raises: MissingExtraError."""
    import importlib

    try:
        return importlib.import_module(f"cryptography.{name}")
    except ImportError:
        raise MissingExtraError("encryption by rules of a schema registry", "registry-encryption") from None


class Cryptor:
    """Encrypts by one algorithm. Raises (each call): RuleError."""

    EMPTY_AAD = b""

    def __init__(self, dek_format: DekAlgorithm) -> None:
        self.dek_format = dek_format
        self.is_deterministic = dek_format == DekAlgorithm.AES256_SIV

    def generate_key(self) -> bytes:
        """A new key, as Tink's message."""
        key = os.urandom(_KEY_BYTES[self.dek_format])
        return bytes([_KEY_VALUE[self.dek_format], len(key)]) + key

    def encrypt(self, dek: bytes, plaintext: bytes, associated_data: bytes) -> bytes:
        key = self._key_of(dek)
        if self.is_deterministic:
            return _siv_encrypted(key, plaintext, associated_data)
        return gcm_encrypted(key, plaintext, associated_data)

    def decrypt(self, dek: bytes, ciphertext: bytes, associated_data: bytes) -> bytes:
        key = self._key_of(dek)
        if self.is_deterministic:
            return _siv_decrypted(key, ciphertext, associated_data)
        return gcm_decrypted(key, ciphertext, associated_data)

    def _key_of(self, message: bytes) -> bytes:
        length = _KEY_BYTES[self.dek_format]
        # The version is 0, which is left out or written.
        body = message[2:] if message[:2] == bytes([_VERSION, 0]) else message
        if len(body) != length + 2 or body[:2] != bytes([_KEY_VALUE[self.dek_format], length]):
            raise RuleError(f"the data key is not one for {self.dek_format}")
        return body[2:]


def gcm_encrypted(key: bytes, plaintext: bytes, associated_data: bytes = b"") -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    sealed: bytes = _aead().AESGCM(key).encrypt(nonce, plaintext, associated_data)
    return nonce + sealed


def gcm_decrypted(key: bytes, ciphertext: bytes, associated_data: bytes = b"") -> bytes:
    if len(ciphertext) < NONCE_BYTES + TAG_BYTES:
        raise RuleError("the ciphertext is too short")
    nonce, sealed = ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:]
    try:
        return _aead().AESGCM(key).decrypt(nonce, sealed, associated_data)
    except cryptography("exceptions").InvalidTag:
        raise RuleError(WRONG_KEY) from None


WRONG_KEY = "the ciphertext is not of this key, or was changed"


def _siv_encrypted(key: bytes, plaintext: bytes, associated_data: bytes) -> bytes:
    if not plaintext:
        # The library refuses this one.
        return _siv_of_nothing(key, associated_data)
    return _aead().AESSIV(key).encrypt(plaintext, [associated_data])


def _siv_decrypted(key: bytes, ciphertext: bytes, associated_data: bytes) -> bytes:
    if len(ciphertext) < BLOCK_BYTES:
        raise RuleError("the ciphertext is too short")
    if len(ciphertext) == BLOCK_BYTES:
        if not hmac.compare_digest(_siv_of_nothing(key, associated_data), ciphertext):
            raise RuleError(WRONG_KEY)
        return b""
    try:
        return _aead().AESSIV(key).decrypt(ciphertext, [associated_data])
    except cryptography("exceptions").InvalidTag:
        raise RuleError(WRONG_KEY) from None


def _siv_of_nothing(key: bytes, associated_data: bytes) -> bytes:
    """The synthetic nonce of an empty plaintext (S2V)."""
    cmac, aes = (
        cryptography("hazmat.primitives.cmac").CMAC,
        cryptography("hazmat.primitives.ciphers.algorithms"),
    )

    def mac(data: bytes) -> bytes:
        of = cmac(aes.AES(key[: len(key) // 2]))
        of.update(data)
        return of.finalize()

    block = _xor(_doubled(mac(bytes(BLOCK_BYTES))), mac(associated_data))
    return mac(_xor(_doubled(block), b"\x80" + bytes(BLOCK_BYTES - 1)))


def _doubled(block: bytes) -> bytes:
    """In the field that CMAC has."""
    number = int.from_bytes(block)
    doubled = (number << 1) & ((1 << 128) - 1)
    return (doubled ^ (0x87 if number >> 127 else 0)).to_bytes(BLOCK_BYTES)


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _aead() -> Any:
    return cryptography("hazmat.primitives.ciphers.aead")
