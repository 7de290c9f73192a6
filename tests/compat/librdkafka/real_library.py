"""The real librdkafka, which confluent-kafka carries with it, called directly."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import confluent_kafka


@cache
def library() -> ctypes.CDLL:
    package = Path(confluent_kafka.__file__).parent
    (path,) = (package.parent / "confluent_kafka.libs").glob("librdkafka*")
    loaded = ctypes.CDLL(str(path))
    loaded.rd_kafka_conf_new.restype = ctypes.c_void_p
    loaded.rd_kafka_conf_destroy.argtypes = [ctypes.c_void_p]
    loaded.rd_kafka_conf_set.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    loaded.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    return loaded


def complaint_about(name: str, value: str | None) -> str | None:
    """What librdkafka says when a property is set to a value; None when it takes it."""
    configuration = library().rd_kafka_conf_new()
    try:
        text = ctypes.create_string_buffer(512)
        encoded = None if value is None else value.encode()
        result = library().rd_kafka_conf_set(configuration, name.encode(), encoded, text, len(text))
        return None if result == 0 else text.value.decode()
    finally:
        library().rd_kafka_conf_destroy(configuration)


def documented_properties() -> list[tuple[str, str, str, str]]:
    """Name, scope, range and default of each property, as librdkafka prints them."""
    c = ctypes.CDLL(None)
    c.fopen.restype = ctypes.c_void_p
    c.fclose.argtypes = [ctypes.c_void_p]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "properties.md"
        file = c.fopen(str(path).encode(), b"w")
        library().rd_kafka_conf_properties_show(file)
        c.fclose(file)
        lines = path.read_text().splitlines()
    rows = [line.split(" | ") for line in lines if " | " in line and not line.startswith("Property ")]
    found: list[tuple[str, str, str, str]] = []
    for parts in rows:
        importance = next(i for i, part in enumerate(parts) if part.strip() in ("high", "medium", "low"))
        default = " | ".join(parts[3:importance])
        found.append((parts[0].strip(), parts[1].strip(), parts[2].strip(), default.strip()))
    return found
