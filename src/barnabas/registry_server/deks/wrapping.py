"""What a registry does with a KEK that is shared with it: data keys are made, encrypted and decrypted by the
KEK's KMS, through the drivers that encryption rules have.

Who writes a KEK names the address of its KMS, which is shown this process's credentials: its host has to be
listed.

Blocks while the KMS is asked.
"""

from __future__ import annotations

import base64
from collections.abc import Collection

from barnabas.errors import BarnabasError
from barnabas.registry.kms_hosts import unlisted_address
from barnabas.registry.rules.encryption.ciphers import Cryptor
from barnabas.registry.rules.encryption.keys import DekAlgorithm
from barnabas.registry.rules.encryption.kms import Aead, registered_or_own_driver
from barnabas.registry.rules.errors import RuleError
from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.deks.changes import generation_failed
from barnabas.registry_server.deks.keys import StoredDek, StoredKek


def wrapped_key(
    kek: StoredKek, subject: str, algorithm: str, hosts: Collection[str], raw: str | None = None
) -> str:
    """A key, encrypted by the KMS, in base64. `hosts`: at which a KMS may be asked. `raw`: the key, in
    base64; None makes a new one.

    Raises: ApiError.
    """
    try:
        key = Cryptor(DekAlgorithm(algorithm)).generate_key() if raw is None else base64.b64decode(raw)
        return base64.b64encode(_aead(kek, hosts).encrypt(key, Cryptor.EMPTY_AAD)).decode()
    except Exception as error:
        raise _failed(f"Could not generate encrypted dek for {subject}", error) from error


def raw_key(kek: StoredKek, dek: StoredDek, hosts: Collection[str]) -> str:
    """The key itself, in base64. Raises: ApiError."""
    try:
        encrypted = base64.b64decode(dek.encrypted or "")
        return base64.b64encode(_aead(kek, hosts).decrypt(encrypted, Cryptor.EMPTY_AAD)).decode()
    except Exception as error:
        raise _failed(f"Could not generate raw dek for {dek.subject}", error) from error


def _aead(kek: StoredKek, hosts: Collection[str]) -> Aead:
    key_url = f"{kek.kms_type}://{kek.kms_key_id}"
    unlisted = unlisted_address(key_url, kek.kms_properties, hosts)
    if unlisted is not None:
        raise RuleError(
            f"the key {kek.name} names the address {unlisted!r:.200}, whose host the registry's setting "
            "dek.registry.kms.hosts does not list"
        )
    driver = registered_or_own_driver(key_url)
    return driver.new_kms_client(dict(kek.kms_properties), key_url).get_aead(key_url)


def _failed(what: str, error: Exception) -> ApiError:
    """A driver raises what its library does."""
    reason = str(error) if isinstance(error, BarnabasError) else f"{error}" or type(error).__name__
    return generation_failed(f"{what}: {reason}")
