# pyright: basic
"""What files, messages, fields and enums may say of themselves: tags, rules, documentation."""

from barnabas.compat.confluent_kafka.schema_registry.confluent._files import known_file, message_of

DESCRIPTOR = known_file("confluent/meta.proto")
Meta = message_of(DESCRIPTOR, "Meta")
Rule = message_of(DESCRIPTOR, "Rule")
file_meta = DESCRIPTOR.extensions_by_name["file_meta"]
message_meta = DESCRIPTOR.extensions_by_name["message_meta"]
field_meta = DESCRIPTOR.extensions_by_name["field_meta"]
enum_meta = DESCRIPTOR.extensions_by_name["enum_meta"]
enum_value_meta = DESCRIPTOR.extensions_by_name["enum_value_meta"]
FILE_META_FIELD_NUMBER = file_meta.number
MESSAGE_META_FIELD_NUMBER = message_meta.number
FIELD_META_FIELD_NUMBER = field_meta.number
ENUM_META_FIELD_NUMBER = enum_meta.number
ENUM_VALUE_META_FIELD_NUMBER = enum_value_meta.number
