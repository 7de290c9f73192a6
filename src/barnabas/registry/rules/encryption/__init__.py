"""Encryption of fields and payloads: data keys (DEKs) out of a DEK registry, which key encryption keys (KEKs)
of a key management system (KMS) keep secret.

Bytes and keys look as Confluent's clients have them, so each reads what another wrote.
"""

from barnabas.registry.rules.encryption.dek_registry import AsyncDekRegistry, DekRegistry
from barnabas.registry.rules.encryption.executors import EncryptionExecutor, FieldEncryptionExecutor
from barnabas.registry.rules.encryption.keys import Dek, DekAlgorithm, Kek
from barnabas.registry.rules.encryption.kms import Aead, KmsClient, KmsDriver, register_kms_driver

__all__ = [
    "Aead",
    "AsyncDekRegistry",
    "Dek",
    "DekAlgorithm",
    "DekRegistry",
    "EncryptionExecutor",
    "FieldEncryptionExecutor",
    "Kek",
    "KmsClient",
    "KmsDriver",
    "register_kms_driver",
]
