"""Doing something for each partition of an answer by the error code that it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["build_parts_by_error", "handle_partition_responses", "raise_error", "valid_int"]

PartsByError = Mapping[int, list[Any]]


def handle_partition_responses(
    error_handlers: Mapping[int, Callable[[Any], Any]],
    parts_by_error: PartsByError | None = None,
    success_handler: Callable[[Any], Any] | None = None,
    response: Any = None,
    partitions_by_id: Mapping[int, Any] | None = None,
) -> PartsByError:
    """Calls the handler of each error code with the partitions that have it, and returns all by their codes.

    Raises: KeyError for a code that there is no handler for.
    """
    if parts_by_error is None:
        parts_by_error = build_parts_by_error(response, partitions_by_id)
    for code, parts in parts_by_error.items():
        if code != 0:
            error_handlers[code](parts)
        elif success_handler is not None:
            success_handler(parts)
    return parts_by_error


def build_parts_by_error(response: Any, partitions_by_id: Mapping[int, Any] | None) -> PartsByError:
    """Pairs of one's own partition and what the answer has about it, by the code in that."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    for partitions in response.topics.values():
        for partition_id, answer in partitions.items():
            if partitions_by_id is not None and partition_id in partitions_by_id:
                found[answer.err].append((partitions_by_id[partition_id], answer))
    return found


def raise_error(error: Callable[[str], BaseException], info: str = "") -> None:
    raise error(info)


def valid_int(param: Any, allow_zero: bool = False, allow_negative: bool = False) -> Any:
    """The number itself. Raises: TypeError for what is none, ValueError for one that is not allowed."""
    try:
        _ = param + 1
    except TypeError:
        raise TypeError(f"Expected integer but found argument of type '{type(param)}'") from None
    if not allow_negative and param < 0:
        raise ValueError(f"Expected nonnegative number but got '{param}'")
    if not allow_zero and param == 0:
        raise ValueError(f"Expected nonzero number but got '{param}'")
    return param
