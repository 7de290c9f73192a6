# pyright: basic
"""Keys of AWS KMS."""

from __future__ import annotations

from barnabas.registry.rules.encryption import kms_aws
from barnabas.registry.rules.encryption.kms import KmsDriver as KmsDriver
from barnabas.registry.rules.encryption.kms import register_kms_driver


class AwsKmsDriver(kms_aws.AwsKmsDriver):
    """Of `aws-kms://`."""

    @classmethod
    def register(cls) -> None:
        """For the whole process."""
        register_kms_driver(cls())
