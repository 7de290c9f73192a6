"""What is an Avro schema, and how it is written: Avro's own parser for Java is the judge."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pyspark

from barnabas.registry.compatibility.avro_text import canonical, normalized
from barnabas.registry.errors import InvalidSchemaError

JARS = Path(pyspark.__file__).parent / "jars"


def field(type_: str, more: str = "", rest: str = "") -> str:
    """A record with a field of a type; `more` of the field, `rest` of the record."""
    return f'{{"type":"record","name":"R","fields":[{{"name":"f","type":{type_}{more}}}]{rest}}}'


def record(*fields: str, name: str = '"A"', rest: str = "") -> str:
    return f'{{"type":"record","name":{name}{rest},"fields":[{",".join(fields)}]}}'


NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e308", "1e-300", "0", "-0.0", "1", "1.0", "1.50"),
    *("1e5", "9999999.0", "1e7", "12345678.9", "1E10", "1e16", "123456789.125", "100.0", "0.1", "0.001"),
    *("0.00099", "1e-7", "1.12345678901234567890123", "01", "+1", ".5", "1.", "1e", "0x1"),
)
TEXTS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "+Infinity",
    "INF",
    "nan",
    "1.5",
    "1",
    " 1 ",
    "1e400",
    "1d",
    "1f",
    ".5",
)
TEXTS += ("1.", "", ".", "x", "1_0", "-", "1e", "١", "-NaN")
TYPES = (
    '"float"',
    '"double"',
    '{"type":"double"}',
    '{"type":"float","x":1}',
    '["double","null"]',
    '"string"',
)
TYPES += ('["null","double"]', '"int"', '"bytes"', '{"type":"array","items":"double"}')
NAMES = '"a" "a.b" "" "." "a..b" "a." ".a" "1a" "a-b" "a b" "é" "a.é1" null 1 "$" "a.b-c" "²" "int" "a.int"'
LATER = '{"name":"c","type":{"type":"enum","name":"B","symbols":["x"]}}'
LATER_RECORD = '{"name":"c","type":{"type":"record","name":"B","fields":[{"name":"x","type":["null","A"]}]}}'
BEFORE = record('{"name":"b","type":"B"}')
AFTER = record('{"name":"a","type":["null","A"]}', name='"B"')

SCHEMAS = [
    # Comments
    '/* a */ "string"',
    '// c\n"string"',
    '{"type":"record", /* x */ "name":"R", // y\n "fields":[]}',
    '{"type":"record", /* " */ "name":"R", // "\r "fields":[/**/]}',
    '# c\n"string"',
    "/* a",
    "/*/ 1",
    '/ "string"',
    field('"string"', ',"default":"/* no */ // \\" // no"'),
    field('"string"', ',"doc":"http://a/*b"'),
    # Numbers, and texts that stand for them
    *(field(type_, f',"default":"{text}"') for type_ in TYPES for text in TEXTS),
    *(field(type_, f',"default":{number}') for type_ in TYPES for number in NUMBERS),
    field('{"type":"array","items":"double"}', ',"default":["NaN"]'),
    field('{"type":"map","values":"float"}', ',"default":{"a":"NaN"}'),
    *(field('"string"', "", f',"x":{number}') for number in NUMBERS),
    *(field('"string"', f',"x":[{number}]') for number in NUMBERS),
    *(f'{{"type":"int","x":{{"a":{number}}}}}' for number in NUMBERS),
    # Names that are used before they are defined
    record('{"name":"b","type":"B"}', LATER),
    record('{"name":"b","type":"B"}', LATER_RECORD),
    record('{"name":"b","type":{"type":"B"}}', LATER),
    record('{"name":"b","type":["null","B"]}', '{"name":"l","type":{"type":"array","items":"B"}}', LATER),
    record('{"name":"b","type":["null","n.B"]}', '{"name":"d","type":"B"}', LATER, rest=',"namespace":"n"'),
    record('{"name":"b","type":"m.B"}', '{"name":"c","type":{"type":"fixed","name":"m.B","size":3}}'),
    record('{"name":"b","type":"B"}', LATER, LATER),
    BEFORE,
    record('{"name":"b","type":"n.B"}', LATER),
    record(
        '{"name":"b","type":"B"}',
        '{"name":"c","type":{"type":"fixed","name":"B","namespace":"","size":3}}',
        rest=',"namespace":"n"',
    ),
    record(
        '{"name":"b","type":["null","B","C"]}',
        LATER_RECORD,
        LATER.replace('"B"', '"C"').replace('"c"', '"d"'),
    ),
    record('{"name":"b","type":"B","aliases":["z"],"doc":"first"}', LATER),
    f"[{BEFORE},{AFTER}]",
    f'["B",{AFTER}]',
    '["B","C"]',
    '{"type":"array","items":"B"}',
    # How texts are written
    *(
        field('"string"', f',"doc":"{text}","x":{{"{text}":"{text}"}}')
        for text in (
            r"\u000f",
            r"\u001B\u007f\u0080\u00e9\u2028",
            r"\b\t\n\f\r\"\\\/",
            r"\u0000\u001F",
            r"\\u000f",
            r"\\\u000f",
            r"\ud83d\ude00",
        )
    ),
    # Names and order
    *(record(rest=f',"namespace":{name}') for name in NAMES.split(" ") if name not in ('"a', 'b"')),
    *(record(name=name) for name in NAMES.split(" ") if name.startswith('"') and name.endswith('"')),
    *(record(name='"x.R"', rest=f',"namespace":{name}') for name in ('"a-b"', '"1"', "null")),
    *(field('"string"', f',"order":{order}') for order in ('"ascending"', '"ASCENDING"', '"Descending"')),
    *(
        field('"string"', f',"order":{order}')
        for order in ('"ignore"', '"up"', '""', "1", "null", "true", "{}")
    ),
    *(record(rest=f',"aliases":["{alias}"]') for alias in ("b", "n.b", "a-b", "1", "")),
    *(record(rest=f',"doc":{doc}') for doc in ("1", "null", '""', "{}", "[]")),
    *(field('"string"', f',"doc":{doc}') for doc in ("1", "null", '""', "{}", "[]")),
    '{"type":"enum","name":"E","symbols":["é","A1"],"doc":"\\u001c"}',
    '{"type":"enum","name":"E","symbols":["²"]}',
]


def test_what_avro_takes_is_taken_and_written_as_it_writes_it(tmp_path: Path) -> None:
    java = shutil.which("java")
    assert java is not None, "java is needed: apt-get install openjdk-17-jdk-headless"
    table = tmp_path / "schemas.json"
    table.write_text(json.dumps(SCHEMAS))
    program = Path(__file__).with_name("AvroParser.java")
    done = subprocess.run(
        [java, "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*", str(program), str(table)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={"JAVA_TOOL_OPTIONS": "-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8"},
    )
    wrong: list[str] = []
    told = [json.loads(line) for line in done.stdout.split("\n") if line]
    for schema, theirs in zip(SCHEMAS, told, strict=True):
        try:
            own = canonical(schema, {})
        except InvalidSchemaError as error:
            own = f"refused: {error}"
        if own != theirs["schema"] if "schema" in theirs else not own.startswith("refused: "):
            wrong.append(f"{schema}\n  Java: {theirs}\n  own:  {own}")
    assert not wrong, "\n".join(wrong)
    # Java writes an infinity as a text, and takes that text only where it is the default of a number.
    taken = [
        each["schema"] for each in told if "schema" in each and '"null"],"default":"' not in each["schema"]
    ]
    taken = [each for each in taken if '["null","double"],"default":"' not in each]
    assert 100 < len(taken) < len(SCHEMAS) - 100
    # What is kept is a schema that is kept as it is, and normalized is one.
    assert [canonical(each, {}) for each in taken] == taken
    for each in taken:
        canonical(normalized(each, {}), {})
