"""Schemas of Protocol Buffers as texts: google.protobuf and Confluent's own package are the judges of
descriptors by chance, and texts that are broken or hostile say where."""

# google.protobuf has no types.
# pyright: basic

from __future__ import annotations

import base64
import contextlib
import random
import subprocess
import sys
from typing import Any

import pytest
from confluent_kafka.schema_registry.common import protobuf as original
from google.protobuf import descriptor_pb2, descriptor_pool
from hypothesis import given
from hypothesis import strategies as st
from tests.protobuf_by_chance import Maker

from barnabas.formats import SchemaError
from barnabas.formats.proto.elements import Number
from barnabas.formats.protobuf_schema import ProtobufSchema, compile_text, parse_any, text_of
from barnabas.formats.protobuf_values import file_of, message_class

seeds = st.integers(0, 1 << 30)


def described(text: str, references: dict[str, str] | None = None) -> Any:
    return descriptor_pb2.FileDescriptorSet.FromString(compile_text(text, references)).file[-1]


@given(seeds)
def test_a_descriptor_becomes_a_text_that_compiles_to_the_same_descriptor(seed: int) -> None:
    descriptor = Maker(seed).make()
    text = text_of(descriptor.SerializeToString())
    assert described(text) == descriptor
    assert ProtobufSchema(text).canonical_text == text


@given(seeds)
def test_what_is_normalized_is_normal_and_means_the_same(seed: int) -> None:
    descriptor = Maker(seed).make()
    schema = ProtobufSchema(text_of(descriptor.SerializeToString()))
    again = ProtobufSchema(schema.normalized_text)
    assert again.normalized_text == schema.normalized_text
    assert ProtobufSchema(text_of(again.descriptor)).normalized_text == schema.normalized_text
    assert in_one_order(described(schema.normalized_text)) == in_one_order(descriptor)


def in_one_order(message: Any) -> Any:
    """A text in normal form has a message's fields, constants and reserved numbers by number."""
    for field, value in message.ListFields():
        if field.message_type is None or not field.is_repeated:
            continue
        for each in value:
            in_one_order(each)
        if field.name in ("field", "value"):
            value.sort(key=lambda each: (getattr(each, "number", 0), getattr(each, "name", "")))
    if isinstance(message, descriptor_pb2.FileDescriptorProto):
        del message.public_dependency[:]
        message.dependency.sort()
    if isinstance(message, descriptor_pb2.DescriptorProto):
        # Oneofs are by the least of their numbers, and fields only count them.
        names = {index: each.name for index, each in enumerate(message.oneof_decl)}
        for field in message.field:
            if field.HasField("oneof_index"):
                field.oneof_index = sorted(names.values()).index(names[field.oneof_index])
        message.oneof_decl.sort(key=lambda each: each.name)
        message.nested_type.sort(key=lambda each: each.name if each.options.map_entry else "")
    return message


@given(seeds)
def test_the_original_reads_our_descriptors_and_we_its_texts(seed: int) -> None:
    descriptor = Maker(seed).make()
    sent = original._proto_to_str(descriptor)
    schema = parse_any(sent)
    assert schema.canonical_text == text_of(descriptor.SerializeToString())
    pool = descriptor_pool.DescriptorPool()
    original._init_pool(pool)
    returned = original._str_to_proto("default", base64.b64encode(schema.descriptor).decode())
    pool.Add(returned)
    assert returned == descriptor


CANONICAL = """\
syntax = "proto3";
package a.b;

import "google/protobuf/timestamp.proto";
import public "confluent/meta.proto";

option java_package = "x";

message M {
  reserved 5, 100 to max;
  reserved "x", "y";

  option (confluent.message_meta).doc = "d";

  string s = 1 [
    (confluent.field_meta) = {
      tags: [
        "PII"
      ]
    },
    json_name = "es"
  ];
  optional int32 o = 2;
  map<string, N> m = 3;
  google.protobuf.Timestamp t = 8;

  oneof u {
    int32 a = 6;
    N b = 7 [deprecated = true];
  }

  message N {
    N n = 2;
  ~
    enum E {
      option allow_alias = true;
      Z = 0;
      Y = 0;
    }
  }
}
enum F {
  reserved -3 to -1;
  Q = 0;
}

extend M {}

service S {
  option deprecated = true;

  rpc Do (stream M) returns (M.N) {
    option idempotency_level = NO_SIDE_EFFECTS;
  };
  rpc Be (M) returns (M);
}
""".replace("~", "")  # Confluent's registry indents empty lines, too.


def test_the_canonical_form_is_that_of_confluents_registry() -> None:
    squeezed = "".join(f"{line.strip()}\n" for line in CANONICAL.splitlines())
    assert ProtobufSchema(f"// A comment.\n{squeezed}/* Another. */").canonical_text == CANONICAL


def test_parts_are_moved_to_where_the_canonical_form_has_them() -> None:
    text = 'syntax="proto3"; enum E{A=0;} message M{oneof o{int32 a=1;} E b=2; message N{}} import "z.proto";'
    assert ProtobufSchema(text).canonical_text == (
        'syntax = "proto3";\n\nimport "z.proto";\n\n'
        "message M {\n  E b = 2;\n\n  oneof o {\n    int32 a = 1;\n  }\n\n  message N {}\n}\n"
        "enum E {\n  A = 0;\n}\n"
    )


def test_the_normalized_form_has_full_names_and_is_in_the_order_of_numbers_and_names() -> None:
    text = """
    syntax = "proto2"; package p;
    import "google/protobuf/timestamp.proto"; import "confluent/meta.proto"; import "confluent/meta.proto";
    message M {
      optional N n = 0x10 [deprecated = true, (confluent.field_meta).tags = "A", default_ = 1];
      optional google.protobuf.Timestamp t = 2; map<string, N> m = 1;
      message N { reserved 9, 3 to 4, 7 to 7; }
    }
    """.replace(", default_ = 1", ", (confluent.field_meta).doc = 'd'")
    assert ProtobufSchema(text).normalized_text == (
        'package p;\n\nimport "confluent/meta.proto";\nimport "google/protobuf/timestamp.proto";\n\n'
        "message M {\n  map<string, .p.M.N> m = 1;\n  optional .google.protobuf.Timestamp t = 2;\n"
        "  optional .p.M.N n = 16 [\n    (confluent.field_meta) = {\n"
        '      doc: "d",\n      tags: "A"\n    },\n    deprecated = true\n  ];\n\n'
        "  message N {\n    reserved 3 to 4;\n    reserved 7;\n    reserved 9;\n  }\n}\n"
    )


def test_normalizing_keeps_which_constant_is_the_first() -> None:
    text = 'syntax = "proto3";\n\nenum E {\n  Z = 0;\n  A = -1;\n  B = 1;\n}\n'
    assert ProtobufSchema(text).normalized_text == text


def test_custom_options_reach_the_descriptor() -> None:
    text = r"""
    syntax = "proto2"; package x.y;
    import "google/protobuf/descriptor.proto";
    extend google.protobuf.FieldOptions { optional Opt opt = 50001; repeated bytes more = 50002; }
    message Opt {
      optional sint32 a = 1; repeated string s = 2; optional Opt sub = 3; map<string, int32> m = 4;
      extensions 100;
    }
    extend Opt { optional E ext = 100; }
    enum E { Z = 0; N = -0x10; }
    message M {
      optional int32 i = 1 [
        (opt).a = -3, (opt).s = "x", (opt).s = "y" 'z', (opt).sub.(ext) = N, (more) = "\xff"
      ];
      optional int32 j = 2 [(x.y.opt) = { a: 0x10, s: ["p"]; sub < a: 2 > [ext]: N m { key: "k" value: 1 } }];
    }
    """
    file = file_of(compile_text(text))
    fields = file.message_types_by_name["M"].fields_by_name
    classes = file.pool.FindMessageTypeByName("google.protobuf.FieldOptions")

    def options(name: str) -> Any:
        return message_class(classes).FromString(fields[name].GetOptions().SerializeToString())

    opt, more, ext = (file.pool.FindExtensionByName(f"x.y.{name}") for name in ("opt", "more", "ext"))
    first, second = options("i").Extensions[opt], options("j").Extensions[opt]
    assert (first.a, list(first.s), first.sub.Extensions[ext]) == (-3, ["x", "yz"], -16)
    assert list(options("i").Extensions[more]) == [b"\xff"]
    assert (second.a, list(second.s), second.sub.a, second.m["k"]) == (16, ["p"], 2, 1)
    assert second.Extensions[ext] == -16


def test_a_group_is_a_field_and_its_message() -> None:
    text = 'syntax = "proto2"; message M { optional group Part = 1 [lazy = true] { required int32 a = 1; } }'
    made = described(text)
    (field,), (nested,) = made.message_type[0].field, made.message_type[0].nested_type
    assert (field.name, field.type_name, field.type) == ("part", ".M.Part", field.TYPE_GROUP)
    assert nested.field[0].name == "a"
    assert described(text_of(made.SerializeToString())) == made
    assert "  optional group Part = 1 [lazy = true] {\n    required int32 a = 1;\n  }\n" in (
        ProtobufSchema(text).canonical_text
    )


def test_maps_come_behind_the_messages_that_a_text_shows() -> None:
    made = described('syntax = "proto3"; message M { map<int32, N> some_of = 1; message N {} }')
    assert [each.name for each in made.message_type[0].nested_type] == ["N", "SomeOfEntry"]


def test_files_come_behind_those_that_they_import_under_the_names_of_references() -> None:
    references = {
        "a.proto": 'import public "b/b.proto"; import "google/type/money.proto";',
        "b/b.proto": 'syntax = "proto3"; package b; message B { int32 x = 1; }',
        "unused.proto": "this is not even read",
    }
    text = 'syntax = "proto3"; import "a.proto"; message M { b.B b = 1; }'
    files = descriptor_pb2.FileDescriptorSet.FromString(compile_text(text, references)).file
    assert [file.name for file in files] == ["google/type/money.proto", "b/b.proto", "a.proto", "default"]


def test_references_may_be_descriptors() -> None:
    reference = original._proto_to_str(described('syntax = "proto3"; package b; message B { int32 x = 1; }'))
    made = described('syntax = "proto3"; import "b.proto"; message M { b.B b = 1; }', {"b.proto": reference})
    assert made.message_type[0].field[0].type_name == ".b.B"


OF_PROTOBUF = "any api descriptor duration empty field_mask source_context struct timestamp type wrappers"
OF_GOOGLE_TYPE = (
    "calendar_period color date datetime dayofweek decimal expr fraction interval latlng money month "
    "phone_number postal_address quaternion timeofday"
)
KNOWN = [
    *(f"google/protobuf/{name}" for name in OF_PROTOBUF.split()),
    *(f"google/type/{name}" for name in OF_GOOGLE_TYPE.split()),
    *(f"confluent/{name}" for name in ("meta", "type/decimal", "type/variant", "types/decimal")),
]


@pytest.mark.parametrize("name", KNOWN)
def test_what_confluents_registry_has_built_in_needs_no_reference(name: str) -> None:
    file = file_of(compile_text(f'import public "{name}.proto";'))
    known = file.dependencies[0]
    assert known.name == f"{name}.proto"
    made, expected = descriptor_pb2.FileDescriptorProto(), descriptor_pb2.FileDescriptorProto()
    known.CopyToProto(made)
    pool = descriptor_pool.DescriptorPool()
    original._init_pool(pool)
    if name in ("google/type/decimal", "google/type/interval", "google/type/phone_number"):
        return  # The original's pool lacks them.
    pool.FindFileByName(f"{name}.proto").CopyToProto(expected)
    for each in (made, expected):
        each.ClearField("options")
        for message in each.message_type:
            for field in message.field:
                field.ClearField("json_name")
    assert [each.name for each in made.message_type] == [each.name for each in expected.message_type]
    for one, other in zip(made.message_type, expected.message_type, strict=True):
        assert list(one.field) == list(other.field)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_built_in_may_be_a_schema_of_its_own(name: str) -> None:
    file = file_of(compile_text(f'import public "{name}.proto";')).dependencies[0]
    copy = text_of(file.serialized_pb)
    made, expected = described(copy), descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(expected)
    assert [each.name for each in made.message_type] == [each.name for each in expected.message_type]
    assert ProtobufSchema(copy).normalized_text


def test_an_import_that_nobody_gave_is_ignored_until_something_of_it_is_used() -> None:
    text = 'syntax = "proto3"; import "validate.proto"; message M { int32 a = 1 [(v.rules).int32.gt = 0]; }'
    assert described(text).message_type[0].field[0].name == "a"
    with pytest.raises(
        SchemaError, match=r"line 1, column 57: the type 'v\.V' is not defined; 'validate\.proto'"
    ):
        compile_text('syntax = "proto3"; import "validate.proto"; message M { v.V a = 1; }')


BROKEN = [
    ('syntax = "proto3";\nmessage M {\n  int32 = 1;\n}', "line 3, column 9: expected a name, found '='"),
    ('syntax = "proto4";', "line 1, column 10: the syntax is proto2 or proto3, not 'proto4'"),
    ('edition = "2099";', "the edition is 2023, not '2099'"),
    ("message M { int32 a = 1; }", "expected optional, required, repeated"),
    ('package a; syntax = "proto3";', "line 1, column 12: syntax must be the first"),
    ("package a; package b;", "the package is said twice"),
    ("message M {", "expected a name, found the end of the text"),
    ("message M { optional int32 a = 1 [default = ]; }", "expected a value, found ']'"),
    ("message M { optional int32 a = 0; }", "0 is no number of a field"),
    ("message M { optional int32 a = 19000; }", "19000 is no number of a field"),
    ("message M { optional int32 a = 99999999999999999999999; }", "is no number of a field"),
    ("message M { optional int32 a = 1; optional int32 b = 1; }", "has the number 1 twice: for 'a' and 'b'"),
    ("message M { optional int32 a = 1; optional int32 a = 2; }", "the message M has 'a' twice"),
    ("message M {} enum M { A = 0; }", "the file has 'M' twice"),
    ("message M { reserved 1 to 5; optional int32 a = 3; }", "has the field 'a', whose number is reserved"),
    ("message M { reserved 'a'; optional int32 a = 3; }", "has the field 'a', whose name is reserved"),
    ("message M { reserved 5 to 2; }", "5 to 2 is no range"),
    ("message M { optional Nothing a = 1; }", "line 1, column 13: the type 'Nothing' is not defined"),
    ("message M { oneof o { } }", "the oneof 'o' of the message M has no fields"),
    ("message M { oneof o { optional int32 a = 1; } }", "a field in a oneof has no label"),
    ("message M { map<float, string> m = 1; }", "'float' is no type of a map's keys"),
    ("message M { repeated map<int32, string> m = 1; }", "a map has no label"),
    ("enum E { }", "the enum E has no values"),
    ("enum E { A = 1; B = 1; }", "has the number 1 twice: for 'A' and 'B', without allow_alias"),
    ('syntax = "proto3"; enum E { A = 1; }', "the first value of the enum E is not 0"),
    ("enum E { A = 2147483648; }", "2147483648 is more than an enum holds"),
    ('syntax = "proto3"; message M { required int32 a = 1; }', "proto3 has no required fields"),
    ('syntax = "proto3"; message M { int32 a = 1 [default = 1]; }', "proto3 has no defaults"),
    ('syntax = "proto3"; message M { group A = 1 {} }', "only proto2 has groups"),
    (
        "message M { optional int32 a = 1 [default = 'x']; }",
        "the default of the field 'a' is no value of int32",
    ),
    (
        "message M { optional uint32 a = 1 [default = -1]; }",
        "the default of the field 'a' is no value of uint32",
    ),
    (
        "message M { optional bool a = 1 [default = maybe]; }",
        "the default of the field 'a' is no value of bool",
    ),
    ("message M { optional int32 a = 1 [nothing = 1]; }", "the option nothing is not to be set"),
    ("message M { optional int32 a = 1 [packed = 7]; }", "the option packed is not to be set"),
    ("message M { optional int32 a = 1 [(nothing) = 1]; }", r"the option \(nothing\) is not declared"),
    ("option java_package = 'a'; option java_package = 'b';", "the option java_package is set twice"),
    ("service S { rpc A (M) returns (M); }", "the type 'M' is not defined"),
    ("enum E { A = 0; } service S { rpc A (E) returns (E); }", "'E' is no message that 'A' could take"),
    ("extend Nothing { optional int32 a = 1; }", "the type 'Nothing' is not defined"),
    ("/* a comment", "line 1, column 1: the comment has no end"),
    ("import 'a", "line 1, column 8: the text has no end on its line"),
    ("import 'a\\q';", "line 1, column 10: a backslash is followed by what is no escape"),
    ("message M \x00", "unexpected"),
    ("message Ä {}", "line 1, column 9: unexpected 'Ä'"),
    ("option java_package = '\ud800';", "line 1, column 24: this is half of a pair of surrogates"),
    ("message M { optional int32 a = 1x; }", "a number and a name need a space"),
    ("AAAA", "expected a declaration"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN, ids=range(len(BROKEN)))
def test_a_text_that_is_broken_says_where_and_why(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        compile_text(text)


def test_files_that_import_each_other_in_a_circle_are_named() -> None:
    references = {"a.proto": "import 'b.proto';", "b.proto": "import 'a.proto';"}
    with pytest.raises(SchemaError, match=r"'a\.proto' imports 'b\.proto' imports 'a\.proto'"):
        compile_text("import 'a.proto';", references)


def test_a_reference_that_is_broken_is_named() -> None:
    with pytest.raises(SchemaError, match=r"'a\.proto', which is imported: .*line 1, column 9"):
        compile_text("import 'a.proto';", {"a.proto": "message { }"})


def test_a_type_of_a_file_that_is_not_imported_is_refused() -> None:
    references = {"a.proto": "import 'b.proto';", "b.proto": "message B {}"}
    with pytest.raises(SchemaError, match=r"'B' is of 'b\.proto', which is not imported"):
        compile_text("import 'a.proto'; message M { optional B b = 1; }", references)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("message M {" * 40 + "}" * 40, "33 deep; the limit is 32"),
        ("message M {" * 100_000, "33 deep; the limit is 32"),
        ("option (a) = " + "{a " * 100_000, "deeper than 64"),
        ("option (a) = " + "[" * 100_000, "deeper than 64"),
        ("option a" + ".a" * 100_000 + " = 1;", "more than 64 parts"),
        ("package a" + ".a" * 100_000 + ";", "a name has more than 100 parts"),
        ("message M { optional int32 a = " + "9" * 100_000 + "; }", "a number has 100000 digits"),
        ("//" + "a" * 1_000_000 + "\n}", "line 2, column 1"),
        ("/* " * 100_000, "the comment has no end"),
        ("'" * 100_001, "the text has no end"),
        (base64.b64encode(b"\x00" * 999).decode(), "expected a declaration"),
        (base64.b64encode(b'"\x02' * 1000).decode(), "broken"),
    ],
    ids=range(12),
)
def test_hostile_texts_are_refused_with_what_they_overdo(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        ProtobufSchema(text)


def test_options_of_one_thing_are_bounded() -> None:
    schema = ProtobufSchema("message M {" + "option (a).b = 1;" * 2000 + "}")
    for compiled in (lambda: schema.descriptor_set, lambda: schema.normalized_text):
        with pytest.raises(SchemaError, match="more than 1000 options of one thing"):
            compiled()


def test_what_a_schema_is_called_is_not_told_at_length() -> None:
    with pytest.raises(SchemaError) as raised:
        compile_text(f"message {'M' * 100_000} {{}} message {'M' * 100_000} {{}}")
    assert len(str(raised.value)) < 500


def test_a_key_that_is_given_often_has_a_list() -> None:
    text = "option (a) = {b: 1 b: [2, 3] c: [] b: 4 d {} d {e: 5}};"
    assert ProtobufSchema(text).file.options[0].value == {
        "b": [Number("1"), Number("2"), Number("3"), Number("4")],
        "c": [],
        "d": [{}, {"e": Number("5")}],
    }


@pytest.mark.parametrize(
    "part", ["package", "message", "field", "enum", "value", "extension", "service", "method"]
)
def test_names_in_a_descriptor_that_no_text_could_have_are_refused(part: str) -> None:
    name = "M {} message N"
    made = descriptor_pb2.FileDescriptorProto(package=name if part == "package" else "p")
    message = made.message_type.add(name=name if part == "message" else "A")
    message.field.add(name=name if part == "field" else "f", number=1, label=1, type=5)
    message.extension_range.add(start=5, end=6)
    made.extension.add(name=name if part == "extension" else "e", number=5, label=1, type=5, extendee=".p.A")
    enum = made.enum_type.add(name=name if part == "enum" else "E")
    enum.value.add(name=name if part == "value" else "V", number=0)
    service = made.service.add(name=name if part == "service" else "S")
    service.method.add(name=name if part == "method" else "D", input_type=".p.A", output_type=".p.A")
    with pytest.raises(
        SchemaError, match="is no name" if part != "package" else "no name of a package|not defined"
    ):
        compile_text(base64.b64encode(made.SerializeToString()).decode())


def test_chains_and_crowds_of_imports_are_bounded() -> None:
    chain = {f"{number}.proto": f"import '{number + 1}.proto';" for number in range(5000)}
    with pytest.raises(SchemaError, match="more than 100 files"):
        compile_text("import '0.proto';", chain)
    crowd = "".join(f"import '{number}.proto';" for number in range(2000))
    with pytest.raises(SchemaError, match="more than 1000 files"):
        compile_text(crowd, dict.fromkeys(chain, ""))


PIECES = [
    *"{}[]()<>=;:,./+-\"'\\\n", "message ", "enum ", "oneof ", "group ", "map<", "option ", "reserved ",
    " = 1", "extend ", "to max", "repeated ", "é", "\x00", "0x", "1e9", "import '", "//", "/*",
]  # fmt: skip


@given(seeds, st.integers(1, 4))
def test_a_text_with_pieces_gone_or_too_many_compiles_or_says_where(seed: int, times: int) -> None:
    text = text_of(Maker(seed % 50).make().SerializeToString())
    chance = random.Random(seed)
    for _ in range(times):
        start = chance.randrange(len(text))
        end = start if chance.random() < 0.5 else min(start + chance.randrange(12), len(text))
        text = text[:start] + (chance.choice(PIECES) if chance.random() < 0.7 else "") + text[end:]
    # Any other error fails.
    with contextlib.suppress(SchemaError):
        assert ProtobufSchema(text).descriptor_set
    with contextlib.suppress(SchemaError):
        assert ProtobufSchema(text).normalized_text


@pytest.mark.integration
def test_texts_need_no_google_protobuf_and_descriptors_name_the_extra() -> None:
    program = (
        "import sys; sys.modules['google.protobuf'] = None\n"
        "from barnabas.errors import MissingExtraError\n"
        "from barnabas.formats.protobuf_schema import ProtobufSchema\n"
        "schema = ProtobufSchema('message M {}')\n"
        "print(schema.normalized_text)\n"
        "try: schema.descriptor\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("\nmessage M {}\n")
    assert "barnabas[protobuf]" in done.stdout
