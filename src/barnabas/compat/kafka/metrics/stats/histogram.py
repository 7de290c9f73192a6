"""Counts of values by bins."""

from __future__ import annotations

import math
from typing import Any


class Histogram:
    """How many values fell into each bin of a scheme."""

    __slots__ = ("_bin_scheme", "_count", "_hist")

    def __init__(self, bin_scheme: Any) -> None:
        self._bin_scheme = bin_scheme
        self.clear()

    def record(self, value: float) -> None:
        """Counts a value."""
        self._hist[self._bin_scheme.to_bin(value)] += 1.0
        self._count += 1.0

    def value(self, quantile: float) -> float:
        """Where the bin begins below whose end more than that part of the values are; NaN without values."""
        if self._count == 0.0:
            return math.nan
        passed = 0.0
        for index, count in enumerate(self._hist[:-1]):
            passed += count
            if passed / self._count > float(quantile):
                return self._bin_scheme.from_bin(index)
        return math.inf

    @property
    def counts(self) -> list[float]:
        return self._hist

    def clear(self) -> None:
        """Forgets all values."""
        self._hist = [0.0] * self._bin_scheme.bins
        self._count = 0.0

    def __str__(self) -> str:
        bins = [f"{self._bin_scheme.from_bin(b):.10f}:{count:.0f}" for b, count in enumerate(self._hist[:-1])]
        return f"{{{','.join([*bins, f'inf:{self._hist[-1]}'])}}}"

    class ConstantBinScheme:
        """Bins of one width; the first and the last have what is below and above them."""

        __slots__ = ("_bins", "_bucket_width", "_max", "_min")

        def __init__(self, bins: int, min_val: float, max_val: float) -> None:
            if bins < 2:
                raise ValueError("Must have at least 2 bins.")
            self._bins = int(bins)
            self._min = float(min_val)
            self._max = float(max_val)
            self._bucket_width = (max_val - min_val) / (bins - 2)

        @property
        def bins(self) -> int:
            return self._bins

        def from_bin(self, b: int) -> float:
            """Where a bin begins."""
            if b == 0:
                return -math.inf
            return math.inf if b == self._bins - 1 else self._min + (b - 1) * self._bucket_width

        def to_bin(self, x: float) -> int:
            """The bin of a value."""
            if x < self._min:
                return 0
            return self._bins - 1 if x > self._max else int((x - self._min) / self._bucket_width + 1)

    class LinearBinScheme:
        """Bins from 0 on, each wider than the one before by one and the same; the last has what is above."""

        __slots__ = ("_bins", "_max", "_scale")

        def __init__(self, num_bins: int, max_val: float) -> None:
            self._bins = num_bins
            self._max = max_val
            self._scale = max_val / (num_bins * (num_bins - 1) / 2)

        @property
        def bins(self) -> int:
            return self._bins

        def from_bin(self, b: int) -> float:
            """Where a bin begins."""
            return math.inf if b == self._bins - 1 else self._scale * (b * (b + 1.0) / 2.0)

        def to_bin(self, x: float) -> int:
            """The bin of a value. Raises: ValueError for one below 0."""
            if x < 0.0:
                raise ValueError("Values less than 0.0 not accepted.")
            return self._bins - 1 if x > self._max else int(math.sqrt(2.0 * x / self._scale + 0.25) - 0.5)
