"""Variants: values of any shape in the binary form that Parquet and Spark have for them, read and written.

A variant is a value and the dictionary of its fields' names (metadata). Owns the encoding, and JSON of it as
Confluent's clients write it. Bytes may be anybody's: what is not an encoding is a VariantError.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from enum import Enum
from typing import Any, cast

PRIMITIVE, SHORT_STRING, OBJECT, ARRAY = 0, 1, 2, 3
VERSION, VERSION_MASK = 1, 0x0F
LONGEST_SHORT_STRING = 63
LENGTH_BYTES, UUID_BYTES = 4, 16
SIZE_LIMIT = 16 << 20
DEEPEST = 500
# From which on an object's names, which are sorted, are not looked through one by one.
MANY_FIELDS = 32
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
DECIMAL_DIGITS = {"DECIMAL4": 9, "DECIMAL8": 18, "DECIMAL16": 38}
FIRST_DAY, LAST_DAY = -719162, 2932896
DAY_MICROSECONDS = 86_400_000_000
_EPOCH = datetime.datetime(1970, 1, 1)


class VariantError(ValueError):
    """These bytes are no variant, or this cannot be written as one."""


class VariantType(Enum):
    """What a variant's value is."""

    OBJECT = "OBJECT"
    ARRAY = "ARRAY"
    NULL = "NULL"
    BOOLEAN = "BOOLEAN"
    BYTE = "BYTE"
    SHORT = "SHORT"
    INT = "INT"
    LONG = "LONG"
    STRING = "STRING"
    DOUBLE = "DOUBLE"
    DECIMAL4 = "DECIMAL4"
    DECIMAL8 = "DECIMAL8"
    DECIMAL16 = "DECIMAL16"
    DATE = "DATE"
    TIMESTAMP_TZ = "TIMESTAMP_TZ"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    FLOAT = "FLOAT"
    BINARY = "BINARY"
    TIME = "TIME"
    TIMESTAMP_NANOS_TZ = "TIMESTAMP_NANOS_TZ"
    TIMESTAMP_NANOS_NTZ = "TIMESTAMP_NANOS_NTZ"
    UUID = "UUID"


# By their codes in a header.
_PRIMITIVES = (
    VariantType.NULL,
    VariantType.BOOLEAN,
    VariantType.BOOLEAN,
    VariantType.BYTE,
    VariantType.SHORT,
    VariantType.INT,
    VariantType.LONG,
    VariantType.DOUBLE,
    VariantType.DECIMAL4,
    VariantType.DECIMAL8,
    VariantType.DECIMAL16,
    VariantType.DATE,
    VariantType.TIMESTAMP_TZ,
    VariantType.TIMESTAMP_NTZ,
    VariantType.FLOAT,
    VariantType.BINARY,
    VariantType.STRING,
    VariantType.TIME,
    VariantType.TIMESTAMP_NANOS_TZ,
    VariantType.TIMESTAMP_NANOS_NTZ,
    VariantType.UUID,
)
TRUE, FALSE = 1, 2
_CODES = {kind: code for code, kind in enumerate(_PRIMITIVES) if kind is not VariantType.BOOLEAN}
_WIDTHS = {
    VariantType.BYTE: 1,
    VariantType.SHORT: 2,
    VariantType.INT: 4,
    VariantType.LONG: 8,
    VariantType.DATE: 4,
    VariantType.TIME: 8,
    VariantType.TIMESTAMP_TZ: 8,
    VariantType.TIMESTAMP_NTZ: 8,
    VariantType.TIMESTAMP_NANOS_TZ: 8,
    VariantType.TIMESTAMP_NANOS_NTZ: 8,
    VariantType.DECIMAL4: 4,
    VariantType.DECIMAL8: 8,
    VariantType.DECIMAL16: 16,
}
_INTEGERS = (VariantType.BYTE, VariantType.SHORT, VariantType.INT, VariantType.LONG)


class Variant:
    """A value at a place of some bytes. What is within is a Variant of the same bytes."""

    def __init__(self, value: bytes, metadata: bytes, pos: int = 0) -> None:
        self.value = bytes(value)
        self.metadata = bytes(metadata)
        self.pos = pos
        if not self.metadata:
            raise VariantError("malformed variant: it has no metadata")
        version = self.metadata[0] & VERSION_MASK
        if version != VERSION:
            raise VariantError(f"unsupported variant metadata version: {version}")

    def standalone_value_bytes(self) -> bytes:
        """From this value's place on. There may be more than this value in them, which is not read."""
        return self.value[self.pos :] if self.pos else self.value

    def __eq__(self, other: object) -> bool:
        """Of the encodings."""
        if not isinstance(other, Variant):
            return NotImplemented
        return (
            self.standalone_value_bytes() == other.standalone_value_bytes()
            and self.metadata == other.metadata
        )

    def __hash__(self) -> int:
        return hash((self.standalone_value_bytes(), self.metadata))

    # One value

    def get_type(self) -> VariantType:
        basic, detail = self._header()
        if basic == SHORT_STRING:
            return VariantType.STRING
        if basic != PRIMITIVE:
            return VariantType.OBJECT if basic == OBJECT else VariantType.ARRAY
        if detail >= len(_PRIMITIVES):
            raise VariantError(f"unknown variant primitive type: {detail}")
        return _PRIMITIVES[detail]

    def get_boolean(self) -> bool:
        self._expect(VariantType.BOOLEAN)
        return self._header()[1] == TRUE

    def get_byte(self) -> int:
        return self._integer(VariantType.BYTE)

    def get_short(self) -> int:
        return self._integer(VariantType.BYTE, VariantType.SHORT)

    def get_int(self) -> int:
        return self._integer(VariantType.BYTE, VariantType.SHORT, VariantType.INT)

    def get_long(self) -> int:
        """Of anything that is kept as a whole number: dates, times and timestamps too."""
        return self._integer(*(kind for kind in _WIDTHS if not kind.value.startswith("DECIMAL")))

    def get_float(self) -> float:
        self._expect(VariantType.FLOAT)
        return struct.unpack("<f", self._bytes(1, 4))[0]

    def get_double(self) -> float:
        self._expect(VariantType.DOUBLE)
        return struct.unpack("<d", self._bytes(1, 8))[0]

    def get_decimal(self) -> Decimal:
        kind = self.get_type()
        self._expect(VariantType.DECIMAL4, VariantType.DECIMAL8, VariantType.DECIMAL16)
        scale = self._bytes(1, 1)[0]
        unscaled = int.from_bytes(self._bytes(2, _WIDTHS[kind]), "little", signed=True)
        digits = DECIMAL_DIGITS[kind.value]
        if abs(unscaled) >= 10**digits or scale > digits:
            raise VariantError("malformed variant: decimal out of range")
        return Decimal(unscaled).scaleb(-scale, context=EXACT)

    def get_binary(self) -> bytes:
        self._expect(VariantType.BINARY)
        return self._bytes(1 + LENGTH_BYTES, self._number(self.pos + 1, LENGTH_BYTES))

    def get_uuid(self) -> uuid.UUID:
        self._expect(VariantType.UUID)
        return uuid.UUID(bytes=self._bytes(1, UUID_BYTES))

    def get_string(self) -> str:
        self._expect(VariantType.STRING)
        basic, detail = self._header()
        if basic == SHORT_STRING:
            data = self._bytes(1, detail)
        else:
            data = self._bytes(1 + LENGTH_BYTES, self._number(self.pos + 1, LENGTH_BYTES))
        return _text(data)

    # Objects and arrays

    def num_object_fields(self) -> int:
        return self._container(OBJECT)[0]

    def num_array_elements(self) -> int:
        return self._container(ARRAY)[0]

    def get_field_by_key(self, key: str) -> Variant | None:
        count = self.num_object_fields()
        if count < MANY_FIELDS:
            found = (number for number in range(count) if self._key(number) == key)
            number = next(found, None)
            return None if number is None else self._within(OBJECT, number)
        low, high = 0, count - 1
        while low <= high:
            middle = (low + high) // 2
            name = self._key(middle)
            if name == key:
                return self._within(OBJECT, middle)
            low, high = (middle + 1, high) if name < key else (low, middle - 1)
        return None

    def get_field_at_index(self, idx: int) -> tuple[str, Variant]:
        """By its place among the sorted names."""
        return self._key(idx), self._within(OBJECT, idx)

    def get_element_at_index(self, index: int) -> Variant | None:
        return self._within(ARRAY, index) if 0 <= index < self.num_array_elements() else None

    # JSON

    def to_json(self) -> str:
        """Numbers that JSON does not have are their names; dates and times are in ISO 8601, bytes in
        Base64."""
        parts: list[str] = []
        size = 0
        for part in self._json(0, [len(self.value)]):
            size += len(part)
            # A field's name may be long, and is there once.
            if size > SIZE_LIMIT:
                raise VariantError(f"the JSON of this variant is longer than {SIZE_LIMIT} characters")
            parts.append(part)
        return "".join(parts)

    def _json(self, depth: int, left: list[int]) -> Iterator[str]:
        """`left`: values that there may be, since each takes a byte at least."""
        left[0] -= 1
        if left[0] < 0:
            raise VariantError("malformed variant: its values overlap")
        if depth > DEEPEST:
            raise VariantError(f"malformed variant: it is deeper than {DEEPEST} values")
        kind = self.get_type()
        if kind is VariantType.OBJECT:
            yield "{"
            for number in range(self.num_object_fields()):
                key, child = self.get_field_at_index(number)
                yield ("," if number else "") + json.dumps(key, ensure_ascii=False) + ":"
                yield from child._json(depth + 1, left)
            yield "}"
        elif kind is VariantType.ARRAY:
            yield "["
            for number in range(self.num_array_elements()):
                if number:
                    yield ","
                yield from self._within(ARRAY, number)._json(depth + 1, left)
            yield "]"
        else:
            yield self._scalar_json(kind)

    def _scalar_json(self, kind: VariantType) -> str:
        if kind is VariantType.NULL:
            return "null"
        if kind is VariantType.BOOLEAN:
            return "true" if self.get_boolean() else "false"
        if kind is VariantType.STRING:
            return json.dumps(self.get_string(), ensure_ascii=False)
        if kind in _INTEGERS:
            return str(self.get_long())
        if kind is VariantType.FLOAT:
            return _float_text(self.get_float())
        if kind is VariantType.DOUBLE:
            return _double_text(self.get_double())
        if kind.value in DECIMAL_DIGITS:
            return format(self.get_decimal(), "f")
        if kind is VariantType.BINARY:
            return f'"{base64.b64encode(self.get_binary()).decode()}"'
        if kind is VariantType.UUID:
            return f'"{self.get_uuid()}"'
        return f'"{_moment_text(kind, self.get_long())}"'

    # Bytes

    def _header(self) -> tuple[int, int]:
        head = self._bytes(0, 1)[0]
        return head & 3, head >> 2

    def _bytes(self, offset: int, length: int) -> bytes:
        start = self.pos + offset
        if start + length > len(self.value):
            raise VariantError("malformed variant: index out of bounds")
        return self.value[start : start + length]

    def _number(self, start: int, width: int) -> int:
        if start + width > len(self.value):
            raise VariantError("malformed variant: index out of bounds")
        return int.from_bytes(self.value[start : start + width], "little")

    def _expect(self, *kinds: VariantType) -> None:
        kind = self.get_type()
        if kind not in kinds:
            raise VariantError(f"variant is {kind.value}, not {' or '.join(each.value for each in kinds)}")

    def _integer(self, *kinds: VariantType) -> int:
        self._expect(*kinds)
        return int.from_bytes(self._bytes(1, _WIDTHS[self.get_type()]), "little", signed=True)

    def _container(self, expected: int) -> tuple[int, int, int, int, int, int]:
        """Number of parts, widths of ids and offsets, where ids, offsets and values begin."""
        basic, detail = self._header()
        if basic != expected:
            raise VariantError(f"variant is not {'an object' if expected == OBJECT else 'an array'}")
        if basic == OBJECT:
            size_width, id_width = (LENGTH_BYTES if detail >> 4 & 1 else 1), (detail >> 2 & 3) + 1
        else:
            size_width, id_width = (LENGTH_BYTES if detail >> 2 & 1 else 1), 0
        offset_width = (detail & 3) + 1
        count = self._number(self.pos + 1, size_width)
        ids = self.pos + 1 + size_width
        offsets = ids + count * id_width
        values = offsets + (count + 1) * offset_width
        if values > len(self.value):
            raise VariantError("malformed variant: index out of bounds")
        return count, id_width, offset_width, ids, offsets, values

    def _within(self, expected: int, number: int) -> Variant:
        count, _, offset_width, _, offsets, values = self._container(expected)
        if not 0 <= number < count:
            raise VariantError("malformed variant: index out of bounds")
        offset = self._number(offsets + number * offset_width, offset_width)
        if values + offset >= len(self.value):
            raise VariantError("malformed variant: index out of bounds")
        return Variant(self.value, self.metadata, values + offset)

    def _key(self, number: int) -> str:
        count, id_width, _, ids, _, _ = self._container(OBJECT)
        if not 0 <= number < count:
            raise VariantError("malformed variant: index out of bounds")
        return _name(self.metadata, self._number(ids + number * id_width, id_width))


def _name(metadata: bytes, number: int) -> str:
    width = (metadata[0] >> 6) + 1

    def at(place: int) -> int:
        start = 1 + place * width
        if start + width > len(metadata):
            raise VariantError("malformed variant: index out of bounds")
        return int.from_bytes(metadata[start : start + width], "little")

    count = at(0)
    if number >= count:
        raise VariantError("malformed variant: field id out of range")
    begin, end, texts = at(number + 1), at(number + 2), 1 + (count + 2) * width
    if begin > end:
        raise VariantError("malformed variant: non-monotonic metadata offsets")
    if texts + end > len(metadata):
        raise VariantError("malformed variant: index out of bounds")
    return _text(metadata[texts + begin : texts + end])


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise VariantError(f"malformed variant: {error}") from None


def _float_text(number: float) -> str:
    """The shortest decimal that is this number among those of 32 bits."""
    if not math.isfinite(number) or (number.is_integer() and abs(number) < 1e16):
        return _double_text(number)
    for digits in range(1, 10):
        text = f"{number:.{digits}g}"
        try:
            if struct.unpack("<f", struct.pack("<f", float(text)))[0] == number:
                return repr(float(text))
        except OverflowError:
            continue
    return repr(number)


def _double_text(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)


def _moment_text(kind: VariantType, number: int) -> str:
    if kind is VariantType.DATE:
        if not FIRST_DAY <= number <= LAST_DAY:
            raise VariantError(f"date epoch day ({number}) must be in range [{FIRST_DAY}, {LAST_DAY}]")
        return (_EPOCH.date() + datetime.timedelta(days=number)).isoformat()
    if kind is VariantType.TIME:
        if not 0 <= number < DAY_MICROSECONDS:
            raise VariantError(
                f"time microseconds of day ({number}) must be in range [0, {DAY_MICROSECONDS - 1}]"
            )
        return _clock_text(_EPOCH + datetime.timedelta(microseconds=number), number * 1000)[11:]
    has_nanoseconds = kind in (VariantType.TIMESTAMP_NANOS_TZ, VariantType.TIMESTAMP_NANOS_NTZ)
    nanoseconds = number if has_nanoseconds else number * 1000
    try:
        moment = _EPOCH + datetime.timedelta(seconds=nanoseconds // 1_000_000_000)
    except OverflowError:
        raise VariantError(f"timestamp {number} is not of the years 1 to 9999") from None
    zone = "Z" if kind in (VariantType.TIMESTAMP_TZ, VariantType.TIMESTAMP_NANOS_TZ) else ""
    return _clock_text(moment, nanoseconds) + zone


def _clock_text(moment: datetime.datetime, nanoseconds: int) -> str:
    """With as many digits of a second as are needed, three at a time."""
    fraction = f"{nanoseconds % 1_000_000_000:09d}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    text = moment.replace(microsecond=0).isoformat()
    return f"{text}.{fraction}" if fraction else text


def from_bytes(value: bytes, metadata: bytes) -> Variant:
    """Raises: VariantError."""
    return Variant(value, metadata)


def to_json_string(variant: Variant) -> str:
    """Raises: VariantError."""
    return variant.to_json()


def parse_json(json_str: str) -> Variant:
    """The variant of a JSON text. Raises: VariantError, ValueError (it is no JSON)."""
    builder = VariantBuilder()
    try:
        builder.append(json.loads(json_str))
    except RecursionError:
        raise VariantError("the JSON is nested too deeply") from None
    return builder.build()


@dataclass(eq=False, slots=True)
class _Open:
    """An object or an array that is being written. `parts`: names, ids and where their values begin."""

    start: int
    is_object: bool
    key: str | None = None
    parts: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])


class VariantBuilder:
    """Writes a variant, value by value: the root, or what is next in the array or under the key that is
    open. Each call raises: VariantError."""

    DEFAULT_SIZE_LIMIT = SIZE_LIMIT

    def __init__(self, size_limit: int = SIZE_LIMIT) -> None:
        self.size_limit = size_limit
        self._value = bytearray()
        self._names: dict[str, int] = {}
        self._open: list[_Open] = []
        self._has_root = False

    def build(self) -> Variant:
        if self._open:
            raise VariantError("cannot build with an open container")
        if not self._has_root:
            raise VariantError("cannot build an empty variant")
        return Variant(bytes(self._value), self._metadata())

    def append(self, value: Any) -> None:
        """A value as JSON has it, with all that is in it."""
        if isinstance(value, dict):
            self.start_object()
            for key, each in cast(dict[str, Any], value).items():
                self.append_key(key)
                self.append(each)
            self.end_object()
        elif isinstance(value, list):
            self.start_array()
            for each in cast(list[Any], value):
                self.append(each)
            self.end_array()
        elif isinstance(value, str):
            self.append_string(value)
        elif isinstance(value, bool):
            self.append_boolean(value)
        elif isinstance(value, int):
            self._append_smallest(value)
        elif isinstance(value, float):
            self.append_double(value)
        elif isinstance(value, Decimal):
            self.append_decimal(value)
        elif value is None:
            self.append_null()
        else:
            raise VariantError(f"unsupported JSON value: {type(value)!r}")

    def append_null(self) -> None:
        self._put(VariantType.NULL, b"")

    def append_boolean(self, b: bool) -> None:
        self._put_header((TRUE if b else FALSE) << 2, b"")

    def append_byte(self, value: int) -> None:
        self._put_integer(VariantType.BYTE, value)

    def append_short(self, value: int) -> None:
        self._put_integer(VariantType.SHORT, value)

    def append_int(self, value: int) -> None:
        self._put_integer(VariantType.INT, value)

    def append_long(self, value: int) -> None:
        self._put_integer(VariantType.LONG, value)

    def append_float(self, value: float) -> None:
        self._put(VariantType.FLOAT, struct.pack("<f", value))

    def append_double(self, value: float) -> None:
        self._put(VariantType.DOUBLE, struct.pack("<d", value))

    def append_decimal(self, unscaled: Any, scale: int | None = None) -> None:
        """A Decimal; or a whole number, or big-endian bytes of one, with a scale."""
        if isinstance(unscaled, Decimal):
            if scale is not None:
                raise VariantError("scale must not be given with a Decimal value")
            sign, digits, exponent = unscaled.as_tuple()
            if not isinstance(exponent, int):
                raise VariantError("cannot encode non-finite decimal")
            if len(digits) > DECIMAL_DIGITS["DECIMAL16"]:
                raise VariantError("decimal exceeds maximum precision (38)")
            number = int("".join(map(str, digits)) or "0")
            self._put_decimal(-number if sign else number, -exponent)
        elif isinstance(unscaled, int | bytes | bytearray):
            if scale is None:
                raise VariantError("scale is required when appending an unscaled decimal")
            number = unscaled if isinstance(unscaled, int) else int.from_bytes(unscaled, "big", signed=True)
            self._put_decimal(number, scale)
        else:
            raise VariantError("invalid append_decimal arguments")

    def append_string(self, s: str) -> None:
        data = s.encode()
        if len(data) <= LONGEST_SHORT_STRING:
            self._put_header(len(data) << 2 | SHORT_STRING, data)
        else:
            self._put(VariantType.STRING, len(data).to_bytes(LENGTH_BYTES, "little") + data)

    def append_binary(self, data: bytes) -> None:
        self._put(VariantType.BINARY, len(data).to_bytes(LENGTH_BYTES, "little") + bytes(data))

    def append_uuid(self, value: uuid.UUID | bytes) -> None:
        data = value.bytes if isinstance(value, uuid.UUID) else bytes(value)
        if len(data) != UUID_BYTES:
            raise VariantError("uuid must be 16 bytes")
        self._put(VariantType.UUID, data)

    def append_date(self, days_since_epoch: int) -> None:
        self._put_integer(VariantType.DATE, days_since_epoch)

    def append_time(self, micros_since_midnight: int) -> None:
        self._put_integer(VariantType.TIME, micros_since_midnight)

    def append_timestamp_tz(self, micros: int) -> None:
        self._put_integer(VariantType.TIMESTAMP_TZ, micros)

    def append_timestamp_ntz(self, micros: int) -> None:
        self._put_integer(VariantType.TIMESTAMP_NTZ, micros)

    def append_timestamp_nanos_tz(self, nanos: int) -> None:
        self._put_integer(VariantType.TIMESTAMP_NANOS_TZ, nanos)

    def append_timestamp_nanos_ntz(self, nanos: int) -> None:
        self._put_integer(VariantType.TIMESTAMP_NANOS_NTZ, nanos)

    def start_object(self) -> None:
        self._begin_value()
        self._open.append(_Open(len(self._value), is_object=True))

    def append_key(self, key: str) -> None:
        if not self._open or not self._open[-1].is_object:
            raise VariantError("append_key called outside of an object")
        if self._open[-1].key is not None:
            raise VariantError("append_key called twice without an intervening value")
        self._open[-1].key = key
        self._names.setdefault(key, len(self._names))

    def end_object(self) -> None:
        if not self._open or not self._open[-1].is_object:
            raise VariantError("end_object without a matching start_object")
        if self._open[-1].key is not None:
            raise VariantError("end_object with a dangling append_key (no value)")
        done = self._open.pop()
        done.parts.sort(key=lambda part: part[0])
        self._close(done)

    def start_array(self) -> None:
        self._begin_value()
        self._open.append(_Open(len(self._value), is_object=False))

    def end_array(self) -> None:
        if not self._open or self._open[-1].is_object:
            raise VariantError("end_array without a matching start_array")
        self._close(self._open.pop())

    def _begin_value(self) -> None:
        if not self._open:
            if self._has_root:
                raise VariantError("cannot append multiple root values")
            self._has_root = True
            return
        within = self._open[-1]
        if within.is_object and within.key is None:
            raise VariantError("a value in an object must follow append_key")
        key = within.key or ""
        within.parts.append((key, self._names.get(key, 0), len(self._value) - within.start))
        within.key = None

    def _put(self, kind: VariantType, data: bytes) -> None:
        self._put_header(_CODES[kind] << 2 | PRIMITIVE, data)

    def _put_header(self, header: int, data: bytes) -> None:
        self._check_room(1 + len(data))
        self._begin_value()
        self._value.append(header)
        self._value += data

    def _put_integer(self, kind: VariantType, value: int) -> None:
        width = _WIDTHS[kind]
        try:
            self._put(kind, int(value).to_bytes(width, "little", signed=True))
        except OverflowError:
            raise VariantError(f"integer value out of range for a {width}-byte width") from None

    def _append_smallest(self, value: int) -> None:
        for kind in _INTEGERS:
            if -(1 << 8 * _WIDTHS[kind] - 1) <= value < 1 << 8 * _WIDTHS[kind] - 1:
                return self._put_integer(kind, value)
        return self._put_decimal(value, 0)

    def _put_decimal(self, unscaled: int, scale: int) -> None:
        if scale < 0:
            raise VariantError("cannot encode decimal with negative scale")
        for name, digits in DECIMAL_DIGITS.items():
            if scale <= digits and abs(unscaled) < 10**digits:
                kind = VariantType(name)
                return self._put(
                    kind, bytes([scale]) + unscaled.to_bytes(_WIDTHS[kind], "little", signed=True)
                )
        raise VariantError("decimal exceeds maximum precision (38)")

    def _close(self, done: _Open) -> None:
        """Puts the header before the values."""
        count, size = len(done.parts), len(self._value) - done.start
        size_width = LENGTH_BYTES if count > 0xFF else 1
        id_width = _width(max((part[1] for part in done.parts), default=0)) if done.is_object else 0
        offset_width = _width(size)
        if done.is_object:
            flags = int(count > 0xFF) << 4 | (id_width - 1) << 2 | offset_width - 1
            header = bytearray([flags << 2 | OBJECT])
        else:
            header = bytearray([(int(count > 0xFF) << 2 | offset_width - 1) << 2 | ARRAY])
        header += count.to_bytes(size_width, "little")
        for _, number, _ in done.parts if done.is_object else ():
            header += number.to_bytes(id_width, "little")
        for offset in (*(part[2] for part in done.parts), size):
            header += offset.to_bytes(offset_width, "little")
        self._check_room(len(header))
        self._value[done.start : done.start] = header

    def _metadata(self) -> bytes:
        names = [name.encode() for name in self._names]
        size = sum(map(len, names))
        width = _width(max(size, len(names)))
        if 1 + (len(names) + 2) * width + size > self.size_limit:
            raise VariantError("variant size limit exceeded")
        found = bytearray([VERSION | (width - 1) << 6])
        found += len(names).to_bytes(width, "little")
        offset = 0
        for each in (*names, b""):
            found += offset.to_bytes(width, "little")
            offset += len(each)
        return bytes(found + b"".join(names))

    def _check_room(self, more: int) -> None:
        if len(self._value) + more > self.size_limit:
            raise VariantError("variant size limit exceeded")


def _width(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 8)
