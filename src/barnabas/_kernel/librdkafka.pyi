"""What programs for librdkafka stand on."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self, final

from barnabas._kernel.consume import Poller
from barnabas._kernel.message import Message
from barnabas._kernel.produce import Accumulator

class MessagePoller(Poller):
    """Base of `confluent_kafka`'s Consumer: hands out the messages of one reader at a time, without Python.

    A subclass has `_poll`, which is called with the arguments of `poll` whenever there is more to do: no
    reader is lent, it has no more messages, or `_attend` was called."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def poll(self, timeout: float | None = None) -> Message | None: ...
    def _next_lent(self) -> Message | None: ...

@final
class EventQueue:
    """What a client has to tell its user, who hears of it by `serve`: in that thread, in order.

    Any thread may add to it. It also knows how many messages of a MessageSender are outstanding: produced,
    and their reports not served."""

    def __new__(cls) -> EventQueue: ...
    def put(self, call: Callable[[], object]) -> None:
        """`call()` is made by a later `serve`."""
    def notify(self, listener: Callable[[], object]) -> None:
        """`listener()` is called after each addition, on the thread that adds. Once."""
    def serve(self, timeout: float = 0.0) -> int:
        """Waits up to `timeout` seconds for something to serve (negative: without end), serves all that is
        there, and gives its number. What a call raises ends it; the rest is left for the next time."""
    def serve_all(self, timeout: float, failures: int = ...) -> None:
        """Serves until no message is outstanding and nothing is left, for at most `timeout` seconds
        (negative: without end), and until `failures` calls have raised. What they raise is raised at the end,
        the last of it; Ctrl-C at once."""
    @property
    def outstanding_messages(self) -> int: ...
    @property
    def outstanding_bytes(self) -> int:
        """Of the values of these messages."""
    def __len__(self) -> int:
        """How much there is to serve. The reports of one batch count as one."""

@final
class ParkedMessages:
    """The messages of one MessageSender whose topics' partitions are not known: they wait here, and further
    ones of the same topic behind them, until `unpark` or `fail`. Any thread."""

    def topics(self) -> list[str]:
        """Topics that messages wait for."""
    def unpark(self, topic: str) -> None:
        """Appends what waits for a topic, if the accumulator knows its partitions by now."""
    def fail(self, topic: str | None, error: BaseException, *, until_ms: float = math.inf) -> int:
        """Fails what waits for a topic, or for any, and was produced until then, in milliseconds of
        `time.monotonic`. Gives the number of messages."""

class MessageSender:
    """Base of confluent_kafka's Producer: its `produce`, which appends in the caller's thread with no Python
    in between, and takes its arguments as a function in C does. The subclass has a method `_refuse(code)`,
    which raises the exception for one of librdkafka's codes, `_failed_message(topic, reason)`, which makes
    the error of one of a batch out of a code or an exception, and `_before_parking(topic)`, which raises
    unless a message for a topic without known partitions is to wait for them."""

    def __new__(cls, *_arguments: Any, **_settings: Any) -> Self: ...
    def _open(
        self,
        accumulator: Accumulator,
        events: EventQueue,
        *,
        max_messages: int,
        max_bytes: int,
        max_message_bytes: int,
        error_of: Callable[[Any], object],
        only_errors: bool,
        default_callback: Callable[[Any, Message], object] | None,
        kafka_name: Callable[[str], str] | None = None,
        shown_name: Callable[[str], str] | None = None,
        takes_null_values: bool = True,
    ) -> ParkedMessages:
        """Once; gives the messages that wait for their topics. `error_of` makes the error of a report out of
        an exception or of librdkafka's code; with `only_errors` callbacks are not called for what was
        delivered. Where a program has names of its own for topics, `kafka_name` is asked once for each of
        them (it may raise), and `shown_name` gives what reports call a topic. A message without a value is
        not sent unless `takes_null_values`: its callback hears of _INVALID_ARG."""
    def _shut(self) -> None:
        """From now on `produce` raises."""
    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: Callable[[Any, Message], object] | None = None,
        on_delivery: Callable[[Any, Message], object] | None = None,
        timestamp: int = 0,
        headers: Mapping[Any, Any] | list[tuple[Any, Any]] | None = None,
    ) -> None:
        """Hands a message over, and returns before it is sent.

        key and value: bytes, or str that is sent as UTF-8, or None. partition -1 leaves the choice to the
        `partitioner`. `callback(error, message)`, also called on_delivery, is called from poll() or flush()
        when the message was delivered or has failed for good; without one that of the configuration is.
        timestamp: milliseconds since 1970 (UTC), 0 is now. headers: a dictionary, or a list of pairs of a
        name and a value (bytes, str or None); messages in callbacks do not show them.

        Raises BufferError while more messages wait than queue.buffering.max.messages or .kbytes allows: call
        poll(); KafkaException for other reasons, with a code in it; RuntimeError after close()."""
    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: Callable[[Any, Message], object] | None = None,
        on_delivery: Callable[[Any, Message], object] | None = None,
    ) -> int:
        """Hands several messages over, and says how many were taken.

        messages: a list of dictionaries with, all optional, `value` and `key` (bytes, str or None) and
        `callback`. What is not taken gets its error as `_error`. `partition` and the default callback are for
        all of them; there are no timestamps and headers here, and no partitions of single messages.

        Raises TypeError before anything is taken, where a message is not one; RuntimeError after close()."""
    def poll(self, timeout: float = -1) -> int:
        """Calls the callbacks that are due: delivery reports, error_cb, stats_cb and the like.

        timeout: how many seconds to wait for the first of them; a negative one waits without end. Returns the
        number of events, where the reports of one batch are one. What a callback raises comes out of here;
        the others are left for the next call."""
    def __len__(self) -> int:
        """How many messages and reports wait."""
    def __bool__(self) -> bool: ...
