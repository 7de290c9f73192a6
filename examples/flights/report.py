"""What a person sees of the results: a table in the terminal and a chart.

Knows only the table of results, in the columns of `figures`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table

# With fewer departures than this in precipitation, or out of it, an airline's mean says little.
FEWEST_DEPARTURES = 30

_BLUE = "#1f5fa8"
_GREY = "#8a8f98"
_INK = "#22262b"


def by_airline(results: pd.DataFrame) -> pd.DataFrame:
    """The results summed up for each airline, those with most flights first.

    Columns: airline, flights, cancelled, departed_wet, departed_dry, mean_delay, share_delayed, delay_wet,
    delay_dry (minutes; wet: in precipitation), and daily_percentile_95: the median of the 95th percentiles.
    """
    departed = results["flights"] - results["cancelled"]
    wet = results["departed_in_precipitation"]
    dry = results["departed_out_of_precipitation"]
    parts = pd.DataFrame(
        {
            "airline": results["airline"],
            "flights": results["flights"],
            "cancelled": results["cancelled"],
            "departed": departed,
            "departed_wet": wet,
            "departed_dry": dry,
            "delay": results["mean_delay_minutes"] * departed,
            "delayed": results["share_delayed_over_15_minutes"] * departed,
            "delay_wet": results["mean_delay_in_precipitation_minutes"] * wet,
            "delay_dry": results["mean_delay_out_of_precipitation_minutes"] * dry,
        }
    )
    sums = parts.groupby("airline").sum()
    sums = sums.assign(
        mean_delay=sums["delay"] / sums["departed"],
        share_delayed=sums["delayed"] / sums["departed"],
        delay_wet=sums["delay_wet"] / sums["departed_wet"],
        delay_dry=sums["delay_dry"] / sums["departed_dry"],
        daily_percentile_95=results.groupby("airline")["percentile_95_delay_minutes"].median(),
    )
    return sums.drop(columns=["delay", "delayed"]).sort_values("flights", ascending=False).reset_index()


def table(airlines: pd.DataFrame) -> Table:
    """The airlines, for a terminal of 80 columns."""
    shown = Table(title="Departures from New York, 2013", title_justify="left", box=SIMPLE_HEAD, padding=0)
    shown.add_column("Airline", no_wrap=True)
    for heading in ["Flights", "Cancelled", "Mean", "Daily 95%", ">15 min", "Dry", "Wet"]:
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in airlines.itertuples():
        shown.add_row(
            _short(row.airline),
            f"{row.flights:,}",
            f"{row.cancelled / row.flights:.1%}",
            _minutes(row.mean_delay),
            _minutes(row.daily_percentile_95),
            "–" if pd.isna(row.share_delayed) else f"{row.share_delayed:.0%}",
            _minutes(row.delay_dry),
            _minutes(row.delay_wet),
        )
    shown.caption = (
        "Mean delay in minutes: of all, in hours without and with precipitation.\n"
        "Daily 95%: minutes within which 95% left, on the median day at an airport."
    )
    shown.caption_justify = "left"
    return shown


def save_chart(airlines: pd.DataFrame, path: Path) -> None:
    """A chart of each airline's mean delay with and without precipitation, as PNG."""
    # not pyplot: it looks for a display and keeps every figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    enough = airlines[airlines[["departed_wet", "departed_dry"]].min(axis="columns") >= FEWEST_DEPARTURES]
    rows = (enough if len(enough) else airlines).sort_values("delay_wet")
    figure = Figure(figsize=(10, 2.4 + 0.36 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    places = range(len(rows))
    axes.hlines(places, rows["delay_dry"], rows["delay_wet"], color="#c9d4e3", linewidth=5, zorder=1)
    axes.scatter(rows["delay_dry"], places, color=_GREY, s=60, zorder=2, label="dry hour")
    axes.scatter(rows["delay_wet"], places, color=_BLUE, s=60, zorder=2, label="hour of rain or snow")
    for place, row in zip(places, rows.itertuples(), strict=True):
        if row.departed_wet and row.departed_dry:
            right = max(row.delay_dry, row.delay_wet)
            difference = f"{row.delay_wet - row.delay_dry:+.0f}"
            axes.annotate(difference, (right, place), (9, -1), textcoords="offset points", va="center")
    axes.legend(loc="lower right", frameon=False)
    axes.set_yticks(list(places), [f"{_short(row.airline)} ({row.flights:,})" for row in rows.itertuples()])
    axes.set_ylabel("Airline (flights)", color=_INK)
    axes.set_xlabel("Mean departure delay (minutes)", color=_INK)
    axes.margins(x=0.06)
    axes.grid(axis="x", color="#e6e8eb")
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=_INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.suptitle(finding(airlines), x=0.01, ha="left", fontsize=14, fontweight="bold", color=_INK)
    note = "EWR, JFK and LGA, 2013. Precipitation is of the hour of scheduled departure, at the airport."
    if len(rows) < len(airlines):
        left_out = len(airlines) - len(rows)
        note += f" Not shown: {left_out} airlines with fewer than {FEWEST_DEPARTURES} departures in it."
    figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=_GREY)
    figure.savefig(path, dpi=150)


def finding(airlines: pd.DataFrame) -> str:
    """What the chart shows, in a sentence."""
    sums = airlines[["departed_wet", "departed_dry"]].sum()
    if not sums.all():
        return "Departure delays from New York’s airports"
    wet = (airlines["delay_wet"] * airlines["departed_wet"]).sum() / sums["departed_wet"]
    dry = (airlines["delay_dry"] * airlines["departed_dry"]).sum() / sums["departed_dry"]
    return f"In rain or snow, New York’s flights left {wet:.0f} minutes late on average; otherwise {dry:.0f}"


def _short(airline: str) -> str:
    for form in [" Inc.", " Co.", " Corporation"]:
        airline = airline.removesuffix(form)
    return airline


def _minutes(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.1f}"
