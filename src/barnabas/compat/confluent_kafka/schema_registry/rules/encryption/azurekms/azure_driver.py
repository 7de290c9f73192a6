# pyright: basic
"""Keys of Azure Key Vault."""

from __future__ import annotations

from barnabas.registry.rules.encryption import kms_azure
from barnabas.registry.rules.encryption.kms import KmsDriver as KmsDriver
from barnabas.registry.rules.encryption.kms import register_kms_driver


class AzureKmsDriver(kms_azure.AzureKmsDriver):
    """Of `azure-kms://`."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        register_kms_driver(cls())
