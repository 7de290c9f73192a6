"""Drivers of key management systems, by the beginning of a key's URL."""

from barnabas.registry.rules.encryption.kms import KmsDriver as KmsDriver
from barnabas.registry.rules.encryption.kms import get_kms_driver as get_kms_driver
from barnabas.registry.rules.encryption.kms import register_kms_driver as register_kms_driver
from barnabas.registry.rules.encryption.kms import reset_kms_drivers as reset_kms_drivers
from barnabas.registry.rules.errors import RuleError as RuleError
