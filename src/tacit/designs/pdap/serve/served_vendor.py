"""A vendor as it is served: one section [vendors.NAME] of tacit.toml."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from fastapi import Response

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.serve.neighbours import Calls, Neighbour, Reach
from tacit.designs.pdap.serve.settings import VendorSettings, peers_of
from tacit.designs.pdap.serve.signatures import read_private_key
from tacit.designs.pdap.serve.state import VERSION, VendorState, unpack
from tacit.designs.pdap.serve.state_cache import StateCache
from tacit.errors import ConfigError
from tacit.ledger import Balance, Cap, Charge, Holder
from tacit.privacy import Guarantee
from tacit.service import idempotency
from tacit.service.idempotency import Reply, thing_state_name
from tacit.service.keys import Caller
from tacit.service.served_things import Section, ServedThing
from tacit.service.service import Service
from tacit.service.setting_tables import TOML


@dataclass(frozen=True)
class ServedVendor(ServedThing):
    """One section [vendors.NAME].

    Attributes:
        tenant: whose it is.
        name: of the vendor.
        settings: its lines.
        neighbours: by name.
        reach: which neighbours can be asked; None without any.
        cache: of its state.
    """

    SETTINGS: ClassVar = VendorSettings

    tenant: str
    name: str
    settings: VendorSettings
    neighbours: Mapping[str, Neighbour] = field(repr=False)
    reach: Reach | None = field(repr=False)
    cache: StateCache = field(repr=False)

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Read a section; ConfigError for what cannot be served."""
        tables = peers_of(section)
        settings = VendorSettings.read(section)
        neighbours = {name: Neighbour.from_section(name, one) for name, one in tables.items()}
        if section.name in neighbours:
            raise ConfigError(f"{TOML}: {section.name} is no neighbour of its own.")
        reach = None
        if neighbours:
            calls = Calls(section.name, read_private_key(section.file_path("key")))
            reach = Reach(calls, tuple(neighbours.values()))
        settings.joint.noise.add_to(
            np.zeros(1, dtype=np.int64)
        )  # loads what draws noise: not while others wait
        cache = StateCache(settings)
        return cls(section.tenant, section.name, settings, neighbours, reach, cache)

    @property
    def state(self) -> str:
        """Name of its state in the ledger."""
        return thing_state_name("vendors", self.tenant, self.name)

    def budgets(self) -> tuple[tuple[Holder, Cap], ...]:
        """No budget of a data set: every person has their own."""
        return ()

    def check_balances(self, balances: Iterable[Balance]) -> None:
        """Refuse budgets of people that are larger than the cards say: a cap is for life.

        Raises:
            ConfigError: There is one.
        """
        prefix = f"vendors/{self.name}/"
        for balance in balances:
            holder = balance.holder
            ours = holder.tenant == self.tenant and holder.name.startswith(prefix)
            if ours and balance.cap.amount > self.settings.cap.amount:
                raise ConfigError(
                    f"{TOML}: {self.name}.lifetime was larger when people's budgets were opened, "
                    "and a budget is for life. Put it back, or take another name for the vendor."
                )

    def check_stored_states(self, kept: Callable[[str], bytes | None]) -> None:
        """Refuse a stored state of other settings, or one that cannot be gone on from.

        Args:
            kept: gives the stored bytes of a name; None for none.

        Raises:
            ConfigError: There is such a state.
        """
        state = idempotency.remove_salt(kept(self.state))
        if state is None:
            return
        wrong = "damaged"
        others: tuple[str, ...] = ()
        try:
            numbers, _ = unpack(state)
            if (version := int(numbers.get("version", 0))) != VERSION:
                of = f"version {version}" if version else f"a version before {VERSION}"
                wrong = f"of {of}, and this tacit goes on with version {VERSION}"
                raise ValueError  # whatever it holds
            others = self.settings.differing_settings(numbers["settings"])
            if not others:
                VendorState.decode(state, self.settings.vendor(), self.settings.lasting_settings)
        except (TypeError, ValueError, LookupError, struct.error):
            raise ConfigError(
                f"{TOML}: vendors.{self.name} cannot be gone on from: what was kept of it is "
                f"{wrong}. Take another name for the vendor."
            ) from None
        if others:
            raise ConfigError(
                f"{TOML}: vendors.{self.name} learned with other settings ({', '.join(others)}), "
                "and what was promised to its visitors is for all that it learned. Put them back, "
                "or take another name for the vendor, where everybody has a budget of its own."
            )

    def personal_holders(self, user: str) -> tuple[Holder]:
        """Whose budget a visit of this user is charged to."""
        return (Holder.subject(self.tenant, f"vendors/{self.name}/{user}"),)

    def describe_releases(self) -> str:
        """Describe what was released and cannot be taken back."""
        s = self.settings
        sent = f"; contexts that neighbours got at random, each at epsilon {s.forward_epsilon:g}"
        extra = sent if self.neighbours else ""
        return (
            f"noisy sums that hold visits of all, each at epsilon {s.epsilon:g}{extra}; all "
            f"of one person's within {s.lifetime:g}. Stored answers hold which video was "
            "shown at each visit, and the random bytes of one that was forwarded"
        )

    def charges(self, user: str, *, asks: bool) -> list[Charge]:
        """Charge a visit; a first one opens a budget.

        Args:
            user: who visits.
            asks: whether neighbours can be asked.
        """
        cost = self.settings.costs[asks]
        (holder,) = self.personal_holders(user)
        return [Charge(holder, cost, opens=self.settings.cap)]

    async def step(
        self,
        service: Service,
        caller: Caller,
        operation: str,
        key: str,
        payload: bytes,
        take: Callable[[VendorState], Reply],
        **more: Any,
    ) -> Response:
        """Run one transaction over its state, once for each key.

        Args:
            service: that runs.
            caller: who asks.
            operation: the resource.
            key: the Idempotency-Key.
            payload: what the key stands for.
            take: what is done with the state.
            more: as of `idempotency.answer_once`.
        """
        named = self.name.encode() + b"\x00" + payload
        step = idempotency.salt_states(self.cache.step(take))
        return await idempotency.answer_once(
            service, caller, operation, key, named, state=self.state, transition=step, **more
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The card of a whole visit, then those of its parts.

        A visit's parts are the learner, forwarded contexts and trust in neighbours.
        """
        s = self.settings
        own = guarantees.joint_card(s.joint, visits_per_person=s.most_visits(asks=False))
        if not self.neighbours:
            return (own,)
        asked = s.most_visits(asks=True) or None
        parts = (
            own,
            guarantees.forwarded_context_card(s.agreement, visits=asked, asks_all=True),
            guarantees.neighbour_trust_card(s.trust_settings, visits_per_person=asked),
        )
        together = guarantees.forwarded_visit_card(
            parts, epsilon=s.visit_epsilon, visits_per_person=asked
        )
        return (together, *parts)

    def describe(self) -> dict[str, Any]:
        """Describe what anyone may know: nothing of its videos, which are shown one at a time."""
        return {
            "name": self.name,
            "features": self.settings.features,
            "epsilon": self.settings.visit_epsilon,
            "lifetime": self.settings.lifetime,
            "neighbours": sorted(self.neighbours),
            "forward_epsilon": self.settings.forward_epsilon if self.neighbours else None,
        }
