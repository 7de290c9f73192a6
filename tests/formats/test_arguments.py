"""What formats say of arguments of other types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas import formats

ANY: Any = {"a": "int64"}


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: formats.json(ANY),
            "expected a pyarrow.DataType for data_type, got {'a': 'int64'}: give, for objects, "
            'pyarrow.struct({"name": pyarrow.string()})',
        ),
        (
            lambda: formats.avro(ANY),
            "expected a str for schema, got {'a': 'int64'}: give json.dumps(schema)",
        ),
        (
            lambda: formats.avro('"string"', ANY),
            "expected a str for reader_schema, got {'a': 'int64'}: give json.dumps(reader_schema)",
        ),
        (
            lambda: formats.protobuf(ANY),
            "expected bytes or a str for schema, got {'a': 'int64'}: give the text of a .proto file, or what "
            "protoc --include_imports --descriptor_set_out writes",
        ),
    ],
)
def test_a_schema_of_another_type_is_named_with_what_to_give(
    make: Callable[[], object], complaint: str
) -> None:
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value) == complaint
