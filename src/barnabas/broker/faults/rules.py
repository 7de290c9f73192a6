"""What a fault is: which requests it meets, how often, and what becomes of them. Pure, and the same as JSON.

Owns the words of the language and their checks. Knows nothing of requests' classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from barnabas.broker_errors import ErrorCode
from barnabas.errors import MisuseError
from barnabas.protocol.api_key import ApiKey

Effect = Literal[
    "error",
    "delay",
    "disconnect",
    "black_hole",
    "cut",
    "corrupt",
    "hold",
    "throttle",
    "stale_metadata",
    "hook",
]
Stage = Literal["before", "after"]

EFFECTS: tuple[str, ...] = get_args(Effect)
ENDING_EFFECTS = frozenset({"error", "disconnect", "black_hole", "cut"})
"""After one of these nothing else can become of a request."""
TWO_STAGE_EFFECTS = frozenset({"error", "delay", "disconnect", "black_hole", "hold"})
NEEDS_ANSWER = frozenset({"cut", "throttle", "stale_metadata"})
CORRUPTIBLE = ("Produce", "Fetch", "ShareFetch")


_NAMES: Mapping[int, str] = {each.value: each.name for each in ErrorCode}


class FaultRuleError(MisuseError, ValueError):
    """A fault that cannot be."""


def api_name(value: str | int) -> str:
    """Kafka's name of an API, by that name in any spelling, or by its number. Raises: FaultRuleError."""
    if isinstance(value, int):
        key = next((each for each in ApiKey if each == value), None)
    else:
        wanted = value.replace("_", "").removesuffix("Request").lower()
        key = next((each for each in ApiKey if each.name.replace("_", "").lower() == wanted), None)
    if key is None:
        raise FaultRuleError(f"there is no API {value!r}: their names are Produce, Fetch and so on")
    return "".join(word.capitalize() for word in key.name.split("_"))


def error_code(value: str | int | type[Any]) -> int:
    """An error's code, by code, by Kafka's name, or by its class in `barnabas.broker_errors`.

    Raises: FaultRuleError.
    """
    if isinstance(value, type):
        value = getattr(value, "code", "")
    if isinstance(value, int):
        return int(value)
    try:
        return ErrorCode[str(value).upper()].value
    except KeyError:
        raise FaultRuleError(
            f"{value!r} is no error of Kafka's: they are called NOT_LEADER_OR_FOLLOWER and so on"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """One fault. What is None matches every request.

    `after` so many requests that match, the next `times` are met (None: all of them), each of them with
    `probability`. `follows`: the id of a rule that has to be used up before. `stage` "after": the broker has
    done what was asked, and only the answer suffers.
    """

    effect: Effect
    apis: tuple[str, ...] | None = None
    node: int | None = None
    topic: str | None = None
    partition: int | None = None
    client_id: str | None = None
    group: str | None = None
    transactional_id: str | None = None
    times: int | None = None
    after: int = 0
    probability: float = 1.0
    follows: str | None = None
    stage: Stage = "before"
    error: int = 0
    """Kafka's code; of effect "error"."""
    message: str | None = None
    """Goes along with the error, in answers that have room for a text."""
    at_top: bool | None = None
    """Whether the error is the whole answer's, where partitions have theirs as well. None: as in Kafka."""
    delay_ms: float = 0
    up_to_ms: float | None = None
    """The delay is by chance between `delay_ms` and this."""
    cut_after_bytes: int = 0
    """Of the answer's frame, its length included."""
    throttle_ms: int = 0

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise FaultRuleError(problem)

    def as_json(self) -> dict[str, Any]:
        """Only what differs from the default."""
        values = asdict(self)
        plain = {each.name: values[each.name] for each in fields(self) if values[each.name] != each.default}
        if self.apis is not None:
            plain["apis"] = list(self.apis)
        if self.error:
            plain["error"] = _NAMES.get(self.error, self.error)
        return plain

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FaultRule:
        """Raises: FaultRuleError."""
        known = {each.name for each in fields(cls)}
        unknown = sorted(set(value) - known)
        if unknown:
            raise FaultRuleError(f"a fault has no {unknown[0]!r}; there are {', '.join(sorted(known))}")
        given = dict(value)
        apis = given.pop("apis", None)
        if isinstance(apis, str | int):
            apis = [apis]
        if "error" in given:
            given["error"] = error_code(given["error"])
        try:
            return cls(**given, apis=None if apis is None else tuple(map(api_name, apis)))
        except TypeError as error:
            raise FaultRuleError(f"a fault cannot be read: {error}") from None


def _problems(rule: FaultRule) -> list[str]:
    found: list[tuple[Callable[[], bool], str]] = [
        (lambda: rule.effect not in EFFECTS, f"no effect is called {rule.effect!r}: {', '.join(EFFECTS)}"),
        (lambda: rule.stage not in get_args(Stage), "stage is 'before' or 'after'"),
        (lambda: rule.times is not None and rule.times < 1, "times is 1 or more, or None for ever"),
        (lambda: rule.after < 0, "after is a number of requests that are let pass first: 0 or more"),
        (lambda: not 0 <= rule.probability <= 1, "probability is from 0 to 1"),
        (lambda: rule.effect == "error" and rule.error == 0, "an error needs the code or name of one"),
        (lambda: rule.delay_ms < 0, "a delay is not negative"),
        (
            lambda: rule.up_to_ms is not None and rule.up_to_ms < rule.delay_ms,
            "up_to_ms is the longest delay, and delay_ms the shortest",
        ),
        (lambda: rule.cut_after_bytes < 0, "an answer is cut behind 0 bytes or more"),
        (lambda: rule.throttle_ms < 0, "a throttle time is not negative"),
        (lambda: rule.partition is not None and rule.topic is None, "a partition needs its topic"),
        (
            lambda: (
                rule.stage == "after"
                and rule.effect not in TWO_STAGE_EFFECTS
                and rule.effect not in NEEDS_ANSWER
            ),
            f"{rule.effect} has no stage",
        ),
        (
            lambda: (
                rule.effect == "corrupt"
                and (rule.apis is None or not all(api in CORRUPTIBLE for api in rule.apis))
            ),
            f"only record batches are corrupted: those of {', '.join(CORRUPTIBLE)}",
        ),
    ]
    return [text for is_wrong, text in found if is_wrong()]
