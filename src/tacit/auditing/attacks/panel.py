"""The attackers by name, and several of them together, trained on the same people.

Packages add theirs under the entry point group `tacit.attackers`. An entry point's object is called
without arguments and gives a new `Attacker`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Self

from tacit.auditing.attacks.base import Attacker, AttributeAttack, Floats, Labels, Seen
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.linear import LogisticRegression, NaiveBayes, SupportVectorMachine
from tacit.auditing.attacks.modern import (
    NearestNeighbours,
    OnRatings,
    Stack,
    boosting_meta,
    boosting_svd,
    logistic_svd,
    mlp,
    quadratic,
)
from tacit.errors import ConfigError
from tacit.extensions import ATTACKERS, installed

ATTACKS: Mapping[str, Callable[[], AttributeAttack]] = MappingProxyType(
    {
        NaiveBayes.name: NaiveBayes,
        LogisticRegression.name: LogisticRegression,
        SupportVectorMachine.name: SupportVectorMachine,
        LinearDiscriminant.name: LinearDiscriminant,
    }
)
"""The straight lines: they read released stars and nothing else."""


SHIPPED: Mapping[str, Callable[[], Attacker]] = MappingProxyType(
    {name: partial(OnRatings, make) for name, make in ATTACKS.items()}
    | {
        "logistic-svd": logistic_svd,
        "boosting-meta": boosting_meta,
        "boosting-svd": boosting_svd,
        "mlp": mlp,
        NearestNeighbours.name: NearestNeighbours,
        "quadratic": quadratic,
    }
)
STACKS: Mapping[str, Stack] = MappingProxyType(
    {
        "stack": Stack("stack", ("boosting-meta", "boosting-svd", "mlp", "nearest-neighbours")),
        "stack-lite": Stack("stack-lite", ("boosting-meta", "logistic-svd", "nearest-neighbours")),
    }
)
QUICK = (*ATTACKS, "logistic-svd", "boosting-meta", "nearest-neighbours", "stack-lite")
FULL = (*SHIPPED, "stack")


def attackers() -> dict[str, Callable[[], Attacker]]:
    """Every attacker that is fitted: the shipped ones and those of installed packages."""
    found = dict(SHIPPED)
    for name, entry in installed(ATTACKERS, (*SHIPPED, *STACKS)).items():
        found[name] = entry.load()
    return found


def panel_names(panel: str) -> tuple[str, ...]:
    """Names of the attackers of a panel. `full` holds those of installed packages too."""
    if panel == "quick":
        return QUICK
    if panel == "full":
        return (*FULL, *(name for name in attackers() if name not in SHIPPED))
    raise ConfigError(f"No panel '{panel}'. Known: quick, full.")


def checked(names: Sequence[str]) -> tuple[str, ...]:
    """The names if each is an attacker; else `ConfigError` with the known ones."""
    known = (*attackers(), *STACKS)
    for name in names:
        if name not in known:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(known)}.")
    return tuple(names)


class Panel:
    """Attackers by name. A stack's members are fitted also where they are not asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = checked(names)
        known = attackers()
        wanted = dict.fromkeys(
            member
            for name in self.names
            for member in (STACKS[name].members if name in STACKS else (name,))
        )
        self._attackers: dict[str, Attacker] = {name: known[name]() for name in wanted}

    def fit(self, seen: Seen, labels: Labels) -> Self:
        """Each attacker learns from the same people. Labels 0 and 1."""
        for attacker in self._attackers.values():
            attacker.fit(seen, labels)
        return self

    def scores(self, seen: Seen) -> dict[str, Floats]:
        """Each asked attacker's (people,) scores; a stack's are ranks among these people."""
        single = {name: attacker.score(seen) for name, attacker in self._attackers.items()}
        return {
            name: STACKS[name].combine(single) if name in STACKS else single[name]
            for name in self.names
        }


def readers_of_epochs(names: Sequence[str]) -> tuple[str, ...]:
    """Those of the attackers whose scores epoch labels can change."""
    known = attackers()
    reads = {name: known[name]().reads_epochs for name in known}
    return tuple(
        name
        for name in names
        if any(reads[member] for member in (STACKS[name].members if name in STACKS else (name,)))
    )
