"""How lists of operations are taken. Shared by the descriptions of topics, groups and clusters."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.compat.confluent_kafka._util import ConversionUtil
from barnabas.compat.confluent_kafka.admin._acl import AclOperation


def operations(given: Sequence[str | int | AclOperation] | None) -> list[AclOperation] | None:
    """Operations by name, by number or as such. None for none at all.

    Raises: ValueError, TypeError (there is no such operation).
    """
    if not given:
        return None
    return [ConversionUtil.convert_to_enum(operation, AclOperation) for operation in given]
