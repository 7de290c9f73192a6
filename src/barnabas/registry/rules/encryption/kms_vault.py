"""Keys of HashiCorp Vault's transit engine: `hcvault://` and a key's URL, such as
`hcvault://https://vault:8200/transit/keys/my-key` (extra: registry-encryption-vault)."""

# hvac has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from barnabas.registry.rules.encryption.kms import Aead, KmsDriver, OneKeyClient, library
from barnabas.registry.rules.errors import RuleError

PREFIX = "hcvault://"
_KEY_PATH = re.compile(r"/?([^/]+(?:/[^/]+)*)/keys/([^/]+)")


class HcVaultKmsDriver(KmsDriver):
    """A token (`token.id`, VAULT_TOKEN), or a role's (`approle.role.id` with `approle.secret.id`,
    VAULT_APPROLE_ROLE_ID with VAULT_APPROLE_SECRET_ID), in a `namespace` (VAULT_NAMESPACE). TLS:
    `ssl.ca.location` (VAULT_CACERT), `ssl.certificate.location` (VAULT_CLIENT_CERT) and `ssl.key.location`
    (VAULT_CLIENT_KEY)."""

    def get_key_url_prefix(self) -> str:
        return PREFIX

    def new_kms_client(self, conf: Mapping[str, Any], key_url: str) -> HcVaultKmsClient:
        def setting(name: str, variable: str) -> Any:
            value = conf.get(name)
            return os.environ.get(variable) if value is None else value

        certificate = setting("ssl.certificate.location", "VAULT_CLIENT_CERT")
        key = setting("ssl.key.location", "VAULT_CLIENT_KEY")
        if key is not None and certificate is None:
            raise RuleError("ssl.certificate.location required when configuring ssl.key.location")
        # Nothing, or an empty text, does not turn verification off.
        authorities = conf.get("ssl.ca.location") or os.environ.get("VAULT_CACERT") or True
        hvac = library("hvac", "keys of HashiCorp Vault", "registry-encryption-vault")
        address = urlsplit(key_url.removeprefix(PREFIX))
        client = hvac.Client(
            url=f"{address.scheme}://{address.netloc}",
            token=setting("token.id", "VAULT_TOKEN"),
            namespace=setting("namespace", "VAULT_NAMESPACE"),
            verify=authorities,
            cert=certificate if certificate is None or key is None else (certificate, key),
        )
        role = setting("approle.role.id", "VAULT_APPROLE_ROLE_ID")
        secret = setting("approle.secret.id", "VAULT_APPROLE_SECRET_ID")
        if role and secret:
            client.auth.approle.login(role_id=role, secret_id=secret)
        return HcVaultKmsClient(key_url, client)


class HcVaultKmsClient(OneKeyClient):
    """`client`: hvac's."""

    def get_aead(self, key_uri: str) -> Aead:
        path = quote(urlsplit(key_uri.removeprefix(PREFIX)).path)
        found = _KEY_PATH.fullmatch(path)
        if found is None:
            raise RuleError(f"invalid key path {path!r}: it is not like /transit/keys/name")
        return _VaultAead(self._client, found[1], found[2])


class _VaultAead:
    """Without associated data, which the engine takes only for keys of another kind."""

    def __init__(self, client: Any, mount_point: str, name: str) -> None:
        self._transit = client.secrets.transit
        self._place = {"name": name, "mount_point": mount_point, "context": ""}

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes:
        answer = self._transit.encrypt_data(plaintext=base64.b64encode(plaintext).decode(), **self._place)
        return answer["data"]["ciphertext"].encode()

    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes:
        answer = self._transit.decrypt_data(ciphertext=ciphertext.decode(), **self._place)
        return base64.b64decode(answer["data"]["plaintext"])
