"""Keys that are made of a secret text, for tests and for trying out: `local-kms://` and any name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from barnabas.registry.rules.encryption.ciphers import cryptography, gcm_decrypted, gcm_encrypted
from barnabas.registry.rules.encryption.kms import Aead, KmsDriver
from barnabas.registry.rules.errors import RuleError

PREFIX = "local-kms://"
KEY_BYTES = 16


class LocalKmsDriver(KmsDriver):
    """The secret is `secret`, or LOCAL_SECRET of the environment."""

    def get_key_url_prefix(self) -> str:
        return PREFIX

    def new_kms_client(self, conf: Mapping[str, Any], key_url: str) -> LocalKmsClient:
        secret = conf.get("secret")
        if secret is None:
            secret = os.environ.get("LOCAL_SECRET")
        if secret is None:
            raise RuleError("cannot load secret: give `secret` for rules, or set LOCAL_SECRET")
        return LocalKmsClient(secret)


class LocalKmsClient:
    """Has one key, whatever it is called."""

    def __init__(self, secret: str) -> None:
        hkdf = cryptography("hazmat.primitives.kdf.hkdf").HKDF
        sha256 = cryptography("hazmat.primitives.hashes").SHA256()
        self._key: bytes = hkdf(sha256, KEY_BYTES, salt=None, info=b"").derive(secret.encode())

    def does_support(self, key_uri: str) -> bool:
        return key_uri.startswith(PREFIX)

    def get_aead(self, key_uri: str) -> Aead:
        return _LocalAead(self._key)


class _LocalAead:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        return gcm_encrypted(self._key, plaintext, associated_data)

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        return gcm_decrypted(self._key, ciphertext, associated_data)
