"""The bench of claims: a claim (`Line`), its checks, the verdict and the reasons for it."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from tacit.auditing.empirical import ALPHA
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.auditing.bugs import Bug

Verdict = Literal["no violation found", "violation", "weak audit"]

_LEAST_SHARE = 0.1
_ROUNDING = 1e-9  # of the floats in which an exact loss is written down
SAMPLES = 200_000
LEAST_SAMPLES = 1_000


@dataclass(frozen=True)
class PairResult:
    """What was found on one pair of neighbouring inputs.

    exact: the pair's loss, or of all pairs where a closed form covers them. rule_bound: what the
    rule engine allows for its description. ideal: the bound that correct code shows in all
    audits but a share of alpha, 0 where none is sure. differences: what the grey-box audit saw.
    most: what `lower_bound` can be at most if the draws are those that were asked for; None where
    it is not compared. failed: why the audit of this pair ended early.
    """

    pair: str
    exact: float
    rule_bound: float | None
    lower_bound: float
    ideal: float
    samples: int
    differences: tuple[str, ...] = ()
    most: float | None = None
    failed: str = ""

    def faults(self, epsilon: float) -> list[str]:
        """All that refutes the claim, or what the code states about itself."""
        exact, rule, seen = self.exact, self.rule_bound, self.lower_bound
        reasons = list(self.differences)
        if self.failed:
            reasons.append(f"the audit ended early: {self.failed}")
        if exceeds(epsilon, exact):
            reasons.append(f"the exact loss {exact:.6g} is above the claim")
        if rule is not None and exceeds(epsilon, rule):
            reasons.append(f"the rules allow {rule:.6g}, which is above the claim")
        if rule is not None and exceeds(rule, exact):
            reasons.append(f"the exact loss {exact:.6g} is above {rule:.6g}, which the rules allow")
        if seen > epsilon:
            reasons.append(f"the samples show a loss of at least {seen:.6g}, above the claim")
        elif self.most is not None and exceeds(self.most, seen):
            reasons.append(
                f"the draws are not what was asked for: the samples show a loss of at least "
                f"{seen:.6g}, and the noise asked for has {self.most:.6g}"
            )
        return reasons


@dataclass(frozen=True)
class Audit:
    """One line of the table.

    epsilon, delta: what is claimed. exact: the largest exact loss of all pairs. lower_bound: the
    largest of all pairs, with confidence 1 - alpha for all of them together. pair: the one that
    gave it; samples: of each of its two inputs.
    """

    mechanism: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    exact: float
    lower_bound: float
    samples: int
    alpha: float
    verdict: Verdict
    pair: str
    pairs: tuple[PairResult, ...]


def exceeds(epsilon: float, loss: float) -> bool:
    """Whether an exact loss is above the claim, by more than the rounding of floats."""
    return loss > epsilon * (1 + _ROUNDING)


def judge(epsilon: float, pairs: Sequence[PairResult]) -> Verdict:
    """Compare what was found with the claim.

    A bound below the ideal means that there is more noise than the parameters say, or that the
    auditor tests the wrong event. Such a pass shows nothing and is called weak. So is a pass in
    which no pair is sure to show a tenth of the claim: samples or pairs are too few. Correct code
    is called weak with a chance of at most alpha, since the second condition is not random.
    """
    if any(one.faults(epsilon) for one in pairs):
        return "violation"
    if any(one.lower_bound < one.ideal for one in pairs):
        return "weak audit"
    if max(one.ideal for one in pairs) < _LEAST_SHARE * epsilon:
        return "weak audit"
    return "no violation found"


Check = Callable[[int, float], PairResult]
"""(samples, alpha) -> what was found on one pair of neighbours."""
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Line:
    """epsilon, delta: the claim, nats. published: the paper's own, expected to be refuted."""

    mechanism: str
    epsilon: float
    checks: tuple[Check, ...]
    delta: float = 0.0
    published: bool = False
    unit: str = "person"
    adjacency: str = "comes or goes"


@dataclass(frozen=True)
class Study:
    """What an audit computes or simulates besides its lines.

    run: rows, and what is other than expected. columns: headings with what stands below them.
    Both calls get the variant, None for all, and whether samples are few. false_alarm: of rows, the
    chance that of correct code something is other than expected.
    """

    name: str
    columns: Mapping[str, Callable[[Any], object]]
    steps: Callable[[str | None, bool], int]
    run: Callable[[str | None, bool, Advance], tuple[list[Any], list[str]]]
    false_alarm: Callable[[list[Any]], float] = lambda _: 0.0


@dataclass(frozen=True)
class Bench:
    """What `tacit audit NAME` looks at.

    lines: by variant, or by mechanism. samples: enough for every verdict. conclusion: said where
    nothing is other than expected. after: the command to type next, and what it does.
    """

    lines: Mapping[str, Sequence[Callable[[], Line]]]
    bugs: Sequence[Bug]
    samples: int = SAMPLES
    studies: tuple[Study, ...] = ()
    conclusion: str = "No violation found. That is no proof."
    after: str = ""

    def of(self, variant: str | None) -> Bench:
        """The lines of one variant alone; ConfigError if there is none of that name."""
        if variant is None:
            return self
        if variant not in self.lines:
            known = ", ".join(filter(None, self.lines)) or "none here"
            raise ConfigError(f"--variant is one of: {known}; got '{variant}'.")
        return replace(self, lines={variant: self.lines[variant]})

    def steps(self, variant: str | None, *, short: bool, planted: bool) -> int:
        """Of the progress of an audit."""
        lines = sum(map(len, self.lines.values()))
        studies = sum(study.steps(variant, short) for study in self.studies)
        return lines + studies + planted * len(self.bugs)


def as_expected(line: Line, audit: Audit, *, short: bool) -> bool:
    """Published lines are refuted, all others hold. short: fewer samples than by default, which
    may be too few to see much."""
    if line.published:
        return audit.verdict == "violation"
    return audit.verdict == "no violation found" or (short and audit.verdict == "weak audit")


def run(line: Line, *, samples: int = SAMPLES, alpha: float = ALPHA) -> Audit:
    """Make every check and judge; the checks share alpha."""
    found = [check(samples, alpha / len(line.checks)) for check in line.checks]
    best = max(found, key=lambda one: one.lower_bound)
    return Audit(
        mechanism=line.mechanism,
        unit=line.unit,
        adjacency=line.adjacency,
        epsilon=line.epsilon,
        delta=line.delta,
        exact=max(one.exact for one in found),
        lower_bound=best.lower_bound,
        samples=best.samples,
        alpha=alpha,
        verdict=judge(line.epsilon, found),
        pair=best.pair,
        pairs=tuple(found),
    )


def attempt(name: str, make: Callable[[], Line]) -> Line:
    """The line, or one that fails if the mechanism is too broken for its pairs to be made."""
    try:
        return make()
    except Exception as error:
        lost = PairResult("none", math.inf, None, 0.0, 0.0, 0, failed=where(error))
        return Line(name, math.nan, (lambda *_: lost,), unit="unknown", adjacency="unknown")


def where(error: Exception) -> str:
    """The kind of an exception and its place in the code; its message may contain the data."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {PurePath(last.filename).name}, line {last.lineno}"


def audited(
    bench: Bench, variant: str | None, samples: int, advance: Advance, *, planted: bool
) -> tuple[dict[str, Any], list[str]]:
    """Every line, study and planted bug: what was found, and what is other than expected.

    false_alarm: the chance that of correct code something is: a line is called violated or weak
    with a chance of at most alpha each. Whether planted bugs are caught is another question.
    """
    short, wrong = samples < bench.samples, list[str]()
    found: dict[str, Any] = {"audits": [], "refuted_as_expected": [], "false_alarm": 0.0}
    for name, makes in bench.lines.items():
        for make in makes:
            line = attempt(name or "a line", make)
            audit = run(line, samples=samples)
            found["audits"].append(audit)
            found["false_alarm"] += audit.alpha * (0 if line.published else 1 if short else 2)
            if not as_expected(line, audit, short=short):
                wrong += _reasons(audit, line)
            elif line.published:
                found["refuted_as_expected"].append(audit.mechanism)
            advance(1)
    for study in bench.studies:
        found[study.name], unexpected = study.run(variant, short, advance)
        wrong += unexpected
        found["false_alarm"] += study.false_alarm(found[study.name])
    if planted:
        missed, results = _planted(bench.bugs, advance)
        found |= results
        found["false_alarm"] += ALPHA * sum(bug.tool == "empirical" for bug in bench.bugs)
        wrong += missed
    return found, wrong


def _reasons(audit: Audit, line: Line) -> Iterator[str]:
    yield f"{audit.mechanism}: {audit.verdict}"
    if not line.published:
        for pair in audit.pairs:
            for fault in pair.faults(audit.epsilon):
                yield f"{audit.mechanism}, {pair.pair}: {fault}"


def _planted(bugs: Sequence[Bug], advance: Advance) -> tuple[list[str], dict[str, Any]]:
    from tacit.auditing.bugs import examine

    examined = []
    for bug in bugs:
        examined.append(examine(bug))
        advance(1)
    wrong = [f"{bug.bug}: missed" for bug, _ in examined if not bug.caught]
    wrong += [f"{clean.mechanism}: alarm" for _, clean in examined if clean.alarm]
    return wrong, {
        "planted": [bug for bug, _ in examined],
        "clean": [clean for _, clean in examined],
    }
