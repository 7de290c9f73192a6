"""What every deserializer does: finds which schema data was written with, and how it is read.

Does no I/O: what it asks of a registry comes by steps. What was found is kept as a `SchemaReader`, so that
data like what came before takes one look-up. Knows nothing of formats, which `value_format` stands for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from barnabas.errors import SerializationError
from barnabas.registry.errors import RegistryError
from barnabas.registry.references import Referenced, referenced
from barnabas.registry.rules.engine import Migration, RuleEngine, has_rules, migrations
from barnabas.registry.rules.kinds import RuleMode, RulePhase
from barnabas.registry.schemas import RegisteredSchema, Schema
from barnabas.registry.serializers.context import ContextLike
from barnabas.registry.serializers.remembered import Remembered
from barnabas.registry.serializers.schema_id import (
    KEY_HEADER,
    PREFIX_BYTES,
    PROTOBUF,
    VALUE_HEADER,
    IdReader,
    SchemaId,
    header_in,
)
from barnabas.registry.serializers.serializing import CAPACITY, Convert, latest_or_none
from barnabas.registry.serializers.settings import DeserializerSettings
from barnabas.registry.serializers.source import Asked, SchemaSource
from barnabas.registry.serializers.subjects import NOT_FOUND, AssociatedSubject, subjects_of, topic_subject
from barnabas.registry.serializers.value_format import Decode, ReadSchema, ValueFormat

S = TypeVar("S", bound=ReadSchema)

ReadPayload = Callable[[Any, int, Any, Any], Any]
"""`read_payload(payload, offset, data, context)`: `data` is what was given, with what leads to the schema."""


class SchemaReader:
    """How data is read that begins in one way, or has one header.

    `decode(data, offset)` does all there is to do, where it is not None; `read(data, context)` always does.
    Neither does I/O of its own. `good_until`: by time.monotonic, None for ever.
    """

    __slots__ = ("decode", "good_until", "offset", "read", "read_payload", "schema_id", "subject")

    def __init__(
        self,
        subject: str | None,
        schema_id: SchemaId,
        decode: Decode | None,
        offset: int,
        read: Convert,
        read_payload: ReadPayload,
        good_until: float | None,
    ) -> None:
        self.subject = subject
        self.schema_id = schema_id
        self.decode = decode
        self.offset = offset
        self.read = read
        self.read_payload = read_payload
        self.good_until = good_until


class DeserializerCore(Generic[S]):
    """`schema`: what values are wanted in, None for what they were written with. `source`: None where nothing
    is known but `schema`. `convert` and `convert_with_context` make what the caller gets of what was read.
    `rules`: None for none. `own`: what `schema` says, where that is no schema of a registry.

    For all threads. Two that need the same schema at once both ask for it, and keep the same.
    """

    def __init__(
        self,
        source: SchemaSource | None,
        format: ValueFormat[S],
        schema: Schema | None,
        settings: DeserializerSettings,
        *,
        convert: Callable[[Any], Any] | None = None,
        convert_with_context: Convert | None = None,
        rules: RuleEngine | None = None,
        own: S | None = None,
    ) -> None:
        self.source = source
        self.format = format
        self.schema = schema
        self.settings = settings
        self._convert = convert
        self._convert_with_context = convert_with_context
        self._has_indexes = format.type == PROTOBUF
        self._rules = rules
        self._subjects = subjects_of(settings.subject_name_strategy)
        self._reads_headers = settings.schema_id == "dual"
        self._read_id: IdReader | None = None if isinstance(settings.schema_id, str) else settings.schema_id
        # By topic and first bytes, or by topic, header and None.
        self._of_keys: Remembered[tuple[Any, ...], SchemaReader] = Remembered(CAPACITY)
        self._of_values: Remembered[tuple[Any, ...], SchemaReader] = Remembered(CAPACITY)
        self._read: Remembered[Schema, S] = Remembered(CAPACITY)
        self._own = own
        self._says_rules = schema is not None and schema.rule_set is not None

    # With each value

    def known(self, topic: str | None, is_key: bool, data: Any, headers: Any) -> SchemaReader | None:
        """What was found for such data; None is for `find` to find out."""
        remembered = self._of_keys if is_key else self._of_values
        header = None
        if headers and self._reads_headers:
            header = header_in(headers, KEY_HEADER if is_key else VALUE_HEADER)
        if header is None:
            reader = remembered.get((topic, data[: self._prefix_end(data)]))
        else:
            reader = remembered.get((topic, header, None))
        if reader is None or (reader.good_until is not None and time.monotonic() >= reader.good_until):
            return None
        return reader

    def _prefix_end(self, data: Any) -> int:
        """Where the framing ends, if all its numbers take a byte each."""
        if self._has_indexes and len(data) > PREFIX_BYTES:
            return PREFIX_BYTES + 1 + (data[PREFIX_BYTES] >> 1)
        return PREFIX_BYTES

    # With the first of its kind

    def prepare(self) -> Asked[None]:
        """Reads the deserializer's own schema, with what it refers to. `find` does it where nobody did.
        Raises: SchemaError, RegistryError."""
        if self.schema is not None and self._own is None:
            self._own = yield from self._reading(self.schema)

    def find(self, context: ContextLike | None, data: Any) -> Asked[SchemaReader]:
        """How such data is read. Raises: SerializationError, MisuseError, SchemaError, RegistryError."""
        yield from self.prepare()
        schema_id = SchemaId(self.format.type)
        topic = None if context is None else context.topic
        is_key = context is not None and context.field == "key"
        remembered = self._of_keys if is_key else self._of_values
        if self._read_id is not None:
            return (yield from self._found_by_function(self._read_id, schema_id, context, data, remembered))
        headers = None if context is None else context.headers
        header = None
        if headers and self._reads_headers:
            header = header_in(headers, KEY_HEADER if is_key else VALUE_HEADER)
        if header is not None:
            schema_id.read(header)
            way = yield from self._way(schema_id, context)
            reader = self._reader(way, schema_id, 0)
            remembered.put((topic, header, None), reader)
            return reader
        offset = schema_id.read(bytes(data))
        way = yield from self._way(schema_id, context)
        reader = self._reader(way, schema_id, offset)
        # What is longer would not be found by `known`.
        if offset == self._prefix_end(data):
            remembered.put((topic, bytes(data[:offset])), reader)
        return reader

    def _found_by_function(
        self,
        read_id: IdReader,
        schema_id: SchemaId,
        context: ContextLike | None,
        data: Any,
        remembered: Remembered[tuple[Any, ...], SchemaReader],
    ) -> Asked[SchemaReader]:
        """For this data alone: only the function knows where its id is."""
        found = read_id(data, context, schema_id)
        payload = found if isinstance(found, bytes) else found.read()
        topic = None if context is None else context.topic
        indexes = schema_id.message_indexes
        key = (topic, schema_id.id, schema_id.guid, None if indexes is None else tuple(indexes))
        known = remembered.get(key)
        if known is None or (known.good_until is not None and time.monotonic() >= known.good_until):
            way = yield from self._way(schema_id, context)
            known = self._reader(way, schema_id, 0)
            remembered.put(key, known)
        reader = known

        def read(data: Any, context: Any) -> Any:
            return reader.read_payload(payload, 0, data, context)

        return SchemaReader(reader.subject, schema_id, None, 0, read, reader.read_payload, None)

    def _way(self, schema_id: SchemaId, context: ContextLike | None) -> Asked[_Way[S]]:
        way: _Way[S] = _Way()
        way.subject = yield from self._subject(context, None)
        if self.source is not None:
            way.written = yield from self._written(self.source, schema_id, way.subject)
            way.writer = yield from self._reading(way.written)
            if way.subject is None:
                name = self.format.record_name(way.writer, schema_id.message_indexes)
                way.subject = yield from self._subject(context, name)
        way.wanted, way.reader = way.written, way.writer
        if self.source is not None and way.subject is not None and self.settings.uses_latest:
            way.good_until = time.monotonic() + self.source.latest_seconds
            latest = yield from self.source.latest(
                way.subject,
                metadata=self.settings.use_latest_with_metadata,
                format=self.format.asked_as,
                is_renewed=True,
            )
            way.wanted = latest.schema
            way.reader = yield from self._reading(latest.schema)
            if self._rules is not None:
                found = yield from migrations(self.source, way.subject, way.written, latest)
                way.migrations = found
        else:
            if self.schema is not None:
                way.wanted, way.reader = self.schema, self._own
            if self._rules is not None and self._own is not None and not self._says_rules:
                yield from self._take_rules(self.source, way)
        return way

    def _take_rules(self, source: SchemaSource | None, way: _Way[S]) -> Asked[None]:
        """For an own schema that says no rules, as a class cannot: those of migrations, if they lead to it as
        the latest version, or else those of what was written."""
        if source is None or way.subject is None or way.written is None:
            return
        latest = yield from latest_or_none(source, way.subject, self.format.asked_as)
        if latest is not None and latest.schema != way.written:
            read = yield from self._reading_like(latest.schema)
            if read is not None and (found := (yield from self._migrations(source, way, latest))):
                way.wanted, way.reader, way.migrations = latest.schema, read, found
                return
        way.runs_written = way.reader is not way.writer

    def _reading_like(self, schema: Schema) -> Asked[S | None]:
        """A schema that has the shape of the reader's own; None of any other."""
        if schema.type != self.format.type:
            return None
        read = yield from self._reading(schema)
        assert self._own is not None
        return read if read.shape() == self._own.shape() else None

    def _migrations(
        self, source: SchemaSource, way: _Way[S], latest: RegisteredSchema
    ) -> Asked[Sequence[Migration]]:
        assert way.subject is not None
        try:
            return (yield from migrations(source, way.subject, way.written, latest))
        except RegistryError as error:
            if error.status != NOT_FOUND:
                raise
            # It was written under another subject.
            return ()

    def _subject(self, context: ContextLike | None, name: str | None) -> Asked[str | None]:
        if context is None:
            return None
        if isinstance(self._subjects, AssociatedSubject):
            if self.source is None:
                return topic_subject(context, name)
            return (yield from self._subjects.find(self.source, context, name))
        return self._subjects(context, name)

    def _written(self, source: SchemaSource, schema_id: SchemaId, subject: str | None) -> Asked[Schema]:
        if schema_id.id is not None:
            return (yield from source.schema(schema_id.id, subject=subject, format=self.format.asked_as))
        if schema_id.guid is not None:
            return (yield from source.schema_by_guid(str(schema_id.guid), format=self.format.asked_as))
        raise SerializationError("the data does not say which schema it was written with")

    def _reading(self, schema: Schema) -> Asked[S]:
        read = self._read.get(schema)
        if read is None:
            references: list[Referenced] = []
            if self.source is not None:
                references = yield from referenced(
                    self.source, schema, format=self.format.asked_as, is_built_in=self.format.is_built_in
                )
            read = self.format.read(schema, references)
            self._read.put(schema, read)
        return read

    def _reader(self, way: _Way[S], schema_id: SchemaId, offset: int) -> SchemaReader:
        rules, format, subject = self._rules, self.format, way.subject
        indexes = schema_id.message_indexes
        convert, convert_with_context = self._convert, self._convert_with_context
        has_byte_rules = has_message_rules = False
        if rules is not None and subject is not None:
            ruled = way.written if way.runs_written else way.wanted
            for schema, phase in ((way.written, RulePhase.ENCODING), (ruled, RulePhase.DOMAIN)):
                if schema is not None and has_rules(schema.rule_set, phase, RuleMode.READ):
                    has_byte_rules = has_byte_rules or phase == RulePhase.ENCODING
                    has_message_rules = has_message_rules or phase == RulePhase.DOMAIN
        if rules is None or subject is None or not (has_byte_rules or has_message_rules or way.migrations):
            decode = format.decoder(way.writer, way.reader, indexes)

            def read_plainly(payload: Any, offset: int, whole: Any, context: Any) -> Any:
                value = decode(payload, offset)
                if convert is not None:
                    value = convert(value)
                return value if convert_with_context is None else convert_with_context(value, context)

            read_payload, plain = read_plainly, _plain(decode, convert)
        else:
            read_payload = self._read_by_rules(
                rules, way, subject, indexes, has_byte_rules, has_message_rules
            )
            plain = None

        def read(data: Any, context: Any) -> Any:
            return read_payload(data, offset, data, context)

        if convert_with_context is not None:
            plain = None
        return SchemaReader(subject, schema_id, plain, offset, read, read_payload, way.good_until)

    def _read_by_rules(
        self,
        rules: RuleEngine,
        way: _Way[S],
        subject: str,
        indexes: Sequence[int] | None,
        has_byte_rules: bool,
        has_message_rules: bool,
    ) -> ReadPayload:
        format = self.format
        runs_written = way.runs_written and has_message_rules
        ruled, ruled_read = (way.written, way.writer) if runs_written else (way.wanted, way.reader)
        decode = format.rule_decoder(way.writer, ruled_read, indexes, migrates=bool(way.migrations))
        resolve = format.resolver(way.writer, way.reader) if runs_written else None
        convert, convert_with_context = self._convert, self._convert_with_context

        def read(payload: Any, offset: int, whole: Any, context: Any) -> Any:
            if has_byte_rules:
                payload = rules.run(
                    context,
                    subject,
                    RuleMode.READ,
                    None,
                    way.written,
                    bytes(payload[offset:]),
                    rule_phase=RulePhase.ENCODING,
                    original_message=whole,
                )
                offset = 0
            value = decode(payload, offset)
            if way.migrations:
                value = rules.migrate(context, subject, way.migrations, value)
                value = format.after_migrations(value, way.reader)
            if has_message_rules:
                assert ruled_read is not None
                value = rules.run(
                    context,
                    subject,
                    RuleMode.READ,
                    None,
                    ruled,
                    value,
                    inline_tags=ruled_read.walk().inline_tags,
                    field_transformer=ruled_read.walk().transform,
                    original_message=whole,
                )
            if resolve is not None:
                value = resolve(value)
            value = format.after_rules(value, way.reader)
            if convert is not None:
                value = convert(value)
            return value if convert_with_context is None else convert_with_context(value, context)

        return read


class _Way(Generic[S]):
    """From what data was written with to what it is wanted in."""

    subject: str | None = None
    written: Schema | None = None
    writer: S | None = None
    wanted: Schema | None = None
    reader: S | None = None
    migrations: Sequence[Migration] = ()
    runs_written: bool = False
    """Whether rules are those of what was written, and not of what is wanted."""
    good_until: float | None = None


def _plain(decode: Decode, convert: Callable[[Any], Any] | None) -> Decode:
    if convert is None:
        return decode
    return lambda data, offset: convert(decode(data, offset))
