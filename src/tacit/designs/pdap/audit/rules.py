"""P-DAP's policies in the words of the rule engine, step by step as their code has them.

Source   Zhou, Zhou, Wu, Jin (2015), Algorithms 1 and 2; `designs/pdap/` for how they are read.
Reading  A step is infinite if what it does follows from contexts, clicks or counts as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.auditing.rules import Answered, Branch, Chosen, Noised, Private, Public, Rule
from tacit.auditing.rules import upper_bound as bound_of
from tacit.designs.pdap import theory
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.policies.joint_sums import GRAIN, SumNoise
from tacit.designs.pdap.policies.local import Context
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse


@dataclass(frozen=True)
class Step:
    """What one step of a policy tells about one unit, and what the rules allow it."""

    policy: str
    unit: str
    step: str
    rule: Rule

    @property
    def bound(self) -> float:
        """Nats; infinite if the description allows none."""
        return bound_of(self.rule)


LARGEST_MEAN = Private()
"""The arm of the largest mean, which is one of true rewards."""
UNEXPLORED = Private()
"""Which arm is still to be tried: it follows from the counts of the visitor's cell."""
OWN_OR_FORWARDED = Branch(Private(), Public("own"), Public("forwarded"))
SPLIT = Branch(Private(), Public("children"), Public("parent"))
"""Whether a cell was split, by its exact number of visits."""
RAW_REWARD = Private()


def draw(epsilon: float, level: int) -> Rule:
    """ExP-DAP's draw: means of two cells differ by up to 1, whatever Delta u is taken to be."""
    return Chosen(1, theory.draw_exponent(epsilon, 1, 2, 1, level))


def tree(horizon: int, levels: float, epsilon: float) -> Rule:
    """A tree with Laplace noise of scale levels / epsilon: a reward is in all of its levels."""
    return Noised(theory.levels(horizon), levels / epsilon)


def sums(noise: SumNoise) -> Rule:
    """Joint privacy's sums: a visit moves one pair by L1 1."""
    # One step of the scale is asked for with a margin; the accountant's price has it.
    return Noised(GRAIN, GRAIN / noise.epsilon)


def report(policy: Context) -> Rule:
    """Cell and click by randomised response."""
    return response(policy.setting.report_epsilon, 2 * len(policy.grid))


def forward(agreement: Agreement) -> Rule:
    """A context's cell by randomised response."""
    return response(agreement.epsilon, agreement.answers)


def response(epsilon: float, categories: int) -> Rule:
    return Answered(KaryResponse(epsilon, categories).truth, categories)


def answer(epsilon: float) -> Rule:
    """A guest's reward."""
    return Answered(BitRelease(epsilon).truth)


_EXPLORATION = "which arm is explored"
_SPLIT = "when a cell splits"


def _of_own_users(policy: str, epsilon: float) -> tuple[Step, ...]:
    return (
        Step(policy, "context", _EXPLORATION, UNEXPLORED),
        Step(policy, "context", "draw among own videos, level 5", draw(epsilon, 5)),
        Step(policy, "context", "own or forwarded, by means", OWN_OR_FORWARDED),
        Step(policy, "visit", _SPLIT, SPLIT),
    )


def _of_guests(policy: str, epsilon: float) -> tuple[Step, ...]:
    return (
        Step(policy, "reward", "reward sent while exploring", RAW_REWARD),
        Step(policy, "reward", "largest mean", LARGEST_MEAN),
        Step(policy, "reward", "noisy total, T = 1,024", tree(1024, theory.levels(1024), epsilon)),
        Step(policy, "visit", _SPLIT, SPLIT),
    )


def _without_noise(policy: str) -> tuple[Step, ...]:
    return (
        Step(policy, "context", _EXPLORATION, UNEXPLORED),
        Step(policy, "context", "largest mean", LARGEST_MEAN),
    )


EPSILON = 0.1
"""epsilon' of the steps below."""
STEPS: tuple[Step, ...] = (
    *_without_noise("cap"),
    *_without_noise("dup"),
    *_without_noise("dap"),
    *_of_own_users("p-dap", EPSILON),
    *_of_guests("p-dap, guests", EPSILON),
    *_of_own_users("gp-dap", theory.epsilon_at(EPSILON, 2, 1, 5, geometric=True)),
    *_of_guests("gp-dap, guests", EPSILON),
    Step("sound-joint", "visit", "sums in epochs", sums(SumNoise(1.0))),
    Step("sound-context", "visit", "report of 4 cells", response(0.5, 8)),
    Step("messages", "context", "forward, 9 cells", forward(Agreement(2, 3, 1.0))),
    Step("messages", "reward", "answer", answer(1.0)),
)
"""The first two groups publish without bound; the last have one, at epsilon 1 each."""

INFINITE = ("cap", "dup", "dap", "p-dap", "p-dap, guests", "gp-dap", "gp-dap, guests")
"""Policies that no epsilon bounds: at least one step of each is infinite."""


def by_policy() -> dict[str, float]:
    """The largest bound of each policy's steps."""
    found: dict[str, float] = {}
    for step in STEPS:
        found[step.policy] = max(found.get(step.policy, 0.0), step.bound)
    return found
