"""Keys as a DEK registry has them. Owns how they look in JSON, not what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Self

from barnabas.registry.schemas import BadAnswerError, Reader
from barnabas.values import frozen


class DekAlgorithm(StrEnum):
    """What a data key encrypts by. SIV gives the same bytes for the same value each time."""

    AES128_GCM = "AES128_GCM"
    AES256_GCM = "AES256_GCM"
    AES256_SIV = "AES256_SIV"


@frozen
class Kek:
    """A key encryption key: `kms_key_id` of a KMS. `shared`: the registry may use it itself, and then gives
    data keys in the clear. `ts`: when it was written, in milliseconds."""

    name: str
    kms_type: str
    kms_key_id: str
    kms_props: Mapping[str, str] = field(default_factory=dict[str, str])
    doc: str | None = None
    shared: bool = False
    ts: int | None = None
    deleted: bool = False

    @classmethod
    def from_json(cls, found: Any) -> Self:
        read = Reader(found)
        return cls(
            read.text("name"),
            read.text("kmsType"),
            read.text("kmsKeyId"),
            read.mapping("kmsProps"),
            read.any("doc"),
            bool(read.any("shared")),
            read.any("ts"),
            bool(read.any("deleted")),
        )


@frozen
class Dek:
    """A data key of a subject. `encrypted_key_material`: in Base64, by the KEK; `key_material`: in the clear,
    only where the KEK is shared."""

    kek_name: str
    subject: str
    version: int
    algorithm: DekAlgorithm
    encrypted_key_material: str | None = None
    key_material: str | None = field(default=None, repr=False)
    ts: int | None = None
    deleted: bool = False

    @classmethod
    def from_json(cls, found: Any) -> Self:
        read = Reader(found)
        try:
            algorithm = DekAlgorithm(read.text("algorithm"))
        except ValueError as error:
            raise BadAnswerError(str(error)) from None
        return cls(
            read.text("kekName"),
            read.text("subject"),
            read.number("version"),
            algorithm,
            read.any("encryptedKeyMaterial"),
            read.any("keyMaterial"),
            read.any("ts"),
            bool(read.any("deleted")),
        )
