"""Lists in one string, as librdkafka splits them: with escapes by a backslash, and without blanks around."""

from collections.abc import Iterator

__all__ = ["parse_key_values", "split"]

# What C takes for blank: fewer characters than str.isspace.
_BLANKS = " \t\n\v\f\r"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}


def _characters(raw: str) -> Iterator[tuple[str, bool]]:
    """The characters that are meant, each with whether it was escaped. A last backslash means nothing."""
    characters = iter(raw)
    for character in characters:
        if character != "\\":
            yield character, False
            continue
        escaped = next(characters, None)
        if escaped is not None:
            yield _ESCAPES.get(escaped, escaped), True


def split(raw: str, sep: str, skip_empty: bool) -> list[str]:
    """The fields of `raw`, which `sep` stands between. Only the first character of `sep` counts.

    Blanks are left out before a field unless they are escaped, and after it even if they are; with
    `skip_empty`, fields without anything in them too.
    """
    if not isinstance(raw, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("raw must not be None")
    separator = sep[:1]
    fields = [""]
    for character, is_escaped in _characters(raw):
        if not is_escaped and character == separator:
            fields.append("")
        elif is_escaped or fields[-1] or character not in _BLANKS:
            fields[-1] += character
    stripped = [field.rstrip(_BLANKS) for field in fields]
    return [field for field in stripped if field or not skip_empty]


def parse_key_values(raw: str, sep: str, context_label: str | None = None) -> list[tuple[str, str]]:
    """The pairs in fields such as `key=value`, split at the first equals sign, without the empty fields.

    Raises ValueError for a field without an equals sign or a key; `context_label` says there where it stands.
    """
    pairs: list[tuple[str, str]] = []
    where = f" in {context_label}" if context_label else ""
    for field in split(raw, sep, skip_empty=True):
        key, equals, value = field.partition("=")
        if not key or not equals:
            raise ValueError(f"Malformed entry '{field}'{where} (expected key=value).")
        pairs.append((key, value))
    return pairs
