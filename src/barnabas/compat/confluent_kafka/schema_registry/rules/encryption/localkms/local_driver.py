# pyright: basic
"""Keys that are made of a secret text."""

from __future__ import annotations

from barnabas.registry.rules.encryption import kms_local
from barnabas.registry.rules.encryption.kms import KmsDriver as KmsDriver
from barnabas.registry.rules.encryption.kms import register_kms_driver
from barnabas.registry.rules.encryption.kms_local import LocalKmsClient as LocalKmsClient


class LocalKmsDriver(kms_local.LocalKmsDriver):
    """Of `local-kms://`."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        register_kms_driver(cls())
