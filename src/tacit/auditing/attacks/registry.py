"""The attackers by name. Packages add theirs under the entry point group `tacit.attackers`.

An entry point's object is called without arguments and gives a new `Attacker`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tacit.auditing.attacks.base import AttributeAttack
from tacit.auditing.attacks.discriminant import LinearDiscriminant
from tacit.auditing.attacks.linear import LogisticRegression, NaiveBayes, SupportVectorMachine
from tacit.auditing.attacks.modern import (
    Attacker,
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


def _on_ratings(make: Callable[[], AttributeAttack]) -> Callable[[], Attacker]:
    return lambda: OnRatings(make)


SHIPPED: Mapping[str, Callable[[], Attacker]] = MappingProxyType(
    {name: _on_ratings(make) for name, make in ATTACKS.items()}
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
