"""Protocol Buffers, held against google.protobuf."""

from __future__ import annotations

import datetime
import decimal
import sys
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.conftest import decode, encode, errors_of

from barnabas.errors import MissingExtraError
from barnabas.formats import EncodeError, SchemaError, protobuf
from barnabas.formats.protobuf_schema import compile_text

UTC = datetime.UTC
Field = descriptor_pb2.FieldDescriptorProto
SCALARS = [
    "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32",
    "sfixed32", "sfixed64", "sint32", "sint64",
]  # fmt: skip


def field(
    message: Any, name: str, number: int, kind: str, *, repeated: bool = False, type_name: str = ""
) -> Any:
    return message.field.add(
        name=name,
        number=number,
        type=getattr(Field, f"TYPE_{kind.upper()}"),
        label=Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL,
        type_name=type_name or None,
    )


def example_file() -> Any:
    """proto3 with everything: `package shop; message Order {...}`."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in ("timestamp", "duration", "wrappers"))
    colour = file.enum_type.add(name="Colour")
    for number, name in enumerate(["NONE", "RED", "GREEN"]):
        colour.value.add(name=name, number=number)
    file.message_type.add(name="Empty")
    order = file.message_type.add(name="Order")
    for number, kind in enumerate(SCALARS, 1):
        field(order, kind, number, kind)
        field(order, f"many_{kind}", 100 + number, kind, repeated=True)
    for number, kind in enumerate(["int32", "string"], 50):
        maybe = field(order, f"maybe_{kind}", number, kind)
        maybe.proto3_optional = True
    order.oneof_decl.add(name="choice")
    for number, kind in enumerate(["int64", "string", "bool"], 60):
        field(order, f"choice_{kind}", number, kind).oneof_index = 0
    for index, kind in enumerate(["int32", "string"], 1):
        order.oneof_decl.add(name=f"_maybe_{kind}")
        next(each for each in order.field if each.name == f"maybe_{kind}").oneof_index = index
    field(order, "colour", 70, "enum", type_name=".shop.Colour")
    field(order, "colours", 71, "enum", repeated=True, type_name=".shop.Colour")
    item = order.nested_type.add(name="Item")
    field(item, "sku", 1, "string")
    field(item, "count", 2, "int32")
    field(order, "item", 80, "message", type_name=".shop.Order.Item")
    field(order, "items", 81, "message", repeated=True, type_name=".shop.Order.Item")
    for number, (name, kind, type_name) in enumerate(
        [("counts", "int64", ""), ("parts", "message", ".shop.Order.Item")], 90
    ):
        entry = order.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        field(entry, "key", 1, "string")
        field(entry, "value", 2, kind, type_name=type_name)
        field(order, name, number, "message", repeated=True, type_name=f".shop.Order.{entry.name}")
    field(order, "at", 95, "message", type_name=".google.protobuf.Timestamp")
    field(order, "took", 96, "message", type_name=".google.protobuf.Duration")
    field(order, "wrapped", 97, "message", type_name=".google.protobuf.Int64Value")
    field(order, "wrapped_text", 98, "message", type_name=".google.protobuf.StringValue")
    return file


FILES = descriptor_pb2.FileDescriptorSet(file=[example_file()])
DESCRIPTORS = FILES.SerializeToString()
FORM = protobuf(DESCRIPTORS, "shop.Order")


def make_class() -> Any:
    from google.protobuf import duration_pb2, timestamp_pb2, wrappers_pb2

    pool = descriptor_pool.DescriptorPool()
    for module in (timestamp_pb2, duration_pb2, wrappers_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(FILES.file[0].SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


Order = make_class()

TEXT = st.text(st.characters(codec="utf-8"))
OF_KIND: dict[str, st.SearchStrategy[Any]] = {
    "double": st.floats(allow_nan=False),
    "float": st.floats(width=32, allow_nan=False),
    "bool": st.booleans(),
    "string": TEXT,
    "bytes": st.binary(),
}
for kind in SCALARS:
    if kind not in OF_KIND:
        bits = 32 if "32" in kind else 64
        unsigned = kind.startswith(("u", "fixed"))
        lowest, highest = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        OF_KIND[kind] = st.integers(lowest, highest)
ITEMS = st.fixed_dictionaries({}, optional={"sku": TEXT, "count": OF_KIND["int32"]})
OPTIONAL: dict[str, st.SearchStrategy[Any]] = (
    {kind: OF_KIND[kind] for kind in SCALARS}
    | {f"many_{kind}": st.lists(OF_KIND[kind], max_size=3) for kind in SCALARS}
    | {f"maybe_{kind}": OF_KIND[kind] for kind in ("int32", "string")}
    | {
        "colour": st.sampled_from(["NONE", "RED", "GREEN"]),
        "colours": st.lists(st.sampled_from(["NONE", "RED", "GREEN"]), max_size=3),
        "item": ITEMS,
        "items": st.lists(ITEMS, max_size=3),
        "counts": st.dictionaries(TEXT, OF_KIND["int64"], max_size=3),
        "parts": st.dictionaries(TEXT, ITEMS, max_size=3),
    }
)
CHOICES = st.sampled_from(["int64", "string", "bool"]).flatmap(
    lambda kind: OF_KIND[kind].map(lambda value: {f"choice_{kind}": value})
)
ORDERS = st.builds(
    lambda fields, choice: Order(**fields, **choice),
    st.fixed_dictionaries({}, optional=OPTIONAL),
    st.just({}) | CHOICES,
)


def row_of(message: Message) -> dict[str, Any]:
    """What the columns should have, as google.protobuf sees the message."""
    row: dict[str, Any] = {}
    for each in message.DESCRIPTOR.fields:
        value = getattr(message, each.name)
        if each.is_repeated:
            if each.message_type is not None and each.message_type.GetOptions().map_entry:
                inner = each.message_type.fields_by_name["value"]
                row[each.name] = {key: one(item, inner) for key, item in value.items()}
            else:
                row[each.name] = [one(item, each) for item in value]
        elif each.has_presence and not message.HasField(each.name):
            row[each.name] = None
        else:
            row[each.name] = one(value, each)
    return row


def one(value: Any, each: Any) -> Any:
    if each.enum_type is not None:
        return each.enum_type.values_by_number[value].name
    if each.message_type is None:
        return decimal.Decimal(value) if each.type in (Field.TYPE_UINT64, Field.TYPE_FIXED64) else value
    return row_of(value)


def with_maps(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: dict(row[name]) for name in ("counts", "parts")}


@settings(max_examples=100, deadline=None)
@given(st.lists(ORDERS, min_size=1, max_size=4))
def test_what_google_writes_is_read_and_what_is_written_google_reads(orders: list[Any]) -> None:
    rows = decode(FORM, [order.SerializeToString() for order in orders])
    assert [with_maps(row) for row in rows] == [row_of(order) for order in orders]
    for order, data in zip(orders, encode(FORM, rows), strict=True):
        assert Order.FromString(data) == order


@settings(max_examples=100, deadline=None)
@given(ORDERS, ORDERS)
def test_messages_joined_are_merged_as_google_merges_them(first: Any, second: Any) -> None:
    data = first.SerializeToString() + second.SerializeToString()
    assert with_maps(decode(FORM, [data])[0]) == row_of(Order.FromString(data))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_whatever_break_the_column(values: list[bytes]) -> None:
    errors_of(FORM, values)


def test_an_empty_message_has_defaults_and_nulls() -> None:
    (row,) = decode(FORM, [b""])
    assert with_maps(row) == row_of(Order())
    assert (row["int32"], row["string"], row["colour"], row["many_int32"]) == (0, "", "NONE", [])
    assert (row["maybe_int32"], row["choice_bool"], row["item"], row["at"], row["wrapped"]) == (None,) * 5


def test_times_and_wrappers_are_plain_values() -> None:
    order = Order()
    json_format.ParseDict(
        {"at": "2013-01-31T05:06:07.123456Z", "took": "-1.5s", "wrapped": 0, "wrapped_text": "x"}, order
    )
    (row,) = decode(FORM, [order.SerializeToString()])
    assert row["at"] == datetime.datetime(2013, 1, 31, 5, 6, 7, 123_456, tzinfo=UTC)
    assert row["took"] == datetime.timedelta(seconds=-1.5)
    assert (row["wrapped"], row["wrapped_text"]) == (0, "x")
    again = Order.FromString(encode(FORM, [row])[0] or b"")
    assert again.at == order.at
    assert again.took.ToTimedelta() == order.took.ToTimedelta()
    assert (again.wrapped.value, again.HasField("wrapped"), again.wrapped_text.value) == (0, True, "x")


def test_unknown_fields_are_passed_over_and_unknown_symbols_are_their_numbers() -> None:
    order = Order(int32=5)
    unknown = b"\xf8\x3f\x01" + b"\xfb\x3f\x08\x01\xfc\x3f" + b"\xfa\x3f\x02ab"  # 1023: number, group, bytes
    (row,) = decode(FORM, [order.SerializeToString() + unknown + b"\xb0\x04\x07"])
    assert (row["int32"], row["colour"]) == (5, "7")
    assert Order.FromString(encode(FORM, [row])[0] or b"").colour == 7


def test_required_fields_of_proto2_are_required() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="old.proto", syntax="proto2")
    message = file.message_type.add(name="Old")
    field(message, "id", 1, "int32").label = Field.LABEL_REQUIRED
    field(message, "name", 2, "string")
    form = protobuf(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(), "Old")
    assert decode(form, [b"\x08\x05"]) == [{"id": 5, "name": None}]
    assert errors_of(form, [b""]) == [(0, "id", "it is required and missing")]
    with pytest.raises(EncodeError, match="null, and it is required"):
        encode(form, [{"id": None, "name": "x"}])


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        (b"\x28", "int32", "the bytes end too early"),
        (b"\x2a\x00", "int32", "wire type 2, not 0"),
        (b"\x00", "", "a number that none can have"),
        (b"\x0e", "double", "wire type 6"),
        (b"\x4a\x01\xff", "string", "not UTF-8"),
        (b"\x82\x05\x03\x12\x01x", "item.count", "wire type 2, not 0"),
        (b"\x82\x05\x02\x08\x01", "item.sku", "wire type 0, not 2"),
        (b"\x82\x05\x02\x08", "item", "the bytes end too early"),
        (b"\xfb\x3f\x08\x01", "", "the bytes end too early"),
    ],
)
def test_bad_bytes_are_null_and_their_field_is_named(data: bytes, path: str, reason: str) -> None:
    ((row, found, message),) = errors_of(FORM, [b"", data, None, b""])
    assert (row, found) == (1, path)
    assert reason in message


@pytest.mark.parametrize(
    ("values", "path", "reason"),
    [
        ({"choice_int64": 1, "choice_bool": True}, "choice_bool", "so has choice_int64: of a oneof"),
        ({"uint32": -1}, "uint32", "-1 is not between 0 and"),
        ({"uint64": decimal.Decimal(2**64)}, "uint64", "is not between 0 and"),
        ({"colour": "PINK"}, "colour", "none of the enum's symbols"),
        ({"many_string": ["a", None]}, "many_string[1]", "null, which lists and maps"),
    ],
)
def test_a_value_that_the_message_does_not_take_is_named(
    values: dict[str, Any], path: str, reason: str
) -> None:
    empty = decode(FORM, [b""])[0]
    with pytest.raises(EncodeError, match=reason) as raised:
        encode(FORM, [empty, empty | values])
    assert (raised.value.row, raised.value.field) == (1, path)


def test_a_message_is_found_by_its_name_and_has_its_place_in_the_file() -> None:
    assert protobuf(DESCRIPTORS, "Order").message_index == (1,)
    assert protobuf(DESCRIPTORS, "Item").message_index == (1, 0)
    assert protobuf(DESCRIPTORS, "shop.Empty").message_index == (0,)


def test_a_header_of_a_registry_is_checked_and_written() -> None:
    form = protobuf(DESCRIPTORS, "Item").with_header(7)
    row = {"sku": "x", "count": 1}
    (data,) = encode(form, [row])
    assert data == b"\0\0\0\0\x07\x04\x02\x00" + b"\x0a\x01x\x10\x01"
    assert decode(form, [data]) == [row]
    other = encode(protobuf(DESCRIPTORS, "Order").with_header(7), decode(FORM, [b""]))[0]
    assert errors_of(form, [other]) == [(0, "", "it is message [1] of its schema, not [1, 0]")]
    assert errors_of(form, [b"\0\0\0\0\x08\x00"])[0][2] == "it has the schema id 8, not 7"


def recursive_file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="tree.proto")
    node = file.message_type.add(name="Node")
    field(node, "left", 1, "message", type_name=".Node")
    return file


def incomplete_file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", dependency=["b.proto"])
    file.message_type.add(name="A")
    return file


@pytest.mark.parametrize(
    ("descriptors", "message", "reason"),
    [
        (b"\xff", "Order", "no descriptor set"),
        (DESCRIPTORS, "Bill", "'Bill' is not in the schema; there are shop.Empty, shop.Order"),
        (
            descriptor_pb2.FileDescriptorSet(file=[incomplete_file()]).SerializeToString(),
            "A",
            "lacks b.proto: call protoc with --include_imports",
        ),
        (
            descriptor_pb2.FileDescriptorSet(file=[recursive_file()]).SerializeToString(),
            "Node",
            "left: Node contains itself",
        ),
    ],
)
def test_a_schema_that_cannot_work_is_refused(descriptors: bytes, message: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        protobuf(descriptors, message)


def test_without_protobuf_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import google.protobuf

    monkeypatch.delattr(google.protobuf, "descriptor_pb2")
    monkeypatch.setitem(sys.modules, "google.protobuf.descriptor_pb2", None)
    with pytest.raises(MissingExtraError, match=r"barnabas\[protobuf\]"):
        protobuf(DESCRIPTORS, "Order")


def test_types_are_those_of_the_documentation() -> None:
    types = {each.name: each.type for each in FORM.data_type}
    assert types["uint32"] == pa.int64()
    assert types["uint64"] == pa.decimal128(20, 0)
    assert types["colour"] == pa.string()
    assert types["wrapped"] == pa.int64()
    assert types["took"] == pa.duration("us")


TEXT = """
syntax = "proto3"; package shop; import "item.proto"; import "google/protobuf/timestamp.proto";
message Order { string id = 1; repeated Item items = 2; google.protobuf.Timestamp at = 3; message Line {} }
message Other { int32 x = 1; map<string, int32> counts = 2; }
"""
REFERENCES = {"item.proto": 'syntax = "proto3"; package shop; message Item { string sku = 1; }'}


def test_a_schema_may_be_the_text_that_a_registry_keeps() -> None:
    form = protobuf(TEXT, "Order", references=REFERENCES)
    rows = [{"id": "a", "items": [{"sku": "b"}], "at": datetime.datetime(2026, 1, 1, tzinfo=UTC)}]
    assert decode(form, encode(form, rows)) == rows
    assert (
        form
        == protobuf(compile_text(TEXT, REFERENCES), "shop.Order")
        == protobuf(TEXT, references=REFERENCES)
    )
    assert [protobuf(TEXT, name, references=REFERENCES).message_index for name in ("Other", "Line")] == [
        (1,),
        (0, 0),
    ]


def test_of_a_text_only_its_own_messages_are_named() -> None:
    with pytest.raises(
        SchemaError, match=r"'Item' is not in the schema; there are shop\.Order, shop\.Order\.Line"
    ):
        protobuf(TEXT, "Item", references=REFERENCES)
    with pytest.raises(SchemaError, match=r"line 1, column 13: the type 'Item' is not defined"):
        protobuf("message M { optional Item a = 1; }")
