"""What the options of `copy` say of schemas. Imports no registry's client before one is needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import barnabas
from barnabas.cli.formats.options import DEFAULT_REGISTRY
from barnabas.cli.options import UsageError
from barnabas.records.texts import SIDES, Side

if TYPE_CHECKING:
    from barnabas.cli.copying.schemas import SchemaTransfer


def check_schema_options(
    to_schema_registry: str | None, to_subject: str | None, schemas_in: str | None, on_error: str | None
) -> None:
    """Raises: UsageError."""
    given = {"--to-subject": to_subject, "--schemas-in": schemas_in, "--on-error": on_error}
    for name, value in given.items():
        if value is not None and to_schema_registry is None:
            raise UsageError(f"{name} means nothing without --to-schema-registry")
    if schemas_in not in (None, "both", *SIDES):
        raise UsageError(f"--schemas-in is one of key, value, both, not {schemas_in!r}")


def schema_transfer(
    opened: ExitStack,
    source: tuple[str | None, dict[str, Any]],
    target: tuple[str | None, dict[str, Any]],
    to_subject: str | None,
    schemas_in: str | None,
    on_error: str | None,
) -> SchemaTransfer:
    """Raises: UsageError, MissingExtraError."""
    # Here and not above: nobody else waits for the import.
    from barnabas.cli.copying.schemas import ON_UNFRAMED, OnUnframed, SchemaTransfer, SubjectNames

    ways: dict[str, OnUnframed] = {each: each for each in ON_UNFRAMED}
    way = ways.get(on_error or "stop")
    if way is None:
        raise UsageError(f"--on-error is one of {', '.join(ON_UNFRAMED)}, not {on_error!r}")
    names = SubjectNames(to_subject)
    sides: Sequence[Side] | None = None
    if schemas_in is not None:
        sides = [each for each in SIDES if schemas_in in (each, "both")]
    here, there = (
        opened.enter_context(barnabas.Registry(address or DEFAULT_REGISTRY, **settings))
        for address, settings in (source, target)
    )
    return SchemaTransfer(here, there, names, sides=sides, on_unframed=way)
