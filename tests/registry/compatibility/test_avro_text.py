"""Texts of Avro schemas, as Avro's library for Java writes them."""

from __future__ import annotations

import json
import re

import pytest

from barnabas.registry.compatibility.avro import differences
from barnabas.registry.compatibility.avro_text import canonical, normalized, resolved
from barnabas.registry.compatibility.formats import FORMATS
from barnabas.registry.errors import InvalidSchemaError

RECORD = """{
  "fields": [
    {"type": {"precision": 9, "scale": 2, "type": "bytes", "logicalType": "decimal"}, "name": "price"},
    {"name": "kind", "default": "A", "order": "ignore", "aliases": ["sort"], "doc": "which",
     "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"], "default": "A",
              "aliases": ["z.K", "J"]}},
    {"name": "again", "type": ["null", "shop.Kind"]}
  ],
  "namespace": "shop", "name": "Order", "type": "record", "x-owner": "me", "doc": ""
}"""


def test_a_schema_is_kept_in_avros_order_without_spaces() -> None:
    assert canonical(RECORD, {}) == (
        '{"type":"record","name":"Order","namespace":"shop","doc":"","fields":['
        '{"name":"price","type":{"type":"bytes","precision":9,"scale":2,"logicalType":"decimal"}},'
        '{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"],"default":"A",'
        '"aliases":["z.K","J"]},"doc":"which","default":"A","order":"ignore","aliases":["sort"]},'
        '{"name":"again","type":["null","Kind"]}],"x-owner":"me"}'
    )


def test_normalizing_orders_properties_and_aliases_and_drops_an_empty_doc() -> None:
    assert normalized(RECORD, {}) == (
        '{"type":"record","name":"Order","namespace":"shop","fields":['
        '{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},'
        '{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"],"default":"A",'
        '"aliases":["J","z.K"]},"doc":"which","default":"A","order":"ignore","aliases":["sort"]},'
        '{"name":"again","type":["null","Kind"]}],"x-owner":"me"}'
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('"string"', '"string"'),
        ('{"type": "string"}', '"string"'),
        ('{"type": {"type": "int"}}', '"int"'),
        ('{"type": "int", "logicalType": "date"}', '{"type":"int","logicalType":"date"}'),
        (
            '{"type": "array", "items": ["null", "é"]}'.replace("é", "long"),
            '{"type":"array","items":["null","long"]}',
        ),
        ('{"type": "map", "values": "bytes", "a": {"b": 1}}', '{"type":"map","values":"bytes","a":{"b":1}}'),
        (
            '{"type": "fixed", "name": "a.F", "size": 4}',
            '{"type":"fixed","name":"F","namespace":"a","size":4}',
        ),
        (
            '{"type": "record", "name": "a.R", "fields": [{"name": "f", "type": '
            '{"type": "fixed", "name": "F", "namespace": "", "size": 1}}]}',
            '{"type":"record","name":"R","namespace":"a","fields":[{"name":"f","type":'
            '{"type":"fixed","name":"F","namespace":"","size":1}}]}',
        ),
        (
            '{"type":"record", "name":"N", "fields":[{"name":"next","type":["null","N"],"default":null}]}',
            '{"type":"record","name":"N","fields":[{"name":"next","type":["null","N"],"default":null}]}',
        ),
    ],
)
def test_each_kind_of_type_is_written(text: str, kept: str) -> None:
    assert canonical(text, {}) == kept
    assert canonical(kept, {}) == kept


def test_references_stay_names_until_they_are_resolved() -> None:
    address = '{"type":"record","name":"Address","namespace":"a","fields":[{"name":"city","type":"string"}]}'
    text = (
        '{"type":"record","name":"U","namespace":"b","fields":['
        '{"name":"home","type":"a.Address"},{"name":"work","type":"a.Address"}]}'
    )
    assert canonical(text, {"a.Address": address}) == text
    whole = resolved(text, {"a.Address": address})
    assert json.loads(whole)["fields"][0]["type"] == json.loads(address)
    assert json.loads(whole)["fields"][1]["type"] == "a.Address"
    assert canonical(whole, {}) == whole


def test_what_is_no_schema_is_refused() -> None:
    for rewritten in (canonical, normalized, resolved):
        with pytest.raises(InvalidSchemaError):
            rewritten('{"type": "record"}', {})
        with pytest.raises(InvalidSchemaError):
            rewritten("[" * 100_000, {})


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"enum","name":"E","symbols":["a-b"]}',
        '{"type":"enum","name":"E","symbols":["A"],"default":"B"}',
        '{"type":"record","name":"R-R","fields":[]}',
        '{"type":"record","name":"R","fields":[{"name":"a.b","type":"int"}]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":null}]}',
    ],
)
def test_what_old_libraries_took_is_refused_where_it_is_new_and_compared_where_it_is_kept(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        canonical(text, {})
    with pytest.raises(InvalidSchemaError):
        differences(text, text)
    assert FORMATS["AVRO"].differences(text, text) == []
    assert json.loads(resolved(text, {})) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('// a\n{"type": /* b */ "int", "x": "/* c */ // d"}', '{"type":"int","x":"/* c */ // d"}'),
        (
            '{"type":"int","x":[1e-7,1E10,1e400,0.5,100.0]}',
            '{"type":"int","x":[1.0E-7,1.0E10,"Infinity",0.5,100.0]}',
        ),
        ('{"type":"int","x":"\\u000f\\\\u000f\\n"}', '{"type":"int","x":"\\u000F\\\\u000f\\n"}'),
        (
            '{"type":"record","name":"A","namespace":"n","fields":['
            '{"name":"a","type":"B"},{"name":"b","type":{"type":"fixed","name":"B","size":2}}]}',
            '{"type":"record","name":"A","namespace":"n","fields":['
            '{"name":"a","type":{"type":"fixed","name":"B","size":2}},{"name":"b","type":"B"}]}',
        ),
        (
            '{"type":"record","name":"A","fields":[{"name":"a","type":"double","default":"NaN"},'
            '{"name":"b","type":"float","default":"1e7"}]}',
            '{"type":"record","name":"A","fields":[{"name":"a","type":"double","default":"NaN"},'
            '{"name":"b","type":"float","default":1.0E7}]}',
        ),
    ],
)
def test_what_java_reads_besides_json_is_written_as_it_writes_it(text: str, kept: str) -> None:
    assert canonical(text, {}) == canonical(kept, {}) == kept
    assert normalized(text, {}) == kept
    assert FORMATS["AVRO"].differences(text, kept) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"type":"record","name":"R","namespace":"a-b","fields":[]}', "'a-b' is no namespace"),
        ('{"type":"record","name":"int","fields":[]}', "the name of the primitive type 'int'"),
        ('{"type":"record","name":"R","aliases":["a-b"],"fields":[]}', "has the alias 'a-b'"),
        (
            '{"type":"record","name":"R","fields":[{"name":"f","type":"int","order":"up"}]}',
            "the order 'up' of the field 'f'",
        ),
        ('{"type":"int","x":NaN}', "NaN is no number"),
        ('{"type":"int","x":[-Infinity]}', "-Infinity is no number"),
        ('"int" /* a', "a comment has no end"),
    ],
)
def test_what_java_refuses_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidSchemaError, match=re.escape(words)):
        canonical(text, {})


@pytest.mark.parametrize("begin", ["/* ", '"\\', "//", "/*/", '"\\"'])
def test_a_long_text_of_nothing_but_beginnings_is_looked_at_once(begin: str) -> None:
    # Would it be looked at once for each, this would take hours.
    with pytest.raises(InvalidSchemaError, match="not JSON"):
        canonical("/" + begin * 1_000_000, {})


def test_names_that_are_used_before_they_are_defined_may_be_of_a_circle() -> None:
    text = (
        '[{"type":"record","name":"A","fields":[{"name":"b","type":"B"}]},'
        '{"type":"record","name":"B","fields":[{"name":"a","type":["null","A","C"]}]},'
        '{"type":"enum","name":"C","symbols":["x"]}]'
    )
    kept = canonical(text, {})
    assert canonical(kept, {}) == kept
    assert differences(text, kept) == differences(kept, text) == []
    assert differences(text, kept.replace('["x"]', '["x","y"]'))
