"""Keys that are made of a secret text: the client."""

from barnabas.registry.rules.encryption.kms_local import LocalKmsClient as LocalKmsClient
