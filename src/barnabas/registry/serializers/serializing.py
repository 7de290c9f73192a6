"""What every serializer does: finds the subject, the schema and its id, and how values are written with it.

Does no I/O: what it asks of a registry comes by steps. What was found is kept as a `SubjectWriter`, so that a
value like one before takes one look-up. Knows nothing of formats, which `value_format` stands for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from barnabas.errors import MisuseError
from barnabas.registry.errors import RegistryError
from barnabas.registry.references import referenced
from barnabas.registry.rules.engine import RuleEngine, has_rules, rules_in_words, rules_to_run
from barnabas.registry.rules.kinds import RuleMode, RulePhase
from barnabas.registry.schemas import Metadata, RegisteredSchema, RuleSet, Schema, to_json
from barnabas.registry.serializers.context import ContextLike
from barnabas.registry.serializers.inline_rules import InlineRules
from barnabas.registry.serializers.remembered import Remembered
from barnabas.registry.serializers.schema_id import IdWriter, SchemaId, header_id_writer, prefix_id_writer
from barnabas.registry.serializers.settings import SerializerSettings
from barnabas.registry.serializers.source import Asked, SchemaSource
from barnabas.registry.serializers.subjects import NOT_FOUND, AssociatedSubject, is_of_place, subjects_of
from barnabas.registry.serializers.value_format import Encode, ReadSchema, ValueFormat

S = TypeVar("S", bound=ReadSchema)
log = logging.getLogger(__name__)

CAPACITY = 1_000
"""Subjects, and schemas, that one serializer keeps."""

Convert = Callable[[Any, Any], Any]
"""Given a value and its context."""
_PHASES = (RulePhase.DOMAIN, RulePhase.ENCODING)
_ID_WRITERS: dict[str, IdWriter] = {"prefix": prefix_id_writer, "header": header_id_writer}


class SubjectWriter:
    """How values of one subject are written.

    `encode(value, prefix)` does all there is to do, where it is not None; `write(value, context)` always
    does. Neither does I/O of its own. `good_until`: by time.monotonic, None for
    ever.
    """

    __slots__ = ("encode", "good_until", "prefix", "schema_id", "subject", "write")

    def __init__(
        self,
        subject: str | None,
        schema_id: SchemaId | None,
        encode: Encode | None,
        prefix: bytes,
        write: Convert,
        good_until: float | None,
    ) -> None:
        self.subject = subject
        self.schema_id = schema_id
        self.encode = encode
        self.prefix = prefix
        self.write = write
        self.good_until = good_until


class SerializerCore(Generic[S]):
    """`schema`: what values are written with, unless the registry is to choose. `convert` and
    `convert_with_context` make what is written of what the caller gives. `rules`, `inline_rules`: None for
    none. `metadata`, `rule_set`: of the own schema where `schema` is None.

    For all threads. Two that need the same subject at once both ask for it, and keep the same.
    """

    def __init__(
        self,
        source: SchemaSource,
        format: ValueFormat[S],
        schema: Schema | None,
        settings: SerializerSettings,
        *,
        convert: Callable[[Any], Any] | None = None,
        convert_with_context: Convert | None = None,
        rules: RuleEngine | None = None,
        inline_rules: InlineRules | None = None,
        metadata: Metadata | None = None,
        rule_set: RuleSet | None = None,
    ) -> None:
        if schema is not None:
            metadata, rule_set = schema.metadata, schema.rule_set
        self._metadata = metadata
        self._rule_set = rule_set
        self._says_rules = rule_set is not None
        self.source = source
        self.format = format
        self.schema = schema
        self.settings = settings
        self._convert = convert
        self._convert_with_context = convert_with_context
        self._rules = rules
        self._inline_rules = inline_rules
        self._subjects = subjects_of(settings.subject_name_strategy)
        self._is_of_place = is_of_place(self._subjects)
        # By topic; or, where a function names subjects, by subject.
        self._of_keys: Remembered[str | None, SubjectWriter] = Remembered(CAPACITY)
        self._of_values: Remembered[str | None, SubjectWriter] = Remembered(CAPACITY)
        self._read: Remembered[Schema, S] = Remembered(CAPACITY)
        self._own: S | None = None

    # With each value

    def known(
        self, topic: str | None, is_key: bool, context: ContextLike | None = None
    ) -> SubjectWriter | None:
        """What was found for such a value; None is for `find` to find out. `context` is read only where a
        function names subjects (`needs_context`), and then has to be given."""
        remembered = self._of_keys if is_key else self._of_values
        writer = remembered.get(topic if self._is_of_place else self._subject_of(context))
        if writer is None or (writer.good_until is not None and time.monotonic() >= writer.good_until):
            return None
        return writer

    @property
    def needs_context(self) -> bool:
        return not self._is_of_place

    # With the first of its kind

    def prepare(self) -> Asked[None]:
        """Reads the serializer's own schema, with what it refers to. `find` does it where nobody did.
        Raises: SchemaError, RegistryError."""
        if self.schema is not None and self._own is None:
            self._own = yield from self._reading(self.schema)

    def find(self, context: ContextLike | None) -> Asked[SubjectWriter]:
        """How a value from there is written. Raises: MisuseError, SchemaError, RegistryError."""
        yield from self.prepare()
        if isinstance(self._subjects, AssociatedSubject):
            subject = yield from self._subjects.find(self.source, context, self._own_name())
        else:
            subject = self._subject_of(context)
        good_until: float | None = None
        registered: RegisteredSchema | None = None
        if self.settings.uses_latest and subject is not None:
            now = time.monotonic()
            registered = yield from self._chosen(subject)
            if self.settings.use_schema_id is None:
                good_until = now + self.source.latest_seconds
            schema = registered.schema
            read = yield from self._reading(schema)
            is_given = True
        else:
            registered, schema, read, is_given = yield from self._found_by_own_schema(subject, context)
        writer = self._writer(subject, registered, schema, read, is_given, good_until)
        is_key = context is not None and context.field == "key"
        topic = None if context is None else context.topic
        (self._of_keys if is_key else self._of_values).put(topic if self._is_of_place else subject, writer)
        return writer

    def _found_by_own_schema(
        self, subject: str | None, context: ContextLike | None
    ) -> Asked[tuple[RegisteredSchema | None, Schema, S, bool]]:
        """What values are written with, and whether the registry has given it."""
        if subject is None:
            schema = yield from self.own_schema(context)
            return None, schema, self._own_read(), False
        latest = yield from self._latest_with_rules(subject)
        if latest is not None and (yield from self._is_own(latest)):
            read = yield from self._reading(latest.schema)
            _tell_of_rules(latest, latest, read)
            return latest, latest.schema, read, True
        schema = yield from self.own_schema(context)
        read = self._own_read()
        registered = yield from self._registered(subject, schema)
        if not self._says_rules:
            # A registry gives a version that says none those of the version before.
            given = registered.schema
            metadata = given.metadata if schema.metadata is None else schema.metadata
            schema = replace(schema, metadata=metadata, rule_set=given.rule_set)
            if not self.settings.rules_of_latest_only:
                _tell_of_rules(latest, replace(registered, schema=schema), read)
        return registered, schema, read, False

    def _own_read(self) -> S:
        if self._own is None:
            raise MisuseError("a schema is missing: the serializer has none, and no subject to ask for")
        return self._own

    def own_schema(self, context: ContextLike | None) -> Asked[Schema]:
        """As it is registered."""
        if self.schema is None:
            raise MisuseError("a schema is missing: the serializer has none, and no subject to ask for")
        return self.schema
        yield

    def _latest_with_rules(self, subject: str) -> Asked[RegisteredSchema | None]:
        """The subject's latest version, if it has rules and the serializer's own schema says none."""
        if self._own is None or self._says_rules or self.settings.rules_of_latest_only:
            return None
        latest = yield from latest_or_none(self.source, subject, self.format.asked_as, is_renewed=True)
        rule_set = None if latest is None else latest.schema.rule_set
        if rule_set is None or not any(
            (rule_set.migration_rules, rule_set.domain_rules, rule_set.encoding_rules)
        ):
            return None
        return latest

    def _is_own(self, latest: RegisteredSchema) -> Asked[bool]:
        """Whether that version is the serializer's own schema, but for what the own one cannot say."""
        assert self._own is not None
        own, other = self._metadata, latest.schema.metadata
        if latest.schema.type != self.format.type or (own is not None and to_json(own) != to_json(other)):
            return False
        read = yield from self._reading(latest.schema)
        return read.shape() == self._own.shape()

    def id_of(self, registered: RegisteredSchema, read: S) -> SchemaId:
        """What values that are written with it begin with."""
        return SchemaId(self.format.type, registered.id, registered.guid)

    def _own_name(self) -> str | None:
        return None if self._own is None else self._own.name

    def _subject_of(self, context: ContextLike | None) -> str | None:
        assert not isinstance(self._subjects, AssociatedSubject)
        return self._subjects(context, self._own_name())

    def _chosen(self, subject: str) -> Asked[RegisteredSchema]:
        """By the registry, or by its id."""
        settings, format = self.settings, self.format.asked_as
        if settings.use_schema_id is not None:
            schema = yield from self.source.schema(settings.use_schema_id, subject=subject, format=format)
            found = yield from self.source.look_up(subject, schema, deleted=True)
            # The version may have been registered again, under another id.
            return replace(found, id=settings.use_schema_id, schema=schema)
        return (
            yield from self.source.latest(
                subject, metadata=settings.use_latest_with_metadata, format=format, is_renewed=True
            )
        )

    def _registered(self, subject: str, schema: Schema) -> Asked[RegisteredSchema]:
        ask = self.source.register if self.settings.auto_register_schemas else self.source.look_up
        return (yield from ask(subject, schema, normalize=self.settings.normalize_schemas))

    def _reading(self, schema: Schema) -> Asked[S]:
        read = self._read.get(schema)
        if read is None:
            references = yield from referenced(
                self.source, schema, format=self.format.asked_as, is_built_in=self.format.is_built_in
            )
            read = self.format.read(schema, references)
            self._read.put(schema, read)
        return read

    def _writer(
        self,
        subject: str | None,
        registered: RegisteredSchema | None,
        schema: Schema,
        read: S,
        is_given: bool,
        good_until: float | None,
    ) -> SubjectWriter:
        convert, convert_with_context = self._convert, self._convert_with_context
        encode, plain, inline = read.encode, self.format.plain, self._inline_rules
        schema_id = None if registered is None else self.id_of(registered, read)
        rule_set = schema.rule_set
        rules = None if not is_given and self.settings.rules_of_latest_only else self._rules
        if subject is None:
            rules = None
        has_message_rules = rules is not None and has_rules(rule_set, RulePhase.DOMAIN, RuleMode.WRITE)
        has_byte_rules = rules is not None and has_rules(rule_set, RulePhase.ENCODING, RuleMode.WRITE)
        named = self.settings.schema_id
        put_id: IdWriter = _ID_WRITERS[named] if isinstance(named, str) else named

        def write(value: Any, context: Any) -> bytes:
            if convert is not None:
                value = convert(value)
            if convert_with_context is not None:
                value = convert_with_context(value, context)
            if has_message_rules or inline is not None:
                value = plain(value)
            if inline is not None and inline.time == "before_rules":
                inline.check(read, value)
            if has_message_rules:
                assert rules is not None
                assert subject is not None
                value = rules.run(
                    context,
                    subject,
                    RuleMode.WRITE,
                    None,
                    schema,
                    value,
                    inline_tags=read.walk().inline_tags,
                    field_transformer=read.walk().transform,
                )
            if inline is not None and inline.time == "after_rules":
                inline.check(read, value)
            payload = encode(value, b"")
            if has_byte_rules:
                assert rules is not None
                assert subject is not None
                payload = rules.run(
                    context, subject, RuleMode.WRITE, None, schema, payload, rule_phase=RulePhase.ENCODING
                )
            return put_id(payload, context, schema_id)

        is_plain = (
            convert_with_context is None
            and inline is None
            and not has_message_rules
            and not has_byte_rules
            and named == "prefix"
            and schema_id is not None
        )
        if not is_plain:
            return SubjectWriter(subject, schema_id, None, b"", write, good_until)
        assert schema_id is not None
        prefix = schema_id.id_to_bytes()
        return SubjectWriter(subject, schema_id, _plain(encode, convert), prefix, write, good_until)


def latest_or_none(
    source: SchemaSource, subject: str, format: str | None = None, *, is_renewed: bool = False
) -> Asked[RegisteredSchema | None]:
    """None where the subject has no versions. Raises: RegistryError."""
    try:
        return (yield from source.latest(subject, format=format, is_renewed=is_renewed))
    except RegistryError as error:
        if error.status != NOT_FOUND:
            raise
        return None


def _tell_of_rules(latest: RegisteredSchema | None, written: RegisteredSchema, read: ReadSchema) -> None:
    """Of those that do nothing to values. `latest`: the latest version before, if it has rules; `read`: what
    is written with."""
    run = rules_to_run(written.schema.rule_set, RuleMode.WRITE, *_PHASES)
    known = [] if latest is None else rules_to_run(latest.schema.rule_set, RuleMode.WRITE, *_PHASES)
    skipped = [rule for rule in known if rule not in run]
    if skipped:
        assert latest is not None
        log.warning(
            "values of subject %r are written with version %d, without %s of the latest version %d, which "
            "has another schema. To have them run, update the serializer's schema, give it rule_set=, or set "
            "use_latest_version=True",
            written.subject,
            written.version,
            rules_in_words(skipped, "type"),
            latest.version,
        )
    tagging = [rule for rule in run if rule.tags]
    if not tagging:
        return
    tags = read.tags()
    if written.schema.metadata is not None:
        tags = tags.union(*written.schema.metadata.tags.values())
    idle = [rule for rule in tagging if tags.isdisjoint(rule.tags or ())]
    if idle:
        log.warning(
            "values of subject %r are written with version %d, which has %s for fields tagged %s, and no "
            "such field. Give the serializer metadata= with the tags, or register a schema that has them",
            written.subject,
            written.version,
            rules_in_words(idle, "type"),
            ", ".join(sorted({tag for rule in idle for tag in rule.tags or ()})),
        )


def _plain(encode: Encode, convert: Callable[[Any], Any] | None) -> Encode:
    if convert is None:
        return encode
    return lambda value, header: encode(convert(value), header)
