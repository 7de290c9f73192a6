"""What options mean: names to fields and extensions, values by google.protobuf's text format."""

# google.protobuf has no types for what pools make.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf import message_factory, text_format
from google.protobuf.descriptor_pool import DescriptorPool

from barnabas.formats.proto.elements import Number, OptionElement, Value, Word
from barnabas.formats.proto.names import Names
from barnabas.formats.proto.to_descriptor import PendingOptions, escaped_bytes
from barnabas.formats.proto.tokens import fail


def set_options(
    pending: Sequence[PendingOptions], pool: DescriptorPool, names: Names, text: str, *, lacks_imports: bool
) -> None:
    """Fills in what `to_descriptor` left. The pool has descriptor.proto, and all files with the extensions.

    An option that is an extension which nobody declares is left out where imports are missing, as
    Confluent's registry does. Raises: SchemaError.
    """
    for owner, options, scope in pending:
        name = owner.options.DESCRIPTOR.full_name
        made = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
        seen: set[tuple[str, ...]] = set()
        for option in options:
            path = _path(option, names, scope)
            if path is None:
                if not lacks_imports:
                    shown = ".".join(part.name for part in option.path)
                    fail(text, option.position, f"the option ({shown:.100}) is not declared")
                continue
            _merge(made, path, option, names, scope, pool, text)
            # An option that is not repeated is set once.
            if path in seen and not _is_repeated(made.DESCRIPTOR, path, pool):
                fail(text, option.position, f"the option {'.'.join(path):.100} is set twice")
            seen.add(path)
        owner.options.MergeFromString(made.SerializeToString(deterministic=True))


def _path(option: OptionElement, names: Names, scope: str) -> tuple[str, ...] | None:
    """Names of fields, and in brackets full names of extensions."""
    path: list[str] = []
    for part in option.path:
        if part.is_extension:
            full_name = names.extension(part.name, scope)
            if full_name is None:
                return None
            path.append(f"[{full_name}]")
        else:
            path.append(part.name)
    return tuple(path)


def _merge(
    made: Any,
    path: tuple[str, ...],
    option: OptionElement,
    names: Names,
    scope: str,
    pool: DescriptorPool,
    text: str,
) -> None:
    written = _written(option.value, names, scope)
    opening = "".join(f"{part} {{" for part in path[:-1])
    separator = " " if isinstance(option.value, dict) else ":"
    whole = f"{opening}{path[-1]}{separator}{written}{'}' * (len(path) - 1)}"
    try:
        text_format.Merge(whole, made, descriptor_pool=pool)
    except (text_format.ParseError, ValueError, TypeError, KeyError, RecursionError) as error:
        reason = str(error).partition(" : ")[2] or str(error)
        fail(text, option.position, f"the option {'.'.join(path):.100} is not to be set: {reason:.200}")


def _is_repeated(message: Any, path: tuple[str, ...], pool: DescriptorPool) -> bool:
    for part in path:
        is_extension = part.startswith("[")
        if is_extension:
            field = pool.FindExtensionByName(part[1:-1])
        else:
            # A group is set by the name of its message.
            field = message.fields_by_name.get(part) or message.fields_by_name[part.lower()]
        if field.is_repeated:
            return True
        message = field.message_type
    return False


def _written(value: Value, names: Names, scope: str) -> str:
    """In text format."""
    if isinstance(value, Word | Number):
        return value.text
    if isinstance(value, str):
        return f'"{escaped_bytes(value)}"'
    if isinstance(value, list):
        return f"[{', '.join(_written(each, names, scope) for each in value)}]"
    parts: list[str] = []
    for key, each in value.items():
        name = key
        if key.startswith("[") and "/" not in key:
            name = f"[{names.extension(key[1:-1], scope) or key[1:-1]}]"
        parts.append(f"{name}{' ' if isinstance(each, dict) else ':'}{_written(each, names, scope)}")
    return f"{{{' '.join(parts)}}}"
