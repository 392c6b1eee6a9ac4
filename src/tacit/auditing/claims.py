"""The bench of claims: what each line says, the checks made of it, the verdict, planted bugs."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tacit.auditing.empirical import ALPHA
from tacit.auditing.verdicts import Audit, Checked, judge
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.auditing.bugs import Bug

SAMPLES = 200_000
LEAST_SAMPLES = 1_000
FAILED = "none"  # the pair of a line that could not be made

Check = Callable[[int, float], Checked]
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
    """What an audit computes or plays besides its lines.

    run: rows, and what is other than expected. columns: headings with what stands below them.
    Both calls get the variant, None for all, and whether samples are few.
    """

    name: str
    columns: Mapping[str, Callable[[Any], object]]
    steps: Callable[[str | None, bool], int]
    run: Callable[[str | None, bool, Advance], tuple[list[Any], list[str]]]


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
    return _concluded(line, found, alpha)


def attempt(name: str, make: Callable[[], Line]) -> Line:
    """The line, or one that fails if the mechanism is too broken for its pairs to be made."""
    try:
        return make()
    except Exception as error:
        lost = Checked(FAILED, math.inf, None, 0.0, 0.0, 0, failed=where(error))
        return Line(name, math.nan, (lambda *_: lost,), unit="unknown", adjacency="unknown")


def where(error: Exception) -> str:
    """The kind of an exception and its place in the code; its words may repeat the data."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {PurePath(last.filename).name}, line {last.lineno}"


def audited(
    bench: Bench,
    variant: str | None,
    samples: int,
    advance: Advance,
    *,
    planted: bool,
) -> tuple[dict[str, Any], list[str]]:
    """Every line, study and planted bug: what was found, and what is other than expected."""
    short, wrong = samples < bench.samples, list[str]()
    found: dict[str, Any] = {"audits": [], "refuted_as_expected": []}
    for name, makes in bench.lines.items():
        for make in makes:
            line = attempt(name or "a line", make)
            audit = run(line, samples=samples)
            found["audits"].append(audit)
            if not as_expected(line, audit, short=short):
                wrong += _reasons(audit, line)
            elif line.published:
                found["refuted_as_expected"].append(audit.mechanism)
            advance(1)
    for study in bench.studies:
        found[study.name], unexpected = study.run(variant, short, advance)
        wrong += unexpected
    if planted:
        missed, results = _planted(bench.bugs, advance)
        found |= results
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


def _concluded(line: Line, found: list[Checked], alpha: float) -> Audit:
    best = max(found, key=lambda one: one.lower_bound)
    return Audit(
        line.mechanism,
        line.unit,
        line.adjacency,
        line.epsilon,
        line.delta,
        max(one.exact for one in found),
        best.lower_bound,
        best.samples,
        alpha,
        judge(line.epsilon, found),
        best.pair,
        tuple(found),
    )
