"""How long a record of 19 fields, logical types among them, takes to be written and read, beside fastavro.

    python -m bench.avro_values [--json]

Needs no broker. Each figure is the least of several rounds, which take turns.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import timeit
import uuid
from collections.abc import Callable
from decimal import Decimal

import fastavro

from barnabas.formats import AvroValues

ROUNDS, CALLS = 7, 20_000
LOGICAL = [
    ("date", "int", "date"),
    ("created", "long", "timestamp-micros"),
    ("updated", "long", "timestamp-millis"),
    ("time", "int", "time-millis"),
    ("uuid", "string", "uuid"),
]
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            *(
                {"name": kind, "type": kind}
                for kind in ("int", "long", "float", "double", "bytes", "boolean")
            ),
            {"name": "text", "type": "string"},
            {"name": "optional", "type": ["null", "string"], "default": None},
            {"name": "enum", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "array", "type": {"type": "array", "items": "long"}},
            {"name": "map", "type": {"type": "map", "values": "string"}},
            {"name": "fixed", "type": {"type": "fixed", "name": "Four", "size": 4}},
            {
                "name": "inner",
                "type": {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "long"}]},
            },
            {
                "name": "decimal",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            },
            *({"name": n, "type": {"type": kind, "logicalType": logical}} for n, kind, logical in LOGICAL),
        ],
    }
)
MOMENT = datetime.datetime(2026, 11, 24, 1, 2, 3, 456_000, tzinfo=datetime.UTC)
VALUE = {
    "int": 1,
    "long": 1 << 40,
    "float": 1.5,
    "double": 2.5,
    "bytes": b"some bytes",
    "boolean": True,
    "text": "some text",
    "optional": "more text",
    "enum": "B",
    "array": [1, 2, 3],
    "map": {"key": "value"},
    "fixed": b"four",
    "inner": {"x": 5},
    "decimal": Decimal("123.45"),
    "date": MOMENT.date(),
    "created": MOMENT,
    "updated": MOMENT,
    "time": MOMENT.time(),
    "uuid": uuid.UUID("12345678-1234-5678-9234-567812345678"),
}


def works() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Each by us and by fastavro, which have to agree."""
    values, parsed = AvroValues(SCHEMA), fastavro.parse_schema(json.loads(SCHEMA))

    def written_by_fastavro() -> bytes:
        output = io.BytesIO()
        fastavro.schemaless_writer(output, parsed, VALUE)
        return output.getvalue()

    data = written_by_fastavro()
    assert values.encode(VALUE) == data
    assert values.decode(data) == VALUE
    return {
        "write": (lambda: values.encode(VALUE), written_by_fastavro),
        "read": (
            lambda: values.decode(data),
            lambda: fastavro.schemaless_reader(io.BytesIO(data), parsed, None),
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.avro_values", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures for a script")
    arguments = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for what, (ours, theirs) in works().items():
        rounds = [
            (timeit.timeit(ours, number=CALLS), timeit.timeit(theirs, number=CALLS)) for _ in range(ROUNDS)
        ]
        least = [min(seconds) / CALLS * 1e6 for seconds in zip(*rounds, strict=True)]
        found[what] = {"ours_us": least[0], "fastavro_us": least[1], "ratio": least[1] / least[0]}
    if arguments.json:
        print(json.dumps(found))
        return
    for what, row in found.items():
        print(
            f"{what:>5}: {row['ours_us']:6.2f} us, fastavro {row['fastavro_us']:6.2f} us, "
            f"{row['ratio']:.1f} x"
        )


if __name__ == "__main__":
    main()
