"""The design on the audit's bench: 36 pairs of neighbours, both modes, one domain and two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit.auditing.claims import Bench, Line
from tacit.auditing.replays import replay_check
from tacit.designs.private.audit import faults, membership
from tacit.designs.private.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    WORLDS,
    World,
    answers,
    tables,
)

_SHARES = {"likes two rare items": (12, 8)}  # entries sampled, and one sample of so many


def line(world: World) -> Line:
    """Every person who comes or goes, in one way to fit."""
    checks = []
    for name, person in PERSONS.items():
        entries, share = _SHARES.get(name, (1, 1_000))
        checks.append(
            replay_check(
                name, world.fit, tables(person),
                entries=entries, share=share, delta=DELTA, noise=answers(factors=world.factors),
            )
        )  # fmt: skip
    return Line(world.name, EPSILON, tuple(checks), delta=DELTA)


BENCH: tuple[Callable[[], Line], ...] = tuple(partial(line, world) for world in WORLDS)


def audit() -> Bench:
    """Whole fits replayed with one person more or less."""
    return Bench(
        {"": BENCH},
        faults.BUGS,
        studies=(membership.STUDY,),
        conclusion="No violation was found, and that is no proof.",
        after="tacit guarantee private --epsilon 1  reads what is promised.",
    )
