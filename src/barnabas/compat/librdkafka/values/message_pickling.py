"""How messages are pickled: under whichever name the facade was imported.

`Message` calls itself `confluent_kafka.cimpl.Message`, as the original does; another package may be found by
that name. So the pickle names `make_message` here. Importing this module is enough.
"""

from __future__ import annotations

import copyreg
from typing import Any

from barnabas._kernel import Message


def make_message(*arguments: Any) -> Message:
    """The message that was pickled."""
    return Message(*arguments)


def _reduced(message: Message) -> tuple[Any, ...]:
    _, arguments = message.__reduce__()  # type: ignore[misc]
    return make_message, arguments


copyreg.pickle(Message, _reduced)  # type: ignore[arg-type]
