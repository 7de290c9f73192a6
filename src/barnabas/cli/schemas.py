"""`barnabas schemas`: what a schema registry has, and changes to it; and whether one schema may follow
another, also without any registry.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import barnabas
from barnabas.cli.admin.common import DryRun, Yes, confirm, told_dry_run
from barnabas.cli.options import AsJson, CommandConfig, UsageError, registry_settings
from barnabas.cli.output import note, print_json, print_table
from barnabas.errors import BarnabasError
from barnabas.registry import RegisteredSchema, RegistrySettings, Schema, SchemaReference
from barnabas.registry.compatibility.difference import Difference, Sides
from barnabas.registry.compatibility.formats import FORMATS
from barnabas.registry.compatibility.levels import LEVELS, check
from barnabas.registry.schemas import to_json

if TYPE_CHECKING:
    from barnabas import Registry

DEFAULT_REGISTRY = "http://localhost:8081"
TYPES = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
# Somebody has pressed a key and waits.
COMPLETION_SETTINGS = ("request.timeout.ms=1500", "retries=0")
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")

app = typer.Typer(help="List, show, register, check, compare and delete schemas.", no_args_is_help=True)


def _complete_subject(context: typer.Context, incomplete: str) -> list[str]:
    given = context.params
    url, config, settings = given.get("registry_url"), given.get("command_config"), given.get("setting")
    try:
        with _registry(url, config, [*(settings or ()), *COMPLETION_SETTINGS]) as registry:
            return registry.subjects(incomplete)
    except (BarnabasError, OSError):
        # There is nowhere to tell it: the line that is being typed must stay as it is.
        return []


Url = Annotated[
    str | None,
    typer.Option(
        "--registry",
        "-r",
        envvar="BARNABAS_REGISTRY",
        metavar="URL",
        help=f"The registry; {DEFAULT_REGISTRY} where nothing names any.",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option("-X", "--setting", metavar="NAME=VALUE", help="A setting of the registry's client."),
]
Subject = Annotated[str, typer.Argument(help="The subject.", autocompletion=_complete_subject)]
SchemaFile = Annotated[Path, typer.Argument(help="The schema's file; - is standard input.")]
Type = Annotated[
    str | None,
    typer.Option(
        "--type", "-t", metavar="TYPE", help="AVRO, JSON or PROTOBUF; by the file's name if left out."
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "--reference",
        metavar="NAME=SUBJECT:VERSION",
        help="A schema that this one uses, under that name. With --against: NAME=FILE.",
    ),
]
Normalize = Annotated[
    bool,
    typer.Option(
        "--normalize", help="Have the registry normalize it, so that schemas that mean the same are the same."
    ),
]
Deleted = Annotated[bool, typer.Option("--deleted", help="Also what was deleted, but not permanently.")]
Permanent = Annotated[
    bool, typer.Option("--permanent", help="Delete permanently what was deleted without this before.")
]


@contextmanager
def _registry(url: str | None, config: Path | None, given: Sequence[str] | None) -> Generator[Registry]:
    address, settings = registry_settings(config, given, url, is_all=True)
    with barnabas.Registry(address or DEFAULT_REGISTRY, **settings) as registry:
        yield registry


@app.command("list")
def list_schemas(
    prefix: Annotated[str | None, typer.Argument(help="Only subjects whose names begin so.")] = None,
    deleted: Deleted = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Print the subjects, each with its versions."""
    with _registry(registry_url, command_config, setting) as registry:
        # Not every registry looks at the prefix.
        names = [n for n in registry.subjects(prefix, deleted=deleted) if n.startswith(prefix or "")]
        found = {name: registry.versions(name, deleted=deleted) for name in names}
    if as_json:
        print_json(found)
    else:
        print_table(["SUBJECT", "VERSIONS"], [[n, ", ".join(map(str, v))] for n, v in found.items()])


@app.command()
def show(
    subject: Annotated[
        str | None, typer.Argument(help="The subject; or give --id.", autocompletion=_complete_subject)
    ] = None,
    version: Annotated[str, typer.Option("--version", "-v", help="A number, or latest.")] = "latest",
    id: Annotated[int | None, typer.Option("--id", help="The schema's id, in place of a subject.")] = None,
    deleted: Deleted = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Print a schema. With --json also its id, version, references, metadata and rules."""
    if (subject is None) == (id is None):
        raise UsageError("name a subject, or give --id")
    with _registry(registry_url, command_config, setting) as registry:
        if id is not None:
            schema, found = registry.schema(id), {"id": id}
        else:
            assert subject is not None
            registered = registry.version(subject, _version(version), deleted=deleted)
            schema, found = registered.schema, _described(registered)
    if as_json:
        print_json({**found, **schema.to_json()})
    else:
        print(_readable(schema))


@app.command()
def register(
    subject: Subject,
    file: SchemaFile,
    type: Type = None,
    reference: References = None,
    normalize: Normalize = False,
    dry_run: DryRun = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Register a schema as a new version of a subject, unless it is one already."""
    schema = _read(file, type, reference)
    with _registry(registry_url, command_config, setting) as registry:
        if dry_run:
            verdict = registry.check(subject, schema, version="all", normalize=normalize)
            if not verdict.is_compatible:
                raise UsageError(f"not compatible with {subject}: {'; '.join(verdict.messages)}")
            told_dry_run(f"register a schema of {subject}, compatible with what is there")
            return
        registered = registry.register(subject, schema, normalize=normalize)
    if as_json:
        print_json(_described(registered))
    else:
        print(f"{subject} version {registered.version}, id {registered.id}")


@app.command("check")
def check_schema(
    file: SchemaFile,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject",
            "-s",
            help="Compare it with this subject's versions in a registry.",
            autocompletion=_complete_subject,
        ),
    ] = None,
    version: Annotated[
        str,
        typer.Option(
            "--version",
            "-v",
            help="With which version: a number, latest, or all that its compatibility level is about.",
        ),
    ] = "all",
    against: Annotated[
        list[Path] | None,
        typer.Option(
            "--against",
            exists=True,
            dir_okay=False,
            help="Compare it with the schema in this file (repeatable, the oldest first).",
        ),
    ] = None,
    level: Annotated[
        str, typer.Option("--level", "-l", help=f"With --against: one of {', '.join(LEVELS)}.")
    ] = "BACKWARD",
    type: Type = None,
    reference: References = None,
    normalize: Normalize = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Print whether a schema is compatible with others, and why not; then the exit status is 1. Without a
    registry, with --against.

    For example: barnabas schemas check order.avsc --subject orders-value
    """
    if (subject is None) == (not against):
        raise UsageError("give --subject, to ask a registry, or --against, to compare with files")
    if subject is not None:
        schema = _read(file, type, reference)
        with _registry(registry_url, command_config, setting) as registry:
            # Where there are none, any schema may be the first one; the name is more likely wrong.
            registry.versions(subject)
            verdict = registry.check(
                subject, schema, version="all" if version == "all" else _version(version), normalize=normalize
            )
        is_compatible, reasons = verdict.is_compatible, list(verdict.messages)
    else:
        reasons = _differences(_read(file, type, None), against or [], level, _referred(reference))
        is_compatible = not reasons
    if as_json:
        print_json({"is_compatible": is_compatible, "messages": reasons})
    else:
        print("compatible" if is_compatible else "not compatible")
        for reason in reasons:
            print(f"  {reason}")
    if not is_compatible:
        raise typer.Exit(1)


@app.command()
def diff(
    subject: Subject,
    first: Annotated[str, typer.Argument(help="A version: a number, or latest.")],
    second: Annotated[str, typer.Argument(help="The version to compare it with.")] = "latest",
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
) -> None:
    """Print what two versions of a subject differ in, line by line; nothing if they are the same."""
    with _registry(registry_url, command_config, setting) as registry:
        versions = [registry.version(subject, _version(name)) for name in (first, second)]
    before, after = (_readable(version.schema).splitlines() for version in versions)
    titles = [f"{subject} version {version.version}" for version in versions]
    for line in difflib.unified_diff(before, after, titles[0], titles[1], lineterm=""):
        print(line)


@app.command()
def delete(
    subject: Subject,
    version: Annotated[
        str | None, typer.Option("--version", "-v", help="Only this one; all of them if left out.")
    ] = None,
    permanent: Permanent = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
) -> None:
    """Delete a subject, or one of its versions."""
    what = subject if version is None else f"version {version} of {subject}"
    for_good = " permanently" if permanent else ""
    if not dry_run:
        confirm(f"delete {what}{for_good}", is_sure=yes)
    with _registry(registry_url, command_config, setting) as registry:
        if dry_run:
            there = _to_be_deleted(registry, subject, version, permanent=permanent)
            told_dry_run(f"delete {subject} {_versions(there)}{for_good}")
            return
        if version is None:
            deleted = registry.delete_subject(subject, permanent=permanent)
        else:
            deleted = [registry.delete_version(subject, _version(version), permanent=permanent)]
    note(f"deleted {subject} {_versions(deleted)}{for_good}")


@app.command()
def config(
    subject: Annotated[
        str | None,
        typer.Argument(help="A subject; all of the registry if left out.", autocompletion=_complete_subject),
    ] = None,
    compatibility: Annotated[
        str | None, typer.Option("--compatibility", help=f"Set it: one of {', '.join(LEVELS)}.")
    ] = None,
    normalize: Annotated[
        bool | None, typer.Option("--normalize/--no-normalize", help="Set whether schemas are normalized.")
    ] = None,
    reset: Annotated[
        bool,
        typer.Option(
            "--reset",
            help="Delete what is set for this subject; what is set for the whole registry holds then.",
        ),
    ] = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
    as_json: AsJson = False,
) -> None:
    """Print the compatibility level and whether schemas are normalized, or set them."""
    wanted = RegistrySettings(compatibility, normalize=normalize)
    if reset and wanted != RegistrySettings():
        raise UsageError("--reset sets nothing: leave it or the others out")
    with _registry(registry_url, command_config, setting) as registry:
        if reset:
            registry.delete_settings(subject)
        elif wanted != RegistrySettings():
            registry.set_settings(wanted, subject)
        found = registry.settings(subject, default_to_global=subject is not None)
    words = to_json(found)
    if as_json:
        print_json(words)
    else:
        for name, value in words.items():
            print(f"{name}={value}")


@app.command()
def mode(
    subject: Annotated[
        str | None,
        typer.Argument(help="A subject; all of the registry if left out.", autocompletion=_complete_subject),
    ] = None,
    wanted: Annotated[
        str | None, typer.Option("--set", metavar="MODE", help=f"One of {', '.join(MODES)}.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Set IMPORT even where there are schemas.")] = False,
    registry_url: Url = None,
    command_config: CommandConfig = None,
    setting: Setting = None,
) -> None:
    """Print whether schemas may be written, or set it."""
    with _registry(registry_url, command_config, setting) as registry:
        if wanted is not None:
            registry.set_mode(wanted.upper(), subject, force=force)
        print(registry.mode(subject, default_to_global=subject is not None))


def _version(text: str) -> int | Literal["latest"]:
    if text == "latest":
        return "latest"
    if not text.isdecimal():
        raise UsageError(f"a version is a number or latest, not {text!r}")
    return int(text)


def _to_be_deleted(registry: Registry, subject: str, version: str | None, *, permanent: bool) -> list[int]:
    """For good goes only what was deleted before. Raises: UsageError where it was not, RegistryError."""
    there = registry.versions(subject, deleted=permanent)
    if version is not None:
        there = [registry.version(subject, _version(version), deleted=permanent).version]
    if permanent and subject in registry.subjects():
        live = sorted({*registry.versions(subject)} & {*there})
        if live:
            raise UsageError(f"{subject} {_versions(live)}: to be deleted without --permanent first")
    return there


def _versions(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers))
    return f"version {listed}" if len(numbers) == 1 else f"versions {listed}"


def _read(file: Path, type: str | None, references: Sequence[str] | None) -> Schema:
    text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text()
    kind = (type or TYPES.get(file.suffix.lower(), "")).upper()
    if kind not in TYPES.values():
        raise UsageError(f"{file} does not say what kind of schema it is: give --type AVRO, JSON or PROTOBUF")
    return Schema(text, kind, tuple(map(_reference, references or ())))


def _reference(given: str) -> SchemaReference:
    name, _, place = given.partition("=")
    subject, _, version = place.rpartition(":")
    if not name or not subject or not version.isdecimal():
        raise UsageError(f"--reference takes NAME=SUBJECT:VERSION, not {given!r}")
    return SchemaReference(name, subject, int(version))


def _referred(given: Sequence[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given or ():
        name, _, file = each.partition("=")
        if not name or not file:
            raise UsageError(f"without a registry --reference takes NAME=FILE, not {each!r}")
        found[name] = Path(file).read_text()
    return found


def _differences(schema: Schema, against: Sequence[Path], level: str, referred: dict[str, str]) -> list[str]:
    kinds = {schema.type, *(TYPES.get(file.suffix.lower(), schema.type) for file in against)}
    if len(kinds) > 1:
        raise UsageError(f"{' and '.join(sorted(kinds))} are different kinds of schemas")
    known = FORMATS[schema.type]

    def compare(reader: str, writer: str, sides: Sides) -> Sequence[Difference]:
        return known.differences(
            reader, writer, reader_references=referred, writer_references=referred, sides=sides
        )

    texts = {file.read_text(): file for file in against}
    found = check(level.upper(), schema.text, [file.read_text() for file in against], compare)
    return [f"{texts[text]}: {difference}" for text, difference in found]


def _readable(schema: Schema) -> str:
    if schema.type not in ("AVRO", "JSON"):
        return schema.text.rstrip("\n")
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text


def _described(registered: RegisteredSchema) -> dict[str, Any]:
    found = {name: getattr(registered, name) for name in ("subject", "version", "id", "guid")}
    return {name: value for name, value in found.items() if value is not None}
