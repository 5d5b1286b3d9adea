"""The text of docs/accuracy.md: failures first, then figures against their
targets, baselines, programs seen and unseen, and every array."""

from collections import defaultdict

import judges
import summary

MODEL = ("clang", "throughput")
NVCC = ("nvcc", "throughput")
THESIS = ("clang", "thesis")
GROUPS = {"unseen": "unseen programs", "drawn": "programs drawn at random (unseen)", "samples": "samples (unseen)", "fitted": "programs of the kernels that the constants were fitted on"}
RULES = {
    "always SoA": judges.always("soa"),
    "always AoS": lambda case: judges.Choice(case, "aos" if "aos" in case.times_ms else case.source, {}),
    "always align16": judges.always("aos-align16"),
    "always ASTA32": judges.always("asta32"),
    "fewest transactions": judges.fewest_transactions,
}

HEAD = """# How well the ranking agrees with a GPU

<!-- Written by tests/gpu/accuracy.py from the measured times beside it; do not edit. -->

restride predicts for **{gpu}**; every layout of every array was also compiled with nvcc, run and timed there:

{machines}

Regret is the time of the layout picked over the time of the best one measured. A pick *fails* if it takes more than
1.03 times as long as the best one (two runs differ by about 2 %) or if it was never seen to compute what the original does. Layouts
are apart by a share if they are so in every run, in the same order.
"""


def number(value, form=".3f"):
    return "–" if value is None else format(value, form)


def percent(value):
    return "–" if value is None else f"{value:.1%}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


# What the measures must show: name, value of Measures, its spelling, the aim and whether it is met.
AIMS = (
    ("geometric-mean regret", lambda m: m.regret, number, "at most 1.03", lambda v: v <= 1.03),
    ("picks within 3 % of the best", lambda m: m.nearly_best, percent, "at least 90 %", lambda v: v >= 0.9),
    ("picks more than 3 % slower than the original", lambda m: m.slower, str, "0", lambda v: v == 0),
    ("worst pick, speed over the original's", lambda m: m.slowest, number, "at least 0.97", lambda v: v >= 0.97),
    ("pairs of layouts more than 5 % apart ordered right", lambda m: m.pairs, percent, "at least 95 %", lambda v: v >= 0.95),
    ("mean Kendall's tau of pairs over 2 % apart, which two runs do not reverse", lambda m: m.tau_apart, number,
     "at least 0.85", lambda v: v >= 0.85),
    ("the same of all pairs", lambda m: m.tau, number, "", None),
    ("worst regret", lambda m: m.worst_regret, number, "", None),
    ("geometric-mean speedup over the original", lambda m: m.speedup, number, "", None),
    ("arrays", lambda m: m.cases, str, "", None),
)


class Page:
    def __init__(self, gpu, machines, wrong, causes):
        self.gpu, self.machines, self.wrong, self.causes = gpu, machines, wrong, causes
        self.choices = defaultdict(lambda: defaultdict(list))  # by what was asked, then by group
        self.unknown = set()  # (asked, array) that no report scores

    def add(self, asked, group, case):
        self.choices[asked][group].append(judges.by_report(case))

    def of(self, asked, group=None):
        groups = self.choices[asked]
        return groups.get(group, []) if group else [choice for one in groups.values() for choice in one]

    def failures(self):
        """{(program, array): {compiler: choice}}"""
        failed = {}
        for asked in (MODEL, NVCC):
            for choice in self.of(asked):
                if choice.failed():
                    failed.setdefault((choice.case.program, choice.case.array), {})[asked[0]] = choice
        return failed

    def errors(self):
        """Causes of what no longer fails: a page must not explain what is not there."""
        stale = sorted(set(self.causes) - set(self.failures()))
        return [f"causes: {program} {array} does not fail" for program, array in stale]

    def text(self):
        machines = "\n".join(f"- `tests/gpu/{name}`: {machine}" for name, machine in self.machines.items())
        parts = [HEAD.format(gpu=self.gpu, machines=machines), self.failed(), self.aims(), self.beside(), self.all()]
        return "\n".join(parts)

    def failed(self):
        parts = ["## Failures\n"]
        failed = self.failures()
        rows = []
        asked = {c: {(choice.case.program, choice.case.array) for choice in self.of((c, "throughput"))} for c in ("clang", "nvcc")}

        def worst(item):
            return max((c.regret() if c.measured() else float("inf")) for c in item[1].values())

        for (program, array), by in sorted(failed.items(), key=worst, reverse=True):
            choice = next(iter(by.values()))
            best = choice.case.best()
            cells = [f"{by[c].layout} {number(by[c].regret(), '.2f') if by[c].measured() else 'not measured'}" if c in by
                     else "good" if (program, array) in asked[c] else "–" for c in asked]
            rows.append((f"`{program}` {array}", best, *cells, self.causes.get((program, array), "**not found yet**")))
        if rows:
            parts.append(table(("array", "best", "pick and regret, Clang's PTX", "nvcc's PTX", "cause"), rows))
        else:
            parts.append("No pick failed.\n")
        if self.wrong:
            parts.append("Variants that did not compile, run or compute what the original does: "
                         + ", ".join(f"`{' '.join(filter(None, row))}`" for row in self.wrong) + ".\n")
        missing = sorted({array for _, array in self.unknown})
        if missing:
            parts.append("Measured, but refused or without a score now, and in no figure: "
                         + ", ".join(f"`{array}`" for array in missing) + ".\n")
        return "\n".join(parts)

    def aims(self):
        parts = ["## Figures\n"]
        columns = [(spelled, group) for group, spelled in {**GROUPS, None: "all"}.items() if self.of(MODEL, group)]
        for asked, title in ((MODEL, "With Clang's PTX"), (NVCC, "With nvcc's PTX (`--ptx-compiler=nvcc`)")):
            all_measures = [judges.measures(self.of(asked, group)) for _, group in columns]
            if not all(all_measures):
                continue
            rows = []
            for name, value, spell, aim, met in AIMS:
                cells = []
                for measures in all_measures:
                    known = value(measures)
                    missed = met and known is not None and not met(known)
                    cells.append(f"**{spell(known)}**" if missed else spell(known))
                rows.append((name, aim, *cells))
            parts.append(f"{title}; bold: the aim is missed.\n")
            parts.append(table(("", "aim", *(spelled for spelled, _ in columns)), rows))
        parts.append("The constants of the time formula that the profile marks as fitted were found on 24 kernels, which 24 of\n"
                     "the programs contain; no other program had a part in that.\n")
        return "\n".join(parts)

    def beside(self):
        parts = ["## Beside fixed choices and other models\n",
                 "The same arrays. A rule whose layout an array cannot take keeps the original. Fewest transactions: the least sum\n"
                 "of 32-byte sectors over all requests. The thesis model has no price for conversions. A pick that was never\n"
                 "measured leaves its array out of the row. The last row takes the times of a second run for a prediction of the first:\n"
                 "no model can look better. tau: of pairs over 2 % apart.\n"]
        for group, spelled in {**GROUPS, None: "all"}.items():
            model = self.of(MODEL, group)
            if not model:
                continue
            judged = {"restride, Clang's PTX": model, "restride, nvcc's PTX": self.of(NVCC, group),
                      **{name: [rule(choice.case) for choice in model] for name, rule in RULES.items()},
                      "thesis model": self.of(THESIS, group),
                      "a second run of the same binaries": list(filter(None, (judges.another_run(c.case) for c in model)))}
            rows = []
            for name, choices in judged.items():
                m = judges.measures(choices)
                if m:
                    rows.append((name, m.cases, number(m.regret), number(m.worst_regret, ".2f"), number(m.slowest, ".2f"),
                                 percent(m.nearly_best), m.slower, percent(m.pairs), number(m.tau_apart, ".2f")))
            parts.append(f"{spelled[0].upper()}{spelled[1:]}:\n")
            parts.append(table(("choice", "arrays", "regret", "worst regret", "worst speed over the original", "within 3 %",
                                "over 3 % slower than the original", "pairs right", "tau"), rows))
        return "\n".join(parts)

    def all(self):
        parts = ["## Every array\n"]
        nvcc = {choice.case.name(): choice for choice in self.of(NVCC)}
        for group, spelled in GROUPS.items():
            rows = []
            for choice in sorted(self.of(MODEL, group), key=lambda choice: choice.case.name()):
                pairs, other = choice.pairs(), nvcc.get(choice.case.name())
                good = choice.measured()
                rows.append((f"`{choice.case.program}` {choice.case.array}", choice.case.source, choice.layout,
                             other.layout if other else "–", choice.case.best(), number(choice.regret() if good else None),
                             number(choice.speedup() if good else None, ".2f"),
                             f"{sum(pairs)} of {len(pairs)}" if pairs else "–", number(choice.tau_apart(), ".2f")))
            if rows:
                parts.append(f"{spelled[0].upper()}{spelled[1:]}:\n")
                parts.append(table(("array", "original", "pick, Clang", "pick, nvcc", "best", "regret", "speedup", "pairs right",
                                    "tau"), rows))
        return "\n".join(parts).rstrip() + "\n"
