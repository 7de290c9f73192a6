"""The works of pykafka, the very same code, on `barnabas.compat.pykafka`."""

from __future__ import annotations

from barnabas.compat import install

# Before the module with the works looks for the real one.
install("pykafka")

from bench.clients.pykafka import WORKS  # noqa: E402

__all__ = ["WORKS"]
