# pyright: basic
"""Rules that encrypt payloads and fields, with keys of a DEK registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from barnabas.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from barnabas.compat.confluent_kafka.schema_registry.rules.encryption.dek_registry import dek_registry_client
from barnabas.registry.rules.encryption import executors
from barnabas.registry.rules.encryption.ciphers import Cryptor as Cryptor
from barnabas.registry.rules.encryption.executors import Clock as Clock

ENCRYPT_KEK_NAME = executors.KEK_NAME
ENCRYPT_KMS_KEY_ID = executors.KMS_KEY_ID
ENCRYPT_KMS_TYPE = executors.KMS_TYPE
ENCRYPT_DEK_ALGORITHM = executors.DEK_ALGORITHM
ENCRYPT_DEK_EXPIRY_DAYS = executors.DEK_EXPIRY_DAYS
ENCRYPT_ALTERNATE_KMS_KEY_IDS = executors.ALTERNATE_KMS_KEY_IDS
MILLIS_IN_DAY = executors.MILLISECONDS_IN_DAY


class EncryptionExecutor(executors.EncryptionExecutor):
    """Of rules of type ENCRYPT_PAYLOAD."""

    def _new_client(self, client_conf: Any) -> Any:
        return dek_registry_client.DekRegistryClient.new_client(client_conf)

    def _check_addresses(self, kek: Any, key_id: str, props: Mapping[str, Any]) -> None:
        # The original asks at any address; programs that were written for it give no list.
        if executors.KMS_HOSTS in self.config:
            super()._check_addresses(kek, key_id, props)

    @classmethod
    def register(cls) -> Self:
        """For the whole process."""
        return cls.register_with_clock(Clock())

    @classmethod
    def register_with_clock(cls, clock: Clock) -> Self:
        """For the whole process; `clock` says when keys are too old."""
        executor = cls(clock)
        RuleRegistry.register_rule_executor(executor)
        return executor


class FieldEncryptionExecutor(executors.FieldEncryptionExecutor):
    """Of rules of type ENCRYPT."""

    _executor_class = EncryptionExecutor

    @classmethod
    def register(cls) -> Self:
        """For the whole process."""
        return cls.register_with_clock(Clock())

    @classmethod
    def register_with_clock(cls, clock: Clock) -> Self:
        """For the whole process; `clock` says when keys are too old."""
        executor = cls(clock)
        RuleRegistry.register_rule_executor(executor)
        return executor
