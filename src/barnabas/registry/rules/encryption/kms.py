"""Key management systems: drivers by the beginning of a key's URL, and what a driver gives.

Own drivers are subclasses of `KmsDriver` that are registered. Those that come with the package need not be:
they are loaded when a key of theirs is used, each with its extra.
"""

from __future__ import annotations

import importlib
import threading
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from barnabas.errors import MissingExtraError
from barnabas.registry.rules.errors import RuleError


class Aead(Protocol):
    """One key of a KMS."""

    def encrypt(self, plaintext: bytes, associated_data: bytes) -> bytes: ...
    def decrypt(self, ciphertext: bytes, associated_data: bytes) -> bytes: ...


class KmsClient(Protocol):
    """Of one KMS, with credentials; as Tink's."""

    def does_support(self, key_uri: str) -> bool: ...
    def get_aead(self, key_uri: str) -> Aead: ...


class OneKeyClient:
    """Of the key that it was made for. `client`: the library's, or its credentials."""

    def __init__(self, key_uri: str, client: Any) -> None:
        self._key_uri = key_uri
        self._client = client

    def does_support(self, key_uri: str) -> bool:
        return key_uri == self._key_uri


class KmsDriver(metaclass=ABCMeta):
    """`conf`: what the serializer was given for rules, and in front of it the KEK's own properties."""

    @abstractmethod
    def get_key_url_prefix(self) -> str:
        raise NotImplementedError

    @abstractmethod
    def new_kms_client(self, conf: Mapping[str, Any], key_url: str) -> KmsClient:
        raise NotImplementedError


_drivers: list[KmsDriver] = []
_lock = threading.Lock()
_BUILT_IN = {
    "local-kms://": ("local", "LocalKmsDriver"),
    "aws-kms://": ("aws", "AwsKmsDriver"),
    "azure-kms://": ("azure", "AzureKmsDriver"),
    "gcp-kms://": ("gcp", "GcpKmsDriver"),
    "hcvault://": ("vault", "HcVaultKmsDriver"),
}


def register_kms_driver(driver: KmsDriver) -> None:
    """For the whole process. Of several for the same keys the first is asked."""
    with _lock:
        _drivers.append(driver)


def get_kms_driver(key_url: str) -> KmsDriver:
    """The registered one. Raises: RuleError."""
    with _lock:
        for driver in _drivers:
            if key_url.startswith(driver.get_key_url_prefix()):
                return driver
    raise RuleError(f"no KMS driver found for key URL: {key_url}")


def reset_kms_drivers() -> None:
    """Forgets those that were registered."""
    with _lock:
        _drivers.clear()


def registered_or_own_driver(key_url: str) -> KmsDriver:
    """The registered driver, or else the one that comes with the package. Raises: RuleError."""
    try:
        return get_kms_driver(key_url)
    except RuleError:
        for prefix, (module, name) in _BUILT_IN.items():
            if key_url.startswith(prefix):
                found = importlib.import_module(f"barnabas.registry.rules.encryption.kms_{module}")
                return getattr(found, name)()
        raise


def library(name: str, what: str, extra: str) -> Any:
    """A module that a driver needs. Raises: MissingExtraError."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(f"encryption by rules of a schema registry, with {what},", extra) from None
