"""A small chart of figures over time: points of an SVG, the labels of its axes, and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.values import frozen

WIDTH, HEIGHT = 600, 100
FEWEST_SAMPLES = 2
TENTH = 0.1
LONGEST_TABLE = 24
# Halves of these are whole numbers, or easily read.
TOPS_OF_COUNTS = (2, 4, 10)
_MINUTE, _HOUR = 60, 3_600
TOPS_OF_SECONDS = (
    *(2, 4, 10, 20),
    *(minutes * _MINUTE for minutes in (1, 2, 4, 10, 20)),
    *(hours * _HOUR for hours in (1, 2, 4, 12, 24, 48)),
)

Sample = tuple[float, float | None]
"""When, on the clock of `time.time()`, and how much; None where that is not known."""


@frozen
class Chart:
    """`lines` are the points of polylines, `areas` of polygons, in a box of `width` by `height`, several
    where figures are missing in between. `ticks` are the values at the top, in the middle and at the bottom.
    `rows` are the figures of the table, the newest first."""

    lines: tuple[str, ...]
    areas: tuple[str, ...]
    ticks: tuple[float, float, float]
    highest: float
    latest: float | None
    began_at: float
    ended_at: float
    rows: tuple[Sample, ...]
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def seconds(self) -> float:
        return self.ended_at - self.began_at


def count_chart(samples: Sequence[Sample]) -> Chart | None:
    """Of whole numbers. None while there are too few samples for a line."""
    return _chart(samples, top_of_counts)


def seconds_chart(samples: Sequence[Sample]) -> Chart | None:
    """Of durations. None while there are too few samples for a line."""
    return _chart(samples, top_of_seconds)


def rate_chart(samples: Sequence[Sample]) -> Chart | None:
    """Of figures a second. None while there are too few samples for a line."""
    return _chart(samples, lambda highest: top_of_counts(highest / TENTH) * TENTH)


def top_of_counts(highest: float) -> float:
    """A round number that is not lower."""
    unit = 1.0
    while unit * TOPS_OF_COUNTS[-1] < highest:
        unit *= 10
    return next(unit * top for top in TOPS_OF_COUNTS if unit * top >= highest)


def top_of_seconds(highest: float) -> float:
    """A round duration that is not shorter."""
    for top in TOPS_OF_SECONDS:
        if top >= highest:
            return top
    return top_of_counts(highest / 86_400) * 86_400


def _chart(samples: Sequence[Sample], top_of: Callable[[float], float]) -> Chart | None:
    known = [value for _, value in samples if value is not None]
    if len(known) < FEWEST_SAMPLES:
        return None
    began, ended = samples[0][0], samples[-1][0]
    span = max(ended - began, 1e-9)
    top = top_of(max(known))
    pieces: list[list[tuple[float, float]]] = [[]]
    for at, value in samples:
        if value is None:
            if pieces[-1]:
                pieces.append([])
            continue
        pieces[-1].append(((at - began) / span * WIDTH, HEIGHT - value / top * (HEIGHT - 2) - 1))
    pieces = [piece for piece in pieces if len(piece) >= FEWEST_SAMPLES]
    lines = tuple(" ".join(f"{x:.1f},{y:.1f}" for x, y in piece) for piece in pieces)
    areas = tuple(
        f"{piece[0][0]:.1f},{HEIGHT} {line} {piece[-1][0]:.1f},{HEIGHT}"
        for piece, line in zip(pieces, lines, strict=True)
    )
    return Chart(lines, areas, (top, top / 2, 0), max(known), samples[-1][1], began, ended, _thinned(samples))


def _thinned(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    step = -(-len(samples) // LONGEST_TABLE)
    return tuple(samples[::-1][::step])
