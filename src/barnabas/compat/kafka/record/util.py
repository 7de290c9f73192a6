"""Numbers of variable length, and checksums, as record batches have them."""

from barnabas.compat.kafka_python.wire.varints import (
    calc_crc32,
    calc_crc32c,
    decode_varint,
    encode_varint,
    size_of_varint,
)

__all__ = ["calc_crc32", "calc_crc32c", "decode_varint", "encode_varint", "size_of_varint"]
