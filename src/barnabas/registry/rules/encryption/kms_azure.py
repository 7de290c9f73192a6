"""Keys of Azure Key Vault: `azure-kms://` and a key's URL (extra: registry-encryption-azure).

What Azure encrypts does not say by which version of a key. With `encrypt.azure.key.version.save` of the KEK
that goes before it: `azure:v1:`, the version, `:`.
"""

# The library's types are partly unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from barnabas.registry.rules.encryption.kms import Aead, KmsDriver, OneKeyClient, library
from barnabas.registry.rules.errors import RuleError

log = logging.getLogger(__name__)

PREFIX = "azure-kms://"
KEY_VERSION_SAVE = "encrypt.azure.key.version.save"
EXTRA = ("keys of Azure", "registry-encryption-azure")
HEADER = b"azure:v1:"
VERSION_LETTERS = 32
_VERSION = re.compile(r"[0-9a-fA-F]{32}")


class KeyVaultId(NamedTuple):
    """`version` None: the one that is current."""

    vault_url: str
    name: str
    version: str | None


class AzureKmsDriver(KmsDriver):
    """`tenant.id`, `client.id` and `client.secret`, or what the library finds by itself."""

    def get_key_url_prefix(self) -> str:
        return PREFIX

    def new_kms_client(self, conf: Mapping[str, Any], key_url: str) -> AzureKmsClient:
        identity = library("azure.identity", *EXTRA)
        given = [conf.get(name) for name in ("tenant.id", "client.id", "client.secret")]
        if None in given:
            credential = identity.DefaultAzureCredential()
        else:
            credential = identity.ClientSecretCredential(*given)
        return AzureKmsClient(key_url, credential, conf)


class AzureKmsClient(OneKeyClient):
    """`credential`: azure.identity's, or another of that kind."""

    def __init__(self, key_uri: str, credential: Any, conf: Mapping[str, Any]) -> None:
        super().__init__(key_uri, credential)
        self._saves_version = str(conf.get(KEY_VERSION_SAVE, False)).lower() == "true"

    def get_aead(self, key_uri: str) -> Aead:
        key_id = key_uri.removeprefix(PREFIX)
        if not self._saves_version and key_of(key_id).version is None:
            log.warning(
                "Azure Key Vault key '%s' is versionless and %s is not enabled; DEKs wrapped with it may "
                "become undecryptable after the key is rotated.",
                key_id,
                KEY_VERSION_SAVE,
            )
        return _AzureAead(key_id, self._client, saves_version=self._saves_version)


class _AzureAead:
    def __init__(self, key_id: str, credential: Any, *, saves_version: bool) -> None:
        self._key_id = key_id
        self._key = key_of(key_id)
        self._credential = credential
        self._saves_version = saves_version
        self._crypto = library("azure.keyvault.keys.crypto", *EXTRA)
        self._algorithm = self._crypto.EncryptionAlgorithm.rsa_oaep_256

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        if not self._saves_version:
            return self._client(self._key_id).encrypt(self._algorithm, plaintext).ciphertext
        version = self._key.version or self._current_version()
        if _VERSION.fullmatch(version) is None:
            raise RuleError(f"the key's version {version!r} is not one of {VERSION_LETTERS} digits")
        sealed = self._client(self._with(version)).encrypt(self._algorithm, plaintext).ciphertext
        return HEADER + version.encode() + b":" + sealed

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        # Whatever is saved now: it may have been otherwise when this was encrypted.
        key_id, sealed = self._key_id, ciphertext
        length = len(HEADER) + VERSION_LETTERS
        if ciphertext.startswith(HEADER) and ciphertext[length : length + 1] == b":":
            version = ciphertext[len(HEADER) : length].decode(errors="replace")
            # It becomes part of a URL.
            if _VERSION.fullmatch(version) is None:
                raise RuleError(f"ciphertext carries an invalid azure:v1: key version: {version!r}")
            key_id, sealed = self._with(version), ciphertext[length + 1 :]
        return self._client(key_id).decrypt(self._algorithm, sealed).plaintext

    def _client(self, key_id: str) -> Any:
        return self._crypto.CryptographyClient(key_id, self._credential)

    def _with(self, version: str) -> str:
        return f"{self._key.vault_url}/keys/{self._key.name}/{version}"

    def _current_version(self) -> str:
        keys = library("azure.keyvault.keys", *EXTRA)
        client = keys.KeyClient(vault_url=self._key.vault_url, credential=self._credential)
        found = client.get_key(self._key.name).id
        version = key_of(found).version
        if version is None:
            raise RuleError(f"resolved Azure Key Vault key id is missing a version segment: {found}")
        return version


def key_of(key_id: str) -> KeyVaultId:
    """Raises: RuleError."""
    parts = urlsplit(key_id)
    steps = [step for step in parts.path.split("/") if step]
    if not parts.scheme or not parts.netloc or len(steps) not in (2, 3) or steps[0] != "keys":
        raise RuleError(f"invalid Azure Key Vault key id: {key_id}")
    version = steps[2] if len(steps) == 3 else None
    return KeyVaultId(f"{parts.scheme}://{parts.netloc}", steps[1], version)
