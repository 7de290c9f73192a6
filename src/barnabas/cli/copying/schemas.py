"""`copy --to-schema-registry`: schemas that copied keys and values name are registered in another registry,
and the ids before the values, or in their headers, become those that they have there.

Owns which subjects schemas are registered under. Knows nothing of clients.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from barnabas.cli.options import UsageError
from barnabas.errors import SerializationError
from barnabas.records.texts import SIDES, Side
from barnabas.registry.errors import RegistryError, SchemaNotFoundError, SubjectNotFoundError
from barnabas.registry.schemas import RegisteredSchema, RegistrySettings, Schema, SubjectVersion
from barnabas.registry.serializers.schema_id import (
    GUID_MAGIC,
    ID_MAGIC,
    KEY_HEADER,
    PREFIX_BYTES,
    VALUE_HEADER,
)
from barnabas.values import frozen

if TYPE_CHECKING:
    import pyarrow

    from barnabas import Registry

OnUnframed = Literal["stop", "skip", "keep"]
ON_UNFRAMED: tuple[OnUnframed, ...] = ("stop", "skip", "keep")
"""What becomes of a record that names no schema, or one that the registry does not have."""
_GUID_BYTES = 17
_PAGE = 1_000
# Where so many keys that look as if they named a schema name none, they are numbers, or random.
_MOST_PLAIN_KEYS = 1_000
_HEADERS: dict[Side, str] = {"key": KEY_HEADER, "value": VALUE_HEADER}
_FIELDS = ("subject", "topic", "side")
_FIELD = re.compile(r"\{(\w*)\}")


class SubjectNames:
    """What subjects are called in the other registry: as they are, or by a template of {subject}, {topic},
    which is the name at the target, and {side}. Raises: UsageError."""

    def __init__(self, template: str | None) -> None:
        for name in _FIELD.findall(template or ""):
            if name not in _FIELDS:
                known = ", ".join(f"{{{each}}}" for each in _FIELDS)
                raise UsageError(f"--to-subject has no field {{{name}}}; there are {known}")
        if template is not None and not _FIELD.search(template):
            raise UsageError(
                f"--to-subject {template!r} would be the subject of all schemas: it has none of {{subject}}, "
                "{topic} and {side}"
            )
        self._template = template

    def of(self, subject: str, topic: str, side: Side) -> str:
        """Of a schema that records name."""
        fields = {"subject": subject, "topic": topic, "side": side}
        return subject if self._template is None else _FIELD.sub(lambda m: fields[m[1]], self._template)

    def of_reference(self, subject: str, topic: str, side: Side) -> str:
        """Of one that such a schema refers to. A template that is not about subjects leaves it as it is."""
        is_kept = self._template is None or "{subject}" not in self._template
        return subject if is_kept else self.of(subject, topic, side)


@frozen
class SubjectPreview:
    """A subject of the source, and how many versions it and the one at the target have now."""

    subject: str
    versions: int
    target_subject: str
    target_versions: int


class SchemaTransfer:
    """From one registry to another. Each schema is registered once, after all versions of its subject that
    came before it, so that the order of versions stays. `sides`: those that have schemas; None: values, and
    keys where the source has the subject TOPIC-key."""

    def __init__(
        self,
        source: Registry,
        target: Registry,
        names: SubjectNames,
        *,
        sides: Sequence[Side] | None,
        on_unframed: OnUnframed,
    ) -> None:
        self._source = source
        self._target = target
        self._names = names
        self._sides = sides
        self._on_unframed: OnUnframed = on_unframed
        self._sides_by_topic: dict[str, Sequence[Side]] = {}
        self._plain_keys: set[bytes] = set()
        """How keys begin that look as if they named a schema, and do not."""
        self._known_there: set[str] | None = None
        self._registered: dict[tuple[str, int, str], RegisteredSchema] = {}
        self._prefixes: dict[tuple[str, Side, bytes], bytes | str] = {}
        self._ids: dict[str, int] = {}
        self._ids_seen: set[tuple[str, int]] = set()
        self.left: Counter[str] = Counter()
        """How many records were left out, or left as they were, by their topics."""

    def sides_of(self, topic: str) -> Sequence[Side]:
        if self._sides is not None:
            return self._sides
        if topic not in self._sides_by_topic:
            has_keys = f"{topic}-key" in self._source.subjects()
            self._sides_by_topic[topic] = SIDES if has_keys else ("value",)
        return self._sides_by_topic[topic]

    def preview(self, targets: Mapping[str, str]) -> list[SubjectPreview]:
        """The subjects of the topics' names. What else records name is known when they are read."""
        here, there = set(self._source.subjects()), set(self._target.subjects())
        found: list[SubjectPreview] = []
        for topic, target in targets.items():
            for side in self.sides_of(topic):
                subject = f"{topic}-{side}"
                if subject in here:
                    name = self._names.of(subject, target, side)
                    versions = len(self._source.versions(subject))
                    at_target = len(self._target.versions(name)) if name in there else 0
                    found.append(SubjectPreview(subject, versions, name, at_target))
        return found

    def rewritten(self, batch: pyarrow.RecordBatch, topic: str, target: str) -> pyarrow.RecordBatch:
        """The rows of one topic with what names their schemas at the target, the topic `target`. Raises:
        SerializationError (names topic, partition and offset), RegistryError."""
        import pyarrow as pa

        compute = _compute()
        if "key" not in self.sides_of(topic) and self._sides is None:
            self._check_plain_keys(batch, topic)
        unread = pa.array([False] * batch.num_rows, pa.bool_())
        columns = {name: batch.column(name) for name in batch.schema.names}
        for side in self.sides_of(topic):

            def swap(prefix: bytes, side: Side = side) -> bytes | str:
                return self._swapped(prefix, topic, target, side)

            headers, has_header, broken = _with_headers(columns["headers"], _HEADERS[side], swap)
            column, unframed = _with_prefixes(columns[side], swap, compute.invert(has_header))
            bad = compute.or_(broken, unframed)
            if self._on_unframed == "stop" and compute.any(bad).as_py():
                row = bad.index(True).as_py()
                raise SerializationError(self._why(batch, row, side, swap))
            unread = compute.or_(unread, bad)
            columns |= {"headers": headers, side: column}
        count = compute.sum(unread.cast(pa.int64())).as_py() or 0
        if count == 0:
            return pa.RecordBatch.from_pydict(columns)
        self.left[topic] += count
        if self._on_unframed == "skip":
            return pa.RecordBatch.from_pydict(columns).filter(compute.invert(unread))
        # A record of which one side cannot be read is kept as it is on both.
        kept = {
            name: compute.replace_with_mask(columns[name], unread, batch.column(name).filter(unread))
            for name in ("key", "value")
        }
        if not columns["headers"].equals(batch.column("headers")):
            places = pa.array(range(batch.num_rows), pa.int64())
            both = pa.chunked_array(
                [columns["headers"], batch.column("headers").cast(columns["headers"].type)]
            )
            kept["headers"] = both.take(
                compute.if_else(unread, compute.add(places, batch.num_rows), places)
            ).combine_chunks()
        return pa.RecordBatch.from_pydict(columns | kept)

    def _check_plain_keys(self, batch: pyarrow.RecordBatch, topic: str) -> None:
        """Raises: SerializationError where keys name schemas after all, under another subject."""
        for prefix in _prefixes_of(batch.column("key")):
            if prefix in self._plain_keys or len(self._plain_keys) > _MOST_PLAIN_KEYS:
                continue
            if self._is_known(prefix):
                raise SerializationError(
                    f"keys of {topic} look as if they named schemas, and there is no subject {topic}-key: "
                    "say whether they do, by --schemas-in both, or value"
                )
            self._plain_keys.add(prefix)

    def _is_known(self, prefix: bytes) -> bool:
        try:
            if prefix[0] == ID_MAGIC:
                self._source.schema(int.from_bytes(prefix[1:]))
            else:
                self._source.schema_by_guid(str(uuid.UUID(bytes=prefix[1:])))
        except SchemaNotFoundError:
            return False
        return True

    def _why(
        self, batch: pyarrow.RecordBatch, row: int, side: Side, swap: Callable[[bytes], bytes | str]
    ) -> str:
        place = "{}-{} at offset {}".format(
            *(batch.column(name)[row].as_py() for name in ("topic", "partition", "offset"))
        )
        headers = {each["key"]: each["value"] for each in batch.column("headers")[row].as_py() or ()}
        data = headers.get(_HEADERS[side]) or batch.column(side)[row].as_py() or b""
        prefix = _prefix_of(data)
        reason = "names no schema" if prefix is None else swap(prefix)
        no_keys = ", --schemas-in value where keys have no schemas" if side == "key" else ""
        return (
            f"{place}: the {side} {reason!s}: it is not copied (--on-error keep copies such records as they "
            f"are, skip leaves them out{no_keys})"
        )

    def _swapped(self, prefix: bytes, topic: str, target: str, side: Side) -> bytes | str:
        """What names the schema at the target, or what is wrong."""
        key = (topic, side, prefix)
        if key not in self._prefixes:
            self._prefixes[key] = self._found(prefix, topic, target, side)
        return self._prefixes[key]

    def _found(self, prefix: bytes, topic: str, target: str, side: Side) -> bytes | str:
        is_id = prefix[0] == ID_MAGIC
        named = str(int.from_bytes(prefix[1:]) if is_id else uuid.UUID(bytes=prefix[1:]))
        try:
            versions = self._versions(int(named) if is_id else self._id_of(named), topic, side)
        except SchemaNotFoundError:
            return f"names schema {named}, which the registry of the source does not have"
        found = [
            self._moved(each, self._names.of(each.subject, target, side), target, side) for each in versions
        ]
        there = found[0]
        if any(each.id != there.id for each in found):
            raise SerializationError(
                f"schema {named} has several subjects, which the other registry has in several contexts: "
                "copy topics of one context at a time"
            )
        if is_id:
            return prefix[:1] + there.id.to_bytes(4)
        if there.guid is None:
            return f"names schema {named}, and the registry of the target is too old to have GUIDs"
        return prefix[:1] + uuid.UUID(there.guid).bytes

    def _id_of(self, guid: str) -> int:
        """Raises: SchemaNotFoundError."""
        self._source.schema_by_guid(guid)
        if guid not in self._ids:
            # A registry tells no subjects of a GUID.
            page: list[RegisteredSchema] = []
            while page := self._source.schemas(deleted=True, offset=len(self._ids_seen), limit=_PAGE):
                new = [each for each in page if (each.subject, each.version) not in self._ids_seen]
                if not new:
                    break
                self._ids_seen.update((each.subject, each.version) for each in new)
                self._ids |= {each.guid: each.id for each in new if each.guid is not None}
        if guid not in self._ids:
            raise SchemaNotFoundError(f"no subject has schema {guid}")
        return self._ids[guid]

    def _versions(self, schema_id: int, topic: str, side: Side) -> list[SubjectVersion]:
        """That of the topic's own subject, else of subjects that begin with the topic, else of all that the
        schema has."""
        found = self._source.versions_of(schema_id, deleted=True)
        own = [each for each in found if each.subject == f"{topic}-{side}"]
        of_topic = [each for each in found if each.subject.startswith(f"{topic}-")]
        chosen = own or of_topic or found
        if not chosen:
            raise SchemaNotFoundError(f"schema {schema_id} has no subject")
        # Of a subject the last version that has the schema.
        return list({each.subject: each for each in chosen}.values())

    def _moved(self, at: SubjectVersion, subject: str, target: str, side: Side) -> RegisteredSchema:
        """Registers a version, and those before it, as versions of `subject`."""
        known = self._registered.get((at.subject, at.version, subject))
        if known is not None:
            return known
        try:
            before = [version for version in self._source.versions(at.subject) if version < at.version]
        except SubjectNotFoundError:
            before = []  # it was deleted since
        for version in (*before, at.version):
            key = (at.subject, version, subject)
            if key not in self._registered:
                self._carry_compatibility(at.subject, subject)
                here = self._source.version(at.subject, version, deleted=True).schema
                self._registered[key] = self._target.register(subject, self._ready(here, target, side))
        return self._registered[at.subject, at.version, subject]

    def _carry_compatibility(self, subject: str, target: str) -> None:
        """Sets what is set for the subject, where the other registry does not have it yet: versions that may
        follow each other at the source may do so there, too."""
        if self._known_there is None:
            self._known_there = set(self._target.subjects())
        if target in self._known_there:
            return
        self._known_there.add(target)
        try:
            level = self._source.settings(subject).compatibility
        except RegistryError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            level = None
        if level is not None:
            self._target.set_settings(RegistrySettings(compatibility=level), target)

    def _ready(self, schema: Schema, target: str, side: Side) -> Schema:
        """With references to the subjects and versions of the other registry."""
        references = [
            replace(each, subject=there.subject, version=there.version)
            for each in schema.references
            for there in (
                self._moved(
                    SubjectVersion(each.subject, each.version),
                    self._names.of_reference(each.subject, target, side),
                    target,
                    side,
                ),
            )
        ]
        return replace(schema, references=tuple(references))


def _prefix_of(data: bytes) -> bytes | None:
    if data[:1] == bytes([ID_MAGIC]) and len(data) >= PREFIX_BYTES:
        return data[:PREFIX_BYTES]
    if data[:1] == bytes([GUID_MAGIC]) and len(data) >= _GUID_BYTES:
        return data[:_GUID_BYTES]
    return None


def _prefixes_of(column: pyarrow.Array) -> set[bytes]:
    import pyarrow as pa

    compute = _compute()
    found: set[bytes] = set()
    for magic, size in ((ID_MAGIC, PREFIX_BYTES), (GUID_MAGIC, _GUID_BYTES)):
        begins = compute.equal(compute.binary_slice(column, 0, 1), pa.scalar(bytes([magic]), pa.binary()))
        is_long = compute.greater_equal(compute.binary_length(column), size)
        framed = column.filter(compute.fill_null(compute.and_(begins, is_long), False))
        found.update(compute.binary_slice(framed, 0, size).unique().to_pylist())
    return found


def _with_prefixes(
    column: pyarrow.Array, swap: Callable[[bytes], bytes | str], is_meant: pyarrow.BooleanArray
) -> tuple[pyarrow.Array, pyarrow.BooleanArray]:
    """The column with other prefixes where it is meant, and which rows have none that is known. Nothing is
    done row by row: all rows of one prefix are changed at once."""
    import pyarrow as pa

    compute = _compute()
    length = compute.binary_length(column)
    first = compute.binary_slice(column, 0, 1)
    is_meant = compute.and_(is_meant, column.is_valid())
    unread = is_meant
    for magic, size in ((ID_MAGIC, PREFIX_BYTES), (GUID_MAGIC, _GUID_BYTES)):
        has_magic = compute.equal(first, pa.scalar(bytes([magic]), pa.binary()))
        framed = compute.fill_null(compute.and_(has_magic, compute.greater_equal(length, size)), False)
        framed = compute.and_(framed, is_meant)
        prefixes = compute.if_else(framed, compute.binary_slice(column, 0, size), None)
        changed = column
        for prefix in prefixes.unique().to_pylist():
            new = None if prefix is None else swap(prefix)
            if not isinstance(new, bytes):
                continue
            rows = compute.fill_null(compute.equal(prefixes, pa.scalar(prefix, pa.binary())), False)
            of_prefix = compute.binary_replace_slice(column.filter(rows), 0, size, new)
            changed = compute.replace_with_mask(changed, rows, of_prefix)
            unread = compute.and_not(unread, rows)
        column = changed
    return column, unread


def _with_headers(
    headers: pyarrow.ListArray, name: str, swap: Callable[[bytes], bytes | str]
) -> tuple[pyarrow.ListArray, pyarrow.BooleanArray, pyarrow.BooleanArray]:
    """The column of headers with other schemas in those called `name`; which rows have one; and which rows
    have one that is not known."""
    import pyarrow as pa

    compute = _compute()
    count = len(headers)
    none = pa.array([False] * count, pa.bool_())
    entries = headers.flatten()
    names, values = entries.field("key"), entries.field("value")
    is_named = compute.fill_null(compute.equal(names, pa.scalar(name, names.type)), False)
    if not compute.any(is_named).as_py():
        return headers, none, none
    changed, unread = _with_prefixes(values, swap, is_named)
    # A header without a value names nothing.
    unread = compute.or_(unread, compute.and_(is_named, values.is_null()))
    rows = compute.list_parent_indices(headers)
    places = pa.array(range(count), rows.type)
    has_header = compute.is_in(places, value_set=rows.filter(is_named))
    broken = compute.is_in(places, value_set=rows.filter(unread))
    lengths = compute.fill_null(compute.list_value_length(headers), 0)
    ends = compute.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    whole = pa.StructArray.from_arrays([names, changed], ["key", "value"])
    return pa.ListArray.from_arrays(offsets, whole), has_header, broken


def _compute() -> Any:
    # Its functions are made when it is imported, and have no types.
    import pyarrow.compute

    return pyarrow.compute
