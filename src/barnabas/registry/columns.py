"""`RegistryFormat`: columns of keys or values whose schemas a registry keeps. The kernel decodes and encodes.

Owns which schema a column has, and what reads the schemas that values name into it. What a registry is asked
comes by steps, so that it serves plain calls and asyncio alike. Knows no Kafka client.
"""

# PyArrow has no types, and makes its compute functions at run time.
# pyright: reportAttributeAccessIssue=false
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import inspect
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError:
    from barnabas.errors import MissingExtraError

    raise MissingExtraError("RegistryFormat", "arrow") from None

from barnabas._kernel import schema_keys
from barnabas.errors import MisuseError
from barnabas.formats import Codec, Form, SchemaError, avro, json, protobuf
from barnabas.formats.codec import scattered
from barnabas.formats.json_schema import arrow_type
from barnabas.formats.protobuf_values import is_known
from barnabas.formats.sides import Side, table_with, with_decoded, with_encoded
from barnabas.registry.cache import Cache
from barnabas.registry.calls import RegistryCalls
from barnabas.registry.errors import RegistryError, SchemaNotFoundError
from barnabas.registry.exchange import Steps
from barnabas.registry.references import referenced
from barnabas.registry.rules.engine import has_rules, migrations, rules_in_words, rules_to_run
from barnabas.registry.rules.kinds import RuleMode, RulePhase
from barnabas.registry.schemas import RegisteredSchema, Rule, RuleSet, Schema
from barnabas.registry.serializers.serializing import latest_or_none
from barnabas.registry.serializers.subjects import NOT_FOUND
from barnabas.values import frozen

SchemaKey = int | bytes
"""How a value names its schema: an id, or the bytes of a guid."""

HEADERS: Mapping[Side, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}
_PREFIXES: Mapping[str, str] = {"AVRO": "Avro", "JSON": "JSON", "PROTOBUF": "Protobuf"}
"""Of the serializers' names, by the type of the schema."""
MOST_WRITERS = 1_000
"""Schemas of writers that one format keeps."""


References = Mapping[str, str]
"""Texts by the names that a schema refers to them by, each after those that it needs."""


class AnyRegistry(Protocol):
    """`barnabas.Registry` and `barnabas.aio.Registry`."""

    calls: RegistryCalls

    def run(self, steps: Steps[Any]) -> Any: ...


@frozen
class _ColumnSchema:
    """A schema with what it refers to, each after what it needs, and the column that it has. `registered`:
    None where it is not of a version of a subject."""

    schema: Schema
    references: References
    form: Form
    registered: RegisteredSchema | None = None


class RegistryFormat:
    """What keys or values of records are, by a registry's schema (extras: registry, arrow; avro or protobuf).
    All threads may share one, and it may be pickled. For `poll_arrow` and `send_arrow`.

    The column has the schema of `subject` in `version`, by default the latest when it is first used, or the
    schema with this `id`, or `schema`. When records are read, each may have been written with another schema,
    which it names before the value or in a header: it is resolved into the column's. When they are written,
    `schema` is registered under `subject`, or with `registers=False` looked up there. `type`: AVRO, JSON or
    PROTOBUF, the only one that is taken, and that of a `schema` that is text. `message`: of Protobuf, the
    name of the message; by default the first of its file.

    Columns run no rules. Where the schema, or the subject's latest version, has rules for writing, nothing is
    written (SchemaError); a value whose schema has rules for reading, or that has to be migrated by rules, is
    one that cannot be read. `ignores_rules=True` reads and writes as if there were none: what is encrypted
    comes encrypted, and what should be encrypted is written as it is.

    Raises: MisuseError (not exactly one schema is named), MissingExtraError.
    """

    def __init__(
        self,
        registry: AnyRegistry,
        subject: str | None = None,
        *,
        version: int | None = None,
        id: int | None = None,
        schema: Schema | str | None = None,
        type: str | None = None,
        message: str | None = None,
        registers: bool = True,
        normalize: bool = False,
        ignores_rules: bool = False,
    ) -> None:
        if sum(given is not None for given in (version, id, schema)) > 1:
            raise MisuseError("version, id and schema exclude each other")
        if subject is None and id is None and schema is None:
            raise MisuseError("which schema? Give a subject, an id or a schema")
        self._registry = registry
        self._subject, self._version, self._id = subject, version, id
        # Ids are a context's, which a subject names.
        self._context = subject if subject is not None and subject.startswith(":") else None
        self._schema = Schema(schema, type or "AVRO") if isinstance(schema, str) else schema
        self._type, self._message = type, message
        self._registers, self._normalize = registers, normalize
        self._ignores_rules = ignores_rules
        self._begin(None, None)

    def _begin(self, reader: _ColumnSchema | None, written_id: int | None) -> None:
        self._lock = threading.Lock()
        self._reader = reader
        self._written_id = written_id
        self._codec: Codec | None = None
        self._encoding: Codec | None = None
        self._writers: Cache[SchemaKey, Codec] = Cache(MOST_WRITERS)

    def __getstate__(self) -> dict[str, Any]:
        made_here = ("_lock", "_codec", "_encoding", "_writers")
        return {name: value for name, value in self.__dict__.items() if name not in made_here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin(self._reader, self._written_id)

    def __repr__(self) -> str:
        what = self._subject or (f"id {self._id}" if self._id is not None else "a schema")
        return f"RegistryFormat({what})"

    # For clients, who wait for what comes of `run`, or await it

    @property
    def is_awaited(self) -> bool:
        """Whether the registry is one of `barnabas.aio`."""
        return inspect.iscoroutinefunction(self._registry.run)

    def run(self, steps: Steps[Any]) -> Any:
        """What comes of steps of this format; with a Registry of `barnabas.aio` it has to be awaited."""
        return self._registry.run(steps)

    def decoded(self, batch: pa.RecordBatch, side: Side) -> Steps[pa.RecordBatch]:
        """Records with this side as a column of its type, null where it cannot be read; what that was stands
        in the column `valueError` (`keyError`), struct<bytes: binary, field: string, message: string>.

        Raises: RegistryError, SchemaError (of the column's own schema).
        """
        headers = named_in_headers(batch, side)
        values = batch.column(side)
        return with_decoded(batch, side, *(yield from self.column_of(values, headers)))

    def encoded(self, rows: Any, side: Side) -> Steps[pa.Table]:
        """A table or a record batch with this side's column as bytes.

        Raises: SerializationError (names row and field), RegistryError, SchemaError.
        """
        table = table_with(rows, side, self)
        codec = yield from self._encoder()
        return with_encoded(table, side, codec.encode)

    # Columns

    def data_type(self) -> Steps[pa.DataType]:
        """That of the column. Raises: RegistryError, SchemaError."""
        reader = yield from self._read()
        return reader.form.data_type

    def column_of(
        self, values: pa.Array, headers: pa.Array | None = None, *, stop_at_error: bool = False
    ) -> Steps[tuple[pa.Array, pa.StructArray]]:
        """Decodes as `Codec.decode` does. Raises: RegistryError, SchemaError."""
        reader = yield from self._read()
        codec = self._codec
        if codec is None:
            codec = self._codec = Codec(reader.form)
        writers: dict[SchemaKey, Codec | str] = {}
        for key in schema_keys(values, headers):
            known = self._writers.get(key)
            if known is None:
                found = yield from self._writer(key, reader)
                if isinstance(found, Codec):
                    self._writers.put(key, found)
                writers[key] = found
            else:
                writers[key] = known
        return codec.decode_by_schema(values, writers, headers, stop_at_error=stop_at_error)

    def bytes_of(self, column: pa.Array) -> Steps[pa.Array]:
        """Encodes as `Codec.encode` does. Raises: EncodeError, RegistryError, SchemaError."""
        codec = yield from self._encoder()
        return codec.encode(column)

    def _encoder(self) -> Steps[Codec]:
        codec = self._encoding
        if codec is None:
            form, id = yield from self.writing()
            codec = self._encoding = Codec(form.with_header(id))
        return codec

    def writing(self) -> Steps[tuple[Form, int]]:
        """What is written, and the schema's id, which is registered now if it was not. Raises: RegistryError,
        SchemaError (also where there are rules to be run)."""
        reader = yield from self._read()
        id = self._written_id
        self._check_writing(reader.schema.rule_set, reader.registered)
        if id is None:
            if self._subject is None:
                raise MisuseError(
                    "under which subject is the schema registered? Give one, or the schema's id"
                )
            calls = self._registry.calls
            if reader.schema.rule_set is None and not self._ignores_rules:
                latest = yield from latest_or_none(calls, self._subject)
                if latest is not None:
                    self._check_writing(latest.schema.rule_set, latest)
            put = calls.register if self._registers else calls.look_up
            registered = yield from put(self._subject, reader.schema, normalize=self._normalize)
            self._check_writing(registered.schema.rule_set, registered)
            id = self._written_id = registered.id
        return reader.form, id

    def with_type(self, data_type: pa.DataType) -> RegistryFormat:
        """The same for a column whose type has other names or flags where they do not matter; `data_type` was
        asked for before."""
        if self._reader is None:
            raise MisuseError("the schema is not known yet")
        other = RegistryFormat.__new__(RegistryFormat)
        other.__setstate__(self.__getstate__())
        reader = self._reader
        other._reader = replace(reader, form=reader.form.with_type(data_type))
        return other

    # What is asked

    def _read(self) -> Steps[_ColumnSchema]:
        """The column's schema: whoever is first decides, since the latest may change."""
        if self._reader is not None:
            return self._reader
        calls, id = self._registry.calls, self._id
        registered = None
        if self._schema is not None:
            schema, id = self._schema, None
        elif id is not None:
            schema = yield from calls.schema(id)
        else:
            subject = self._subject or ""
            if self._version is None:
                registered = yield from calls.latest(subject)
            else:
                registered = yield from calls.version(subject, self._version)
            schema, id = registered.schema, registered.id
        if self._type not in (None, schema.type):
            raise SchemaError(f"the schema of {self!r} is of the type {schema.type}, not {self._type}")
        references = yield from _referred_to(calls, schema)
        found = replace(_column_schema(schema, references, self._message), registered=registered)
        with self._lock:
            if self._reader is None:
                self._written_id, self._reader = id, found
            return self._reader

    def _writer(self, key: SchemaKey, reader: _ColumnSchema) -> Steps[Codec | str]:
        """What reads the values that name this schema, or in words why they are not read."""
        calls = self._registry.calls
        name = f"id {key}" if isinstance(key, int) else f"guid {uuid.UUID(bytes=key)}"
        try:
            if isinstance(key, int):
                schema = yield from calls.schema(key, subject=self._context)
            else:
                schema = yield from calls.schema_by_guid(str(uuid.UUID(bytes=key)))
            references = yield from _referred_to(calls, schema)
        except SchemaNotFoundError as error:
            return f"its schema, {name}, is not in the registry: {error}"
        if not self._ignores_rules:
            rules = yield from self._rules_to_read(schema, reader)
            if rules:
                has = rules_in_words(rules, "type", "mode")
                by = f"{_PREFIXES.get(schema.type, '')}Deserializer"
                return (
                    f"its schema, {name}, has {has}, and {self!r} runs no rules: read it with {by}, or "
                    "with ignores_rules=True as it was written"
                )
        if schema.type != reader.schema.type:
            return f"its schema, {name}, is of the type {schema.type}, and the column's {reader.schema.type}"
        try:
            form = _resolved(schema, references, reader)
            return Codec(form.with_type(reader.form.data_type).with_header())
        except SchemaError as error:
            return f"its schema, {name}, cannot be read: {error}"

    def _check_writing(self, rule_set: RuleSet | None, registered: RegisteredSchema | None) -> None:
        """Raises: SchemaError."""
        if self._ignores_rules:
            return
        rules = rules_to_run(rule_set, RuleMode.WRITE, RulePhase.DOMAIN, RulePhase.ENCODING)
        if rules:
            whose = (
                f"the schema of {self!r}"
                if registered is None
                else f"version {registered.version} of subject {registered.subject!r}"
            )
            kind = "AVRO" if self._reader is None else self._reader.schema.type
            has = rules_in_words(rules, "type", "mode")
            by = f"{_PREFIXES.get(kind, '')}Serializer"
            raise SchemaError(
                f"{whose} has {has}, and {self!r} runs no rules: nothing was written. Write with {by}, or "
                "with ignores_rules=True what no rule has changed or checked"
            )

    def _rules_to_read(self, schema: Schema, reader: _ColumnSchema) -> Steps[Sequence[Rule]]:
        """Those that would have to be run over values of `schema` to have them in the column's."""
        rules = rules_to_run(schema.rule_set, RuleMode.READ, RulePhase.ENCODING, RulePhase.DOMAIN)
        wanted = reader.registered
        if rules or wanted is None or schema == wanted.schema:
            return rules
        if not (
            has_rules(wanted.schema.rule_set, RulePhase.MIGRATION, RuleMode.UPGRADE)
            or has_rules(schema.rule_set, RulePhase.MIGRATION, RuleMode.DOWNGRADE)
        ):
            return ()
        try:
            way = yield from migrations(self._registry.calls, wanted.subject, schema, wanted)
        except RegistryError as error:
            if error.status != NOT_FOUND:
                raise
            # It was written under another subject, from which no versions lead here.
            return ()
        found: list[Rule] = []
        for step in way:
            later = step.source if step.rule_mode == RuleMode.DOWNGRADE else step.target
            found += rules_to_run(later.schema.rule_set, step.rule_mode, RulePhase.MIGRATION)
        return found


def _column_schema(schema: Schema, references: References, message: str | None) -> _ColumnSchema:
    """Raises: SchemaError, MissingExtraError."""
    match schema.type:
        case "AVRO":
            form = avro(schema.text, references=[*references.values()])
        case "JSON":
            form = json(arrow_type(schema.text, references))
        case "PROTOBUF":
            form = protobuf(schema.text, message or "", references=references)
        case _:
            raise SchemaError(f"there are no columns for schemas of the type {schema.type}")
    return _ColumnSchema(schema, references, form)


def _resolved(schema: Schema, references: References, reader: _ColumnSchema) -> Form:
    """How what one schema describes is read as the column's. Of JSON and Protobuf, fields are found by their
    names or numbers, whatever schema they were written with. Raises: SchemaError."""
    match schema.type:
        case "AVRO":
            return avro(
                schema.text,
                reader.schema.text,
                references=[*references.values()],
                reader_references=[*reader.references.values()],
            )
        case "PROTOBUF":
            written = protobuf(schema.text, reader.form.message or "", references=references)
            return replace(reader.form, message_index=written.message_index)
        case _:
            return reader.form


def _referred_to(calls: RegistryCalls, schema: Schema) -> Steps[References]:
    """All that a schema refers to. Raises: RegistryError, SchemaError."""
    found = yield from referenced(
        calls, schema, is_built_in=lambda name: schema.type == "PROTOBUF" and is_known(name)
    )
    texts: dict[str, str] = {}
    for each in found:
        texts.setdefault(each.name, each.schema.text)
    return texts


def named_in_headers(batch: pa.RecordBatch, side: Side) -> pa.Array | None:
    """Of each record the header that names its schema; None where no record has one."""
    if "headers" not in batch.schema.names:
        return None
    headers = batch.column("headers")
    entries = headers.flatten()
    if not len(entries):
        return None
    is_name = pc.equal(entries.field("key"), HEADERS[side])
    rows = pc.list_parent_indices(headers).filter(is_name)
    if not len(rows):
        return None
    return scattered(entries.field("value").filter(is_name), rows.to_numpy(), batch.num_rows)
