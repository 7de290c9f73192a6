"""What keeps data of one schema from being read by another one, in the words of Confluent's registry.

Knows nothing of how differences are found.
"""

from __future__ import annotations

from barnabas.values import frozen


@frozen
class Difference:
    """`kind`: such as READER_FIELD_MISSING_DEFAULT_VALUE. `path`: a JSON pointer into the reader's schema, or
    for what only the writer's has, into that."""

    kind: str
    path: str
    description: str
    additional_info: str = ""

    def __str__(self) -> str:
        return (
            f"{{errorType:'{self.kind}', description:'{self.description}', "
            f"additionalInfo:'{self.additional_info}'}}"
        )


@frozen
class Sides:
    """What the two schemas are called: the one that reads and the one that data was written by."""

    reader: str = "new"
    writer: str = "old"


def pointer(path: list[str]) -> str:
    """RFC 6901."""
    return "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in path)
