"""Texts of Protocol Buffers without protoc: read, written, normalized, and compiled to descriptors.

    text -> parser -> elements -> to_descriptor, options -> FileDescriptorProto
    FileDescriptorProto -> from_descriptor -> elements -> printer, normal_form -> text

`barnabas.formats.protobuf_schema` is the way in. Where forms are a matter of taste, they are those of
Confluent's registry. Only descriptors need google.protobuf.
"""
