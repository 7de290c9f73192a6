"""The words in which faults are told, the same in the broker's process and over HTTP.

Owns the methods' names. Knows nothing of what becomes of a fault.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from barnabas.broker.faults.rules import Effect, FaultRule, error_code

HandleT = TypeVar("HandleT")

Apis = str | int | tuple[str | int, ...] | None
"""An API by Kafka's name ("Produce", "list_offsets"), or several; None are all."""


class FaultLanguage(ABC, Generic[HandleT]):
    """Which requests are met is said by the same arguments everywhere: `node`, `topic`, `partition`,
    `client_id`, `group`, `transactional_id` (names may be patterns with * and ?), `after` so many that match,
    the next `times` of them (None: all), each with `probability`. `follows`: only when that fault is used up.

    `stage="after"`: the broker does what is asked, and only the answer suffers.
    """

    @abstractmethod
    def add(self, rule: FaultRule) -> HandleT:
        """Raises: FaultRuleError."""

    def error(
        self, apis: Apis, error: str | int | type[Any], message: str | None = None, **which: Any
    ) -> HandleT:
        """Requests are answered with an error of Kafka's, by its name, code or class.

        Only the topics and partitions that are meant have it; the others are answered as ever. `at_top`:
        where an answer has an error of its own beside those of partitions, whether that is meant.
        """
        return self._tell("error", apis, error=error_code(error), message=message, **which)

    def delay(self, apis: Apis, ms: float, up_to_ms: float | None = None, **which: Any) -> HandleT:
        """Requests wait, `ms` or, by chance, from `ms` to `up_to_ms`."""
        return self._tell("delay", apis, delay_ms=ms, up_to_ms=up_to_ms, **which)

    def disconnect(self, apis: Apis, **which: Any) -> HandleT:
        """The connection ends."""
        return self._tell("disconnect", apis, **which)

    def black_hole(self, apis: Apis, **which: Any) -> HandleT:
        """No answer comes, and the connection stays until the client ends it, or the fault is removed."""
        return self._tell("black_hole", apis, **which)

    def cut(self, apis: Apis, after_bytes: int, **which: Any) -> HandleT:
        """So many bytes of the answer come, its length included, and the connection ends."""
        return self._tell("cut", apis, cut_after_bytes=after_bytes, **which)

    def corrupt(self, apis: Apis, **which: Any) -> HandleT:
        """A bit of each record batch flips: of Produce on the way to the broker, of Fetch on the way back."""
        return self._tell("corrupt", apis, **which)

    def hold(self, apis: Apis, **which: Any) -> HandleT:
        """A barrier: requests wait until `release`. `stage="after"`: their answers do."""
        return self._tell("hold", apis, **which)

    def throttle(self, apis: Apis, ms: int, **which: Any) -> HandleT:
        """Answers say that the client is throttled for so long."""
        return self._tell("throttle", apis, throttle_ms=ms, **which)

    def stale_metadata(self, **which: Any) -> HandleT:
        """Metadata says of topics and nodes what it first said since."""
        return self._tell("stale_metadata", "Metadata", **which)

    def _tell(self, effect: Effect, apis: Apis, **values: Any) -> HandleT:
        if apis is not None:
            values["apis"] = list(apis) if isinstance(apis, tuple) else [apis]
        return self.add(FaultRule.from_json({"effect": effect, **values}))
