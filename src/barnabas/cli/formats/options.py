"""The options by which `consume` and `produce` say what keys and values are. Knows nothing of bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.records.plain import PLAIN_FORMATS
from barnabas.values import frozen

REGISTRY_FORMATS = ("avro", "json", "protobuf")
RAW_FORMATS = ("raw-avro", "raw-protobuf")
"""By a schema in a file, without a registry and without the bytes that name a schema there."""
AUTO = "auto"
FORMATS = (*REGISTRY_FORMATS, *RAW_FORMATS, *PLAIN_FORMATS)
"""Of what is written. What is read may be `AUTO` as well."""
DEFAULT_REGISTRY = "http://localhost:8081"
ValueFormat = Annotated[
    str | None,
    typer.Option(
        "--value-format",
        metavar="FORMAT",
        help="How values are written: avro, json or protobuf by a schema registry, from JSON in the lines; "
        "raw-avro or raw-protobuf by --value-schema alone; short, int, long, float or double, as Kafka's "
        "serializers write them; hex or base64, as the bytes that such a text stands for.",
    ),
]
ReadValueFormat = Annotated[
    str | None,
    typer.Option(
        "--value-format",
        metavar="FORMAT",
        help="How values are read: avro, json or protobuf by a schema registry, printed as JSON; raw-avro or "
        "raw-protobuf by --value-schema alone; short, int, long, float or double, as Kafka's serializers "
        "write them; hex or base64, to print bytes so; or auto: each by the schema that it names, "
        "otherwise as JSON, text or hex by its looks.",
    ),
]
KeyFormat = Annotated[str | None, typer.Option("--key-format", metavar="FORMAT", help="The same for keys.")]
RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry-url",
        "--registry",
        "-r",
        envvar="BARNABAS_REGISTRY",
        metavar="URL",
        help=f"The schema registry; {DEFAULT_REGISTRY} where nothing names any.",
    ),
]
ValueSubject = Annotated[
    str | None,
    typer.Option("--value-subject", help="The subject of the values' schema; TOPIC-value if left out."),
]
KeySubject = Annotated[
    str | None, typer.Option("--key-subject", help="The subject of the keys' schema; TOPIC-key if left out.")
]
ValueVersion = Annotated[
    str | None,
    typer.Option(
        "--value-version",
        help="The version of the values' schema: a number, or latest; latest if left out.",
    ),
]
KeyVersion = Annotated[str | None, typer.Option("--key-version", help="The same for keys.")]
ValueSchema = Annotated[
    Path | None,
    typer.Option(
        "--value-schema",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="The values' schema, an .avsc, .proto or JSON schema, or a descriptor set of protoc: produce "
        "registers it, and consume reads into it.",
    ),
]
KeySchema = Annotated[
    Path | None,
    typer.Option("--key-schema", metavar="FILE", exists=True, dir_okay=False, help="The same for keys."),
]
ValueMessage = Annotated[
    str | None,
    typer.Option(
        "--value-message",
        metavar="NAME",
        help="The message of a Protobuf schema; the first of its file if left out.",
    ),
]
KeyMessage = Annotated[str | None, typer.Option("--key-message", metavar="NAME", help="The same for keys.")]
IgnoreRules = Annotated[
    bool,
    typer.Option(
        "--ignore-rules",
        help="Print keys and values as they were written where their schemas have rules: encrypted, for "
        "instance.",
    ),
]


@frozen
class SideOptions:
    """What the options say of one side."""

    format: str | None
    subject: str | None
    version: str | None
    schema: Path | None
    message: str | None = None
