"""Several attackers together, trained on the same people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tacit.auditing.attacks.base import Floats, Labels
from tacit.auditing.attacks.modern import Attacker
from tacit.auditing.attacks.registry import STACKS, attackers, checked
from tacit.auditing.attacks.seen import Seen


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
