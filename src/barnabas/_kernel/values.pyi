"""Single values: bytes to Python objects, and back."""

from collections.abc import Callable
from typing import Any

from barnabas._kernel.objects import Buffer

class AvroCodec:
    """`reading` and `writing` are plans that `barnabas.formats.avro_values` makes of schemas; `duration` is
    called with months, days and milliseconds."""

    def __new__(
        cls, reading: str, writing: str, duration: Callable[[int, int, int], object]
    ) -> AvroCodec: ...
    def decode(self, data: Buffer, offset: int = 0) -> Any:
        """The value of the bytes behind `offset`. Raises: SerializationError, which names the field."""
    def encode(self, value: object, header: bytes | None = None) -> bytes:
        """The bytes of a value, behind `header`. Raises: SerializationError, which names the field."""

def read_json(data: Buffer, offset: int = 0) -> Any:
    """The value of the JSON behind `offset`. Raises: SerializationError, which names the field."""

def write_json(value: object, header: bytes | None = None) -> bytes:
    """The JSON of a value, behind `header`. Raises: SerializationError, which names the field."""

def check_json_depth(value: object) -> None:
    """Raises: SerializationError, for a value that is deeper than `read_json` and `write_json` take."""
