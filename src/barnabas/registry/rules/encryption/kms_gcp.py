"""Keys of Google Cloud KMS: `gcp-kms://` and a key's name (extra: registry-encryption-gcp)."""

# The library's types are partly unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from barnabas.registry.rules.encryption.kms import Aead, KmsDriver, OneKeyClient, library
from barnabas.registry.rules.errors import RuleError

PREFIX = "gcp-kms://"
EXTRA = ("keys of Google Cloud", "registry-encryption-gcp")
TOKEN_URI = "https://oauth2.googleapis.com/token"
_NAME = re.compile(
    r"projects/([^/]+)/locations/([\w-]{1,63})/keyRings/([\w-]{1,63})/cryptoKeys/([\w-]{1,63})"
    r"(/cryptoKeyVersions/([\w-]{1,63}))?",
    re.ASCII,
)


class GcpKmsDriver(KmsDriver):
    """A service account's `client.id`, `client.email`, `private.key.id` and `private.key`, with `token.uri`
    and `account.type`; or what the library finds by itself."""

    def get_key_url_prefix(self) -> str:
        return PREFIX

    def new_kms_client(self, conf: Mapping[str, Any], key_url: str) -> GcpKmsClient:
        kind = conf.get("account.type") or "service_account"
        if kind != "service_account":
            raise RuleError("account.type must be 'service_account'")
        names = ("client.id", "client.email", "private.key.id", "private.key")
        given = {name.replace(".", "_"): conf.get(name) for name in names}
        kms = library("google.cloud.kms_v1", *EXTRA)
        credentials = None
        if None not in given.values():
            account = {"type": kind, "token_uri": conf.get("token.uri") or TOKEN_URI, **given}
            service_account = library("google.oauth2.service_account", *EXTRA)
            credentials = service_account.Credentials.from_service_account_info(account)
        return GcpKmsClient(key_url, kms.KeyManagementServiceClient(credentials=credentials))


class GcpKmsClient(OneKeyClient):
    """`client`: google.cloud.kms_v1's."""

    def get_aead(self, key_uri: str) -> Aead:
        name = key_uri.removeprefix(PREFIX)
        found = _NAME.fullmatch(name)
        if found is None:
            raise RuleError(
                f"invalid key name {name!r}: it is not like "
                "projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>"
            )
        return _GcpAead(self._client, name, is_version=found[5] is not None)


class _GcpAead:
    def __init__(self, client: Any, name: str, *, is_version: bool) -> None:
        self._client = client
        self._name = name
        self._is_version = is_version

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        return self._client.encrypt(
            request={
                "name": self._name,
                "plaintext": plaintext,
                "additional_authenticated_data": associated_data,
            }
        ).ciphertext

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        if self._is_version:
            raise RuleError("one version of a key only encrypts: name the key itself")
        return self._client.decrypt(
            request={
                "name": self._name,
                "ciphertext": ciphertext,
                "additional_authenticated_data": associated_data,
            }
        ).plaintext
