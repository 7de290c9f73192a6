"""Variants: values whose type is told with them, in Parquet's and Spark's binary form."""

from barnabas.formats.variant import Variant as Variant
from barnabas.formats.variant import VariantBuilder as VariantBuilder
from barnabas.formats.variant import VariantError as VariantError
from barnabas.formats.variant import VariantType as VariantType
from barnabas.formats.variant import from_bytes as from_bytes
from barnabas.formats.variant import parse_json as parse_json
from barnabas.formats.variant import to_json_string as to_json_string
