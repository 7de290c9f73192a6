"""Bounds of metrics."""

from __future__ import annotations


class Quota:
    """A value that a metric must not go over, or below."""

    __slots__ = ("_bound", "_upper")

    def __init__(self, bound: float, is_upper: bool) -> None:
        self._bound = bound
        self._upper = is_upper

    @staticmethod
    def upper_bound(upper_bound: float) -> Quota:
        """No more than that."""
        return Quota(upper_bound, True)

    @staticmethod
    def lower_bound(lower_bound: float) -> Quota:
        """No less than that."""
        return Quota(lower_bound, False)

    def is_upper_bound(self) -> bool:
        return self._upper

    @property
    def bound(self) -> float:
        return self._bound

    def is_acceptable(self, value: float) -> bool:
        """Whether a value keeps to it."""
        return value <= self._bound if self._upper else value >= self._bound

    def __hash__(self) -> int:
        return hash((self._bound, self._upper))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quota):
            return False
        return (self._bound, self._upper) == (other.bound, other.is_upper_bound())
