# pyright: basic
"""Keys of HashiCorp Vault."""

from __future__ import annotations

from barnabas.registry.rules.encryption import kms_vault
from barnabas.registry.rules.encryption.kms import KmsDriver as KmsDriver
from barnabas.registry.rules.encryption.kms import register_kms_driver


class HcVaultKmsDriver(kms_vault.HcVaultKmsDriver):
    """Of `hcvault://`."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        register_kms_driver(cls())
