"""A vendor as it is served: one section [vendors.NAME] of tacit.toml."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from fastapi import Response

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.serve.neighbours import Calls, Neighbour, Reach
from tacit.designs.pdap.serve.recent_tasks import RecentTasks
from tacit.designs.pdap.serve.settings import VendorSettings, peers_of
from tacit.designs.pdap.serve.signatures import read_private_key
from tacit.designs.pdap.serve.state import MOST_VIDEOS, VERSION, VendorState, read_articles, unpack
from tacit.designs.pdap.serve.state_cache import StateCache
from tacit.errors import ConfigError
from tacit.ledger import Balance, Cap, Charge, Holder
from tacit.privacy import Guarantee, format_upper_bound
from tacit.service import idempotency
from tacit.service.idempotency import Reply, thing_state_name
from tacit.service.keys import Caller
from tacit.service.served_things import Section, ServedThing
from tacit.service.service import Service
from tacit.service.setting_tables import TOML


@dataclass(frozen=True)
class ServedVendor(ServedThing):
    """One vendor that is served: a section [vendors.NAME].

    Attributes:
        tenant: name of the tenant to whom the vendor belongs.
        name: of the vendor.
        settings: of the section.
        neighbours: by name.
        reach: knows which neighbours can be asked now; None if there are no neighbours.
        cache: opens the stored state.
        last_steps: step 3 of visits that were forwarded a short time ago; see `serve.visits`.
    """

    SETTINGS: ClassVar = VendorSettings

    tenant: str
    name: str
    settings: VendorSettings
    neighbours: Mapping[str, Neighbour] = field(repr=False)
    reach: Reach | None = field(repr=False)
    cache: StateCache = field(repr=False)
    last_steps: RecentTasks = field(default_factory=RecentTasks, repr=False)

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Read a section; ConfigError if it cannot be served."""
        peer_sections = peers_of(section)
        settings = VendorSettings.read(section)
        neighbours: dict[str, Neighbour] = {}
        for name, peer_section in peer_sections.items():
            neighbours[name] = Neighbour.from_section(name, peer_section)
        if section.name in neighbours:
            raise ConfigError(f"{TOML}: {section.name} cannot be a neighbour of itself.")
        reach = None
        if neighbours:
            calls = Calls(section.name, read_private_key(section.file_path("key")))
            reach = Reach(calls, tuple(neighbours.values()))
        # The first draw loads the sampler, which takes time: do so before any request waits.
        settings.learner_setting.noise.add_to(np.zeros(1, dtype=np.int64))
        cache = StateCache(settings)
        return cls(section.tenant, section.name, settings, neighbours, reach, cache)

    @property
    def state_name(self) -> str:
        """Name of the vendor's state in the ledger."""
        return thing_state_name("vendors", self.tenant, self.name)

    def budgets(self) -> tuple[tuple[Holder, Cap], ...]:
        """Return an empty tuple: each person has a budget, and the vendor's data set has none."""
        return ()

    def check_balances(self, balances: Iterable[Balance]) -> None:
        """Check that no person's stored budget is larger than `lifetime`: a budget is for life.

        Raises:
            ConfigError: A person has a larger budget at this vendor.
        """
        prefix = f"vendors/{self.name}/"
        for balance in balances:
            holder = balance.holder
            is_of_vendor = holder.tenant == self.tenant and holder.name.startswith(prefix)
            if is_of_vendor and balance.cap.amount > self.settings.cap.amount:
                raise ConfigError(
                    f"{TOML}: {self.name}.lifetime was larger when people's budgets were opened, "
                    "and a budget is for life. Put it back, or rename the section "
                    f"[vendors.{self.name}]."
                )

    def check_stored_states(self, read_state: Callable[[str], bytes | None]) -> None:
        """Refuse a stored state of this vendor that cannot be continued.

        Args:
            read_state: returns the stored bytes of a name; None if there are none.

        Raises:
            ConfigError: The state was made under other settings or by another version, or is
                damaged; or its articles and the videos of the settings are too many together.
        """
        state = idempotency.remove_salt(read_state(self.state_name))
        if state is None:
            return
        try:
            json_part, _ = unpack(state)
            version = int(json_part.get("version", 0))
        except (TypeError, ValueError, LookupError, struct.error):
            raise self._unreadable_state("damaged") from None
        if version != VERSION:
            stored_version = f"version {version}" if version else f"a version before {VERSION}"
            raise self._unreadable_state(
                f"of {stored_version}, and this tacit continues version {VERSION} alone"
            )
        try:
            differing = self.settings.differing_settings(json_part["settings"])
            if not differing:
                VendorState.decode(
                    state, self.settings.make_vendor(), self.settings.lasting_settings
                )
            shown = len(self.find_joining_times(state, time.time()))
        except (TypeError, ValueError, LookupError, struct.error):
            raise self._unreadable_state("damaged") from None
        if differing:
            raise ConfigError(
                f"{TOML}: vendors.{self.name} learned with other settings "
                f"({', '.join(differing)}), and its guarantee is for all that it learned. Put them "
                f"back, or rename the section [vendors.{self.name}]: then everybody has a new "
                "budget."
            )
        if shown > MOST_VIDEOS:
            raise ConfigError(
                f"{TOML}: {self.name}.videos and the articles that joined through the service are "
                f"{shown:,}, and a vendor shows at most {MOST_VIDEOS:,} articles at once. Name "
                "fewer videos; or put the earlier ones back, and remove articles first."
            )

    def find_joining_times(self, stored: bytes | None, now: float) -> dict[str, int | None]:
        """Find the articles that the vendor shows, and the time at which each joined.

        Args:
            stored: its stored state; None if nothing was stored yet.
            now: in seconds since 1970.

        Returns:
            For each title, the second since 1970 at which the article joined; None for an article
            that the settings name.
        """
        joined_by_title: dict[str, int | None] = dict.fromkeys(self.settings.videos)
        if stored is not None:
            for title, joined in read_articles(stored).items():
                if joined + self.settings.article_seconds > now:
                    joined_by_title.setdefault(title, joined)
        return joined_by_title

    def _unreadable_state(self, problem: str) -> ConfigError:
        """Make the error for a stored state that cannot be continued."""
        return ConfigError(
            f"{TOML}: the stored state of vendors.{self.name} cannot be continued: it is "
            f"{problem}. Rename the section [vendors.{self.name}]."
        )

    def personal_holders(self, user: str) -> tuple[Holder]:
        """Return the holder of the budget that a visit of this user is charged to."""
        return (Holder.subject(self.tenant, f"vendors/{self.name}/{user}"),)

    def describe_releases(self) -> str:
        """Describe the releases that cannot be taken back, for the operator."""
        settings = self.settings
        contexts = ""
        if self.neighbours:
            contexts = (
                "; randomised contexts that neighbours received, each at epsilon "
                + format_upper_bound(settings.forward_epsilon)
            )
        return (
            "noisy sums over all visits, each visit at epsilon "
            f"{format_upper_bound(settings.epsilon)}{contexts}; all visits of one person within "
            f"{format_upper_bound(settings.lifetime)}. Stored answers contain which video was "
            "shown at each visit, and the random bytes of one that was forwarded"
        )

    def charges(self, user: str, *, asks: bool) -> list[Charge]:
        """List the charges of a visit. The first charge of a person opens their budget.

        Args:
            user: who visits.
            asks: whether neighbours can be asked at this visit.
        """
        (holder,) = self.personal_holders(user)
        return [Charge(holder, self.settings.cost(asks=asks), opens=self.settings.cap)]

    async def run_transaction(
        self,
        service: Service,
        caller: Caller,
        operation: str,
        key: str,
        payload: bytes,
        change_state: Callable[[VendorState], Reply],
        *,
        stores_unchanged: bool = False,
        **options: Any,
    ) -> Response:
        """Run one transaction on the vendor's state, once for each Idempotency-Key.

        Args:
            service: that runs.
            caller: who sent the request.
            operation: method and path of the resource.
            key: the Idempotency-Key.
            payload: content of the request, which must be the same when the key comes again.
            change_state: changes the state and returns the answer.
            stores_unchanged: see `StateCache.make_transition`.
            options: further arguments of `idempotency.answer_once`.
        """
        # With the name, the same key at another vendor comes with another content, and is refused.
        payload_of_vendor = self.name.encode() + b"\x00" + payload
        transition = idempotency.salt_states(
            self.cache.make_transition(change_state, stores_unchanged=stores_unchanged)
        )
        return await idempotency.answer_once(
            service,
            caller,
            operation,
            key,
            payload_of_vendor,
            state=self.state_name,
            transition=transition,
            **options,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the card of a whole visit, then those of its parts.

        The parts are the learner, forwarded contexts and trust in neighbours. Without neighbours
        the card of the learner is the only one.
        """
        settings = self.settings
        learner = guarantees.joint_card(
            settings.learner_setting, visits_per_person=settings.most_visits(asks=False)
        )
        if not self.neighbours:
            return (learner,)
        visits = settings.most_visits(asks=True)
        parts = (
            learner,
            guarantees.forwarded_context_card(settings.agreement, visits=visits, asks_all=True),
            guarantees.neighbour_trust_card(settings.trust_settings, visits_per_person=visits),
        )
        whole_visit = guarantees.forwarded_visit_card(
            parts, epsilon=settings.visit_epsilon, visits_per_person=visits
        )
        return (whole_visit, *parts)

    def describe(self) -> dict[str, Any]:
        """Return public facts about the vendor, without its videos."""
        return {
            "name": self.name,
            "features": self.settings.features,
            "epsilon": self.settings.visit_epsilon,
            "lifetime": self.settings.lifetime,
            "neighbours": sorted(self.neighbours),
            "forward_epsilon": self.settings.forward_epsilon if self.neighbours else None,
        }
