"""A vendor as it is served: settings, neighbours, state in the ledger; and demonstrations of it."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from fastapi import Response

from tacit.atomic_writes import write_whole
from tacit.designs.pdap import guarantees
from tacit.designs.pdap.serve.neighbours import Calls, Neighbour, Reach
from tacit.designs.pdap.serve.settings import VendorSettings, peers_of
from tacit.designs.pdap.serve.signatures import new_vendor_key, read_private_key
from tacit.designs.pdap.serve.state import VERSION, VendorState, unpack
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tacit.ledger import Balance, Cap, Charge, Holder
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.service import idempotency
from tacit.service.idempotency import Reply, Transition, refusal, thing_state_name
from tacit.service.keys import Caller, Role, add_key, create_private_file
from tacit.service.served_things import Section, ServedThing
from tacit.service.service import Service
from tacit.service.setting_tables import TOML

NAMES = ("cinema", "arthouse")
VIDEOS, FEATURES, TENANT = 8, 2, "demo"
_KEYS = "keys.json"


def make_demo(_: Path) -> str:
    """One vendor alone: whom it could ask would be another service."""
    return _section(NAMES[0], VIDEOS)


def make_two(
    folders: tuple[Path, Path],
    addresses: tuple[str, str],
    *,
    videos: int = VIDEOS,
    **settings: float,
) -> tuple[dict[str, str], dict[str, str]]:
    """Two deployments, each a vendor that may forward to the other; each one's operator's keys.
    folders: new ones. addresses: of the services, `http://127.0.0.1:8001`. settings: more of
    [vendors.NAME], the same for both."""
    for folder in folders:
        folder.mkdir(parents=True)
    public = [new_vendor_key(folder / "vendor.pem") for folder in folders]
    keys = []
    for own, other in ((0, 1), (1, 0)):
        name, peer, folder = NAMES[own], NAMES[other], folders[own]
        given = add_key(folders[other] / _KEYS, name, Role.VENDOR, TENANT)
        create_private_file(folder / "neighbour.key", given.encode())
        neighbour = {
            "url": f"{addresses[other]}/api/vendors/{peer}",
            "public_key": public[other],
            "api_key": "neighbour.key",
        }
        text = f'tenant = "{TENANT}"\n' + _section(name, videos, key="vendor.pem", **settings)
        text += _table(f"vendors.{name}.peers.{peer}", neighbour)
        write_whole(folder / TOML, text.encode())
        keys.append({"operator": add_key(folder / _KEYS, "operator", Role.OPERATOR, TENANT)})
    return keys[0], keys[1]


def _section(name: str, videos: int, **more: object) -> str:
    names = [f"{name}-{number + 1}" for number in range(videos)]
    return _table(f"vendors.{name}", {"videos": names, "features": FEATURES, **more})


def _table(name: str, values: Mapping[str, object]) -> str:
    """JSON's numbers, texts and lists are TOML's."""
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    return f"[{name}]\n{''.join(lines)}\n"


OTHERS = "This vendor's settings are others than those it learned with: tell the operator."


@dataclass(frozen=True)
class ServedVendor(ServedThing):
    """One [vendors.NAME]. reach: only with neighbours."""

    SETTINGS: ClassVar = VendorSettings

    tenant: str
    name: str
    settings: VendorSettings
    neighbours: Mapping[str, Neighbour] = field(repr=False)
    reach: Reach | None = field(repr=False)
    cache: StateCache = field(repr=False)

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """ConfigError for what cannot be served."""
        tables = peers_of(section)
        settings = VendorSettings.read(section)
        neighbours = {name: Neighbour.from_section(name, one) for name, one in tables.items()}
        if section.name in neighbours:
            raise ConfigError(f"{TOML}: {section.name} is no neighbour of its own.")
        reach = None
        if neighbours:
            calls = Calls(section.name, read_private_key(section.file_path("key")))
            reach = Reach(calls, tuple(neighbours.values()))
        settings.joint.noise.draw((1,))  # loads what draws noise: not while others wait
        cache = StateCache(settings)
        return cls(section.tenant, section.name, settings, neighbours, reach, cache)

    @property
    def state(self) -> str:
        return thing_state_name("vendors", self.tenant, self.name)

    def budgets(self) -> tuple[tuple[Holder, Cap], ...]:
        """None of a data set: every person has their own."""
        return ()

    def check_balances(self, balances: Iterable[Balance]) -> None:
        """ConfigError where a person's budget is larger than the cards say: a cap is for life."""
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
        """ConfigError where its state was kept under other settings, or cannot be gone on from."""
        if (state := kept(self.state)) is None:
            return
        wrong, others = "damaged", tuple[str, ...]()
        try:
            numbers, _ = unpack(state)
            if (version := int(numbers.get("version", 0))) != VERSION:
                of = f"version {version}" if version else f"a version before {VERSION}"
                wrong = f"of {of}, and this tacit goes on with version {VERSION}"
                raise ValueError  # whatever it holds
            others = self.settings.others_than(numbers["settings"])
            if not others:
                VendorState.decode(state, self.settings.vendor(), self.settings.lasting)
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
        return (Holder.subject(self.tenant, f"vendors/{self.name}/{user}"),)

    def describe_releases(self) -> str:
        """What cannot be taken back."""
        s = self.settings
        sent = f"; contexts that neighbours got at random, each at epsilon {s.forward_epsilon:g}"
        extra = sent if self.neighbours else ""
        return (
            f"noisy sums that hold visits of all, each at epsilon {s.epsilon:g}{extra}; all "
            f"of one person's within {s.lifetime:g}. Stored answers hold which video was "
            "shown at each visit, and the random bytes of one that was forwarded"
        )

    def charges(self, user: str, *, asks: bool) -> list[Charge]:
        """What a visit is charged; a first one opens a budget. asks: neighbours are up."""
        cost, (holder,) = self.settings.costs[asks], self.personal_holders(user)
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
        """One transaction over its state, once for each key. more: as of `idempotency.step`."""
        named, taken = self.name.encode() + b"\x00" + payload, self.cache.step(take)
        return await idempotency.answer_once(
            service, caller, operation, key, named, state=self.state, transition=taken, **more
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        s = self.settings
        own = guarantees.joint(s.joint, visits_per_person=s.most_visits(asks=False))
        if not self.neighbours:
            return (own,)
        asked = s.most_visits(asks=True) or None
        return (
            own,
            guarantees.forwarded(s.agreement, visits=asked, asks_all=True),
            guarantees.learned_about_neighbours(s.trust_settings, visits_per_person=asked),
        )

    def described(self) -> dict[str, Any]:
        """For everybody: nothing of its videos, which are shown one at a time."""
        return {
            "name": self.name,
            "features": self.settings.features,
            "epsilon": self.settings.epsilon,
            "lifetime": self.settings.lifetime,
            "neighbours": sorted(self.neighbours),
            "forward_epsilon": self.settings.forward_epsilon if self.neighbours else None,
        }


class StateCache:
    """Opens the kept state for one transaction, and closes it again. The state made last is used
    again if its bytes are those that are kept: then no other worker changed it, and no transaction
    was undone. Names of videos and neighbours are those of the settings that were read last, by any
    worker: two workers that put their own names back in turns would make each other's videos start
    anew."""

    def __init__(self, settings: VendorSettings) -> None:
        self._settings = settings
        self._since = time.time_ns()
        self._lock = threading.Lock()
        self._last: tuple[bytes, VendorState] | None = None
        self._fresh: Vendor | None = settings.vendor()
        self._made = settings.vendor()
        """For the first of all states, and what becomes a kept one: before anybody waits."""

    def step(self, take: Callable[[VendorState], Reply]) -> Transition:
        """For `idempotency.step`: what `take` does with the state, and the state after it."""

        def run(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
            with self._lock:
                state = self.open(stored)
                if state is None:
                    return refusal(409, OTHERS), None
                answer = take(state)
                new = state.encode(self._settings.lasting)
                self._last = new, state
                return answer, None if new == stored else new

        return run

    def open(self, stored: bytes | None) -> VendorState | None:
        """What was kept, None for the first; None comes of what has other settings."""
        last, self._last = self._last, None  # whatever fails from here on, it is not used again
        if stored is None:
            fresh, self._fresh = self._fresh or self._settings.vendor(), None
            return VendorState(fresh, since=self._since)
        if last is not None and last[0] == stored:
            return last[1]
        state = VendorState.decode(stored, self._made, self._settings.lasting)
        if state is not None and not self._since < state.since <= time.time_ns():
            state.rename(self._settings.videos, tuple(self._settings.peers or ()))
            state.since = self._since
        return state
