"""How good choices of layouts are, by measured times: the tool's, and those of
rules and models that it is compared with."""

from dataclasses import dataclass, replace
from itertools import combinations

import summary

APART = 1.05  # layouts further apart than this should be ordered right
NOISE = 1.02  # what two runs of one layout differ by


def differ(a, b, apart):
    """Whether the times are that far apart, in the same order in each run where there were several."""
    runs = list(zip(getattr(a, "runs", ()), getattr(b, "runs", ()))) or [(a, b)]
    return all(x > apart * y for x, y in runs) or all(y > apart * x for x, y in runs)


@dataclass
class Choice:
    """What a rule says of one case."""

    case: object
    layout: str
    scores: dict  # {layout: predicted, less is better}; empty where the rule only picks

    def measured(self):
        return self.layout in self.case.times_ms

    def regret(self):
        return self.case.times_ms[self.layout] / self.case.times_ms[self.case.best()]

    def speedup(self):
        """Over the source layout."""
        return self.case.times_ms[self.case.source] / self.case.times_ms[self.layout]

    def slower_than(self, layout):
        """Whether the pick is more than 3 % slower, in each run where there were several."""
        pick, other = self.case.times_ms[self.layout], self.case.times_ms[layout]
        return pick > other and differ(pick, other, summary.NEARLY_BEST)

    def failed(self):
        """More than 3 % slower than the best or the original, or never seen to work."""
        return not self.measured() or self.slower_than(self.case.best())

    def pairs(self, apart=APART):
        """[right order?] for pairs of layouts that differ enough to have one. Equal scores are wrong."""
        known = [(self.scores[layout], time) for layout, time in self.case.times_ms.items() if layout in self.scores]
        return [(a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in combinations(known, 2) if differ(a[1], b[1], apart)]

    def tau(self):
        return summary.kendall_tau([(self.scores[layout], time) for layout, time in self.case.times_ms.items()
                                    if layout in self.scores])

    def tau_apart(self):
        """Of the pairs that two runs agree on only; the others have no order that could be predicted."""
        right = self.pairs(NOISE)
        return (2 * sum(right) - len(right)) / len(right) if right else None


def by_report(case):
    return Choice(case, case.pick(), case.predicted_cycles())


def always(layout):
    """The layout where the case has it, else the source's."""
    return lambda case: Choice(case, layout if layout in case.times_ms else case.source, {})


def fewest_transactions(case):
    sectors = case.transactions()
    # The source layout wins a tie, as it does in the tool.
    pick = min(sectors, key=lambda layout: (sectors[layout], layout != case.source)) if sectors else case.source
    return Choice(case, pick, sectors)


def another_run(case):
    """What the second run says of the first: as good as any prediction could look. None where there was but one."""
    runs = {layout: time.runs for layout, time in case.times_ms.items() if len(getattr(time, "runs", ())) > 1}
    if case.source not in runs or len(runs) < 2:
        return None
    second = {layout: times[1] for layout, times in runs.items()}
    first = replace(case, times_ms={layout: times[0] for layout, times in runs.items()})
    return Choice(first, min(second, key=second.get), second)


@dataclass
class Measures:
    """Of the choices that were measured. None where there is nothing to average."""

    cases: int
    regret: float  # geometric mean
    worst_regret: float
    slowest: float  # smallest speedup over the original
    nearly_best: float  # share within 3 % of the best
    slower: int  # picks more than 3 % slower than the original
    speedup: float  # geometric mean
    pairs: float  # share that is ordered right
    tau: float  # mean
    tau_apart: float  # mean


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def measures(choices):
    choices = [choice for choice in choices if choice.measured()]
    if not choices:
        return None
    regrets, speedups = [c.regret() for c in choices], [c.speedup() for c in choices]
    return Measures(len(choices), summary.geometric_mean(regrets), max(regrets), min(speedups),
                    mean([not c.failed() for c in choices]), sum(c.slower_than(c.case.source) for c in choices),
                    summary.geometric_mean(speedups),
                    mean([right for c in choices for right in c.pairs()]), mean([c.tau() for c in choices]),
                    mean([c.tau_apart() for c in choices]))
