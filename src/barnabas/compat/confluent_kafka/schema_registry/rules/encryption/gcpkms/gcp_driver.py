# pyright: basic
"""Keys of Google Cloud KMS."""

from __future__ import annotations

from barnabas.registry.rules.encryption import kms_gcp
from barnabas.registry.rules.encryption.kms import KmsDriver as KmsDriver
from barnabas.registry.rules.encryption.kms import register_kms_driver


class GcpKmsDriver(kms_gcp.GcpKmsDriver):
    """Of `gcp-kms://`."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        register_kms_driver(cls())
