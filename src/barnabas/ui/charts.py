"""A small chart of figures over time, as points of an SVG."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.values import frozen

WIDTH, HEIGHT = 600, 80
SHORTEST = 2


@frozen
class Chart:
    """`line` and `area` are the points of a polyline and a polygon in a box of `width` by `height`."""

    line: str
    area: str
    highest: int
    latest: int
    seconds: float
    width: int = WIDTH
    height: int = HEIGHT


def chart(samples: Sequence[tuple[float, int]]) -> Chart | None:
    """None while there are too few samples for a line."""
    if len(samples) < SHORTEST:
        return None
    began, ended = samples[0][0], samples[-1][0]
    span = max(ended - began, 1e-9)
    highest = max(value for _, value in samples)
    points = [
        f"{(at - began) / span * WIDTH:.1f},{HEIGHT - value / max(highest, 1) * (HEIGHT - 2) - 1:.1f}"
        for at, value in samples
    ]
    line = " ".join(points)
    return Chart(line, f"0,{HEIGHT} {line} {WIDTH},{HEIGHT}", highest, samples[-1][1], ended - began)
