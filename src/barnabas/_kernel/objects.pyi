"""Bytes, codecs, formats and what wakes threads."""

from collections.abc import Mapping, Sequence
from typing import final

Buffer = bytes | bytearray | memoryview

HeadersIn = Sequence[tuple[str, bytes | None]]

# Codec names everywhere: "none", "gzip", "snappy", "lz4", "zstd". Snappy is in xerial framing on encode;
# both xerial and raw snappy are read.

@final
class ReceiveBuffer:
    """Memory for one frame: written through memoryviews, then frozen and only read, without a copy."""

    def __new__(cls, size: int) -> ReceiveBuffer:
        """The contents are whatever the memory held before."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def freeze(self) -> memoryview:
        """A read-only view. Raises: BufferError while a writable view is in use."""

@final
class FrameRoom:
    """While it is there, memory for so many bytes of frames is kept, beside what others asked for, and used
    in turn: the next frame gets what has been spare for longest."""

    def __new__(cls, bytes: int) -> FrameRoom: ...

@final
class NamePattern:
    """A regular expression in the syntax of Rust's crate regex, which takes linear time."""

    def __new__(cls, pattern: str) -> NamePattern:
        """Raises: ValueError, also for one that is too large once it is compiled, or too deep."""
    def matches(self, name: str) -> bool:
        """Whether it matches the whole name."""

@final
class ArrowColumn:
    """A column. `pyarrow.array(x)` takes it without a copy, as often as one likes."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Format:
    """Columns of bytes into columns of types and back (`barnabas.formats`)."""

    def __new__(
        cls,
        name: str,
        data_type: object,
        error_type: object,
        bytes_type: object,
        *,
        plan: str = "",
        has_header: bool = False,
        schema_id: int | None = None,
        message_index: list[int] | None = None,
    ) -> Format:
        """`name` is string, json, avro or protobuf; the latter two need a `plan` of how a value lies in the
        bytes. Types are objects with `__arrow_c_schema__`, which columns are given out with: that of the
        values, struct<row: int64, field: string, error: string>, and binary. With `has_header` each value
        stands behind the header of a schema registry, which must name `schema_id` and `message_index` where
        those are given. Raises: ValueError."""
    def decode(self, values: object, *, stop_at_error: bool = False) -> tuple[ArrowColumn, ArrowColumn]:
        """An Arrow array of binary or string as a column of values, null where one is null or cannot be read,
        and what cannot be read, in order of rows. With `stop_at_error` the column ends with the first such.
        Raises: ValueError (the array is of another type)."""
    def decode_by_schema(
        self,
        values: object,
        writers: Mapping[int | bytes, Format | str],
        *,
        headers: object | None = None,
        stop_at_error: bool = False,
    ) -> tuple[ArrowColumn, ArrowColumn]:
        """As `decode`, where each value is read by the format of the schema that it names: by its id, or by
        the sixteen bytes of its guid; text is why there is none. All of `writers` give this format's type.
        `headers`: for each value the record's header that names its schema, or null, where that stands before
        the value."""
    def encode(self, values: object) -> tuple[ArrowColumn | None, tuple[int, str, str] | None]:
        """An Arrow array of exactly the format's type as bytes, or row, field and reason of the first value
        that has none. Raises: ValueError (the array is of another type)."""

def acknowledge_at_once(descriptors: Sequence[int], /) -> None:
    """Acknowledges what comes on these TCP connections as soon as it comes, whoever reads it, in a thread of
    its own and until their peers have hung up. Only on Linux. Raises: OSError."""

@final
class Waker:
    """Wakes an event loop that watches its descriptor, from any thread, without the interpreter lock. Not
    there on Windows."""

    def __new__(cls) -> Waker: ...
    def fileno(self) -> int:
        """Readable when the loop was woken. Belongs to this object."""
    def wake(self) -> None: ...
    def clear(self) -> None:
        """The loop is about to do what it was woken for; from now on it may be woken again."""
    @property
    def is_due(self) -> bool:
        """Whether it was woken and has not begun."""

def schema_keys(values: object, headers: object | None = None) -> list[int | bytes]:
    """The schemas that `values` name, each once, as `Format.decode_by_schema` takes them; values that name
    none are passed over. Raises: ValueError (the array is of another type)."""

def crc32c(data: Buffer, value: int = 0) -> int: ...
def crc32(data: Buffer) -> int: ...
def set_time(now_ms: int | None, monotonic_ms: float | None) -> None:
    """From now on records and batches take this for the time, until another is set; None and None: they take
    the machine's again. For tests in which one thread does all the work."""

def murmur2(data: Buffer) -> int:
    """As Java's: a signed int32."""

def fnv1a(data: Buffer) -> int:
    """Unsigned, of 32 bits. (librdkafka's partitioner takes the absolute value of it as an int32.)"""

def compress(codec: str, data: Buffer, level: int | None = None) -> bytes:
    """`level`: 0 to 9 for gzip, zstd's own for zstd; codecs without levels pass it over. Raises:
    ValueError."""

def decompress(codec: str, data: Buffer, max_decompressed_bytes: int = 1 << 30) -> bytes:
    """Raises: CorruptBatchError, also for more than `max_decompressed_bytes`; ValueError for an unknown
    codec."""
