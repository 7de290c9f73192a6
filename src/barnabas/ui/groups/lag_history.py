"""How far groups were behind over time, by topic, and which of them fall further behind.

Bounded: the more groups and topics there are, the less far back it goes. Pure; asks for nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from itertools import accumulate

from barnabas.ui.figures import Groups, GroupSummary
from barnabas.values import frozen
from barnabas.wording import counted

LONGEST_SAMPLES = 720
SHORTEST_SAMPLES = 60
MOST_FIGURES = 4_000_000
"""Of 8 bytes each."""
FIGURES_IN_A_SAMPLE = 2
# A look that comes a little early is a sample as well: timers are not exact.
EARLY_PART = 0.1
# Of the samples that a trend is made of: enough that commits, which come in steps, do not look like one.
TREND_SAMPLES = 12
FEWEST_TREND_SAMPLES = 6
SMALLEST_GROWTH = 10
UNKNOWN = -1


@frozen
class LagSample:
    """`lag` in records, None where no partition told it. `seconds`: how long before this sample the first
    record came that was not done; None where that was before the first sample."""

    at: float
    lag: int | None
    seconds: float | None


@frozen
class Growth:
    """By how many records the lag has grown in how many seconds. `is_stuck`: nothing was done meanwhile."""

    records: int
    seconds: float
    is_stuck: bool

    def told(self, duration: str) -> str:
        """`duration`: `seconds` as the page writes it."""
        grown = f"its lag has grown by {counted(self.records, 'record', grouping=',')}"
        if self.is_stuck:
            return f"The group has done nothing for {duration}, and {grown}."
        return f"The group falls behind: in {duration} {grown}."


class LagHistory:
    """Takes a sample of all groups every `sample_seconds`."""

    def __init__(self, sample_seconds: float, most_figures: int = MOST_FIGURES) -> None:
        self._sample_seconds = sample_seconds
        self._most_figures = most_figures
        self._times: deque[float] = deque()
        self._taken = 0
        """Samples since the beginning, those that were given up included."""
        self._series: dict[str, dict[str, _Series]] = {}
        """By group and topic."""
        self._growing: Mapping[str, Growth] = {}
        self._growing_of = 0
        self.left_out = 0
        """Topics of groups that have no history, as there are too many."""

    @property
    def figures_kept(self) -> int:
        return sum(
            len(s.lags) + len(s.positions) for topics in self._series.values() for s in topics.values()
        )

    def saw(self, now: float, groups: Groups) -> None:
        """A look at all groups; it is a sample if it is time for one."""
        if self._times and now < self._times[-1]:
            # The clock was set back: what was before is at no time that could be shown.
            self._times.clear()
            self._series.clear()
        if self._times and now < self._times[-1] + self._sample_seconds * (1 - EARLY_PART):
            return
        self._times.append(now)
        self._taken += 1
        most_series = self._most_figures // (FIGURES_IN_A_SAMPLE * SHORTEST_SAMPLES)
        before, self._series = self._series, {}
        number = sum(map(len, before.values()))
        self.left_out = 0
        for group in groups.by_id.values():
            lags = _by_topic(group)
            known = before.get(group.group_id, {})
            if not known.keys() <= lags.keys():
                # Some have no leader at present; others the group has no offsets of any more.
                present = set(group.topics)
                known = {topic: series for topic, series in known.items() if topic in present}
            for topic, (lag, position) in lags.items():
                series = known.get(topic)
                if series is None:
                    if number >= most_series:
                        self.left_out += 1
                        continue
                    number += 1
                    series = known[topic] = _Series(self._taken - 1)
                series.add(self._taken - 1, lag, position)
            if known:
                self._series[group.group_id] = known
        self._trim(number)

    def topics(self, group_id: str) -> dict[str, list[LagSample]]:
        """The oldest first, those with the most lag first."""
        found = {topic: self._samples(series) for topic, series in self._series.get(group_id, {}).items()}
        return dict(sorted(found.items(), key=lambda item: (-(item[1][-1].lag or 0), item[0])))

    def total(self, group_id: str) -> list[LagSample]:
        """Of all topics together, the oldest first; `seconds` is that of the topic that is most behind."""
        at: dict[float, list[LagSample]] = defaultdict(list)
        for series in self._series.get(group_id, {}).values():
            for sample in self._samples(series):
                at[sample.at].append(sample)
        return [_sum(moment, found) for moment, found in sorted(at.items())]

    def latest(self, group_id: str) -> LagSample | None:
        """As the last of `total`, without the others."""
        newest = self._taken - 1
        found = [
            LagSample(self._time(newest), lag, 0.0 if lag == 0 else self._seconds_of_latest(series))
            for series in self._series.get(group_id, {}).values()
            if (lag := series.lag_at(newest)) != UNKNOWN
        ]
        return _sum(self._time(newest), found) if found else None

    def growing(self) -> Mapping[str, Growth]:
        """The groups that fall behind, by id."""
        if self._growing_of != self._taken:
            found = {group_id: growth for group_id in self._series if (growth := self._growth(group_id))}
            self._growing, self._growing_of = found, self._taken
        return self._growing

    def _growth(self, group_id: str) -> Growth | None:
        """None where the lag does not grow, or it is too early to tell. Lag grows where its least in each
        third of the last samples is more than in the third before."""
        series = self._series[group_id].values()
        if all(each.lag_at(self._taken - 1) <= 0 for each in series):
            return None
        since = max(self._taken - TREND_SAMPLES, *(each.first for each in series))
        count = (self._taken - since) // 3 * 3
        if count < FEWEST_TREND_SAMPLES:
            return None
        since = self._taken - count
        lags = [sum(max(s.lag_at(n), 0) for s in series) for n in range(since, self._taken)]
        third = count // 3
        least = [min(lags[begin : begin + third]) for begin in range(0, count, third)]
        if not least[0] < least[1] < least[2]:
            return None
        is_stuck = all(s.position_at(since) == s.position_at(self._taken - 1) for s in series)
        records = lags[-1] - lags[0]
        if records < SMALLEST_GROWTH and not is_stuck:
            return None
        return Growth(records, self._time(self._taken - 1) - self._time(since), is_stuck)

    def _trim(self, series: int) -> None:
        length = self._most_figures // (FIGURES_IN_A_SAMPLE * max(series, 1))
        length = max(min(length, LONGEST_SAMPLES), SHORTEST_SAMPLES)
        if len(self._times) <= length:
            return
        while len(self._times) > length:
            self._times.popleft()
        oldest = self._taken - len(self._times)
        for topics in self._series.values():
            for topic, each in list(topics.items()):
                each.forget_before(oldest)
                if not each.lags:
                    del topics[topic]

    def _time(self, number: int) -> float:
        return self._times[number - self._taken]

    def _samples(self, series: _Series) -> list[LagSample]:
        """When a record came is known by the ends of the topic, which is taken to grow evenly between two
        looks."""
        times = list(self._times)[series.first - self._taken :]
        # A topic that was made anew ends before where it did.
        ends = list(
            accumulate((p + max(lag, 0) for lag, p in zip(series.lags, series.positions, strict=True)), max)
        )
        found: list[LagSample] = []
        for index, lag in enumerate(series.lags):
            if lag == UNKNOWN:
                found.append(LagSample(times[index], None, None))
                continue
            seconds = 0.0 if lag == 0 else _behind(times, ends, index, series.positions[index])
            found.append(LagSample(times[index], lag, seconds))
        return found

    def _seconds_of_latest(self, series: _Series) -> float | None:
        position, newest = series.positions[-1], self._taken - 1
        number = newest
        while number >= series.first and series.end_at(number) > position:
            number -= 1
        if number < series.first or number == newest:
            return None
        came = series.end_at(number + 1) - series.end_at(number)
        began, ended = self._time(number), self._time(number + 1)
        return self._time(newest) - (began + (position - series.end_at(number)) / came * (ended - began))


class _Series:
    """Of one group in one topic: lags and positions, each the sum over partitions, of the samples from the
    number `first` on."""

    __slots__ = ("first", "lags", "positions")

    def __init__(self, first: int) -> None:
        self.first = first
        self.lags = array("q")
        self.positions = array("q")

    def add(self, number: int, lag: int, position: int) -> None:
        while self.first + len(self.lags) < number:
            self.lags.append(UNKNOWN)
            self.positions.append(self.positions[-1] if self.positions else 0)
        self.lags.append(lag)
        self.positions.append(position)

    def forget_before(self, number: int) -> None:
        gone = number - self.first
        if gone > 0:
            del self.lags[:gone]
            del self.positions[:gone]
            self.first = number

    def lag_at(self, number: int) -> int:
        return self._at(self.lags, number)

    def position_at(self, number: int) -> int:
        return self._at(self.positions, number)

    def end_at(self, number: int) -> int:
        index = number - self.first
        return self.positions[index] + max(self.lags[index], 0)

    def _at(self, values: array[int], number: int) -> int:
        index = number - self.first
        return values[index] if 0 <= index < len(values) else UNKNOWN


def _by_topic(group: GroupSummary) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    positions = group.positions
    for partition, lag in group.lags.items():
        lag_before, position = found.get(partition.topic, (0, 0))
        found[partition.topic] = lag_before + lag, position + positions[partition]
    return found


def _behind(times: Sequence[float], ends: Sequence[int], index: int, position: int) -> float | None:
    """How long before the sample `index` the topic's end passed `position`."""
    before = bisect_right(ends, position, 0, index + 1) - 1
    if before < 0:
        return None
    if before == index:
        # The end was less before: the topic was made anew.
        return 0.0
    part = (position - ends[before]) / (ends[before + 1] - ends[before])
    return times[index] - (times[before] + part * (times[before + 1] - times[before]))


def _sum(at: float, samples: Sequence[LagSample]) -> LagSample:
    lags = [s.lag for s in samples if s.lag is not None]
    if not lags:
        return LagSample(at, None, None)
    seconds = [s.seconds for s in samples if s.lag is not None]
    known = [each for each in seconds if each is not None]
    return LagSample(at, sum(lags), max(known) if len(known) == len(seconds) else None)
