"""Rounds of p-REC as they are served: people vote, and others are recommended what was voted for.

Runs at    the platform, which is trusted with all votes.
Sees       votes, and what clients say of their recommendations.
Releases   to each client one candidate of each round, and whether their gate is shut.
Charges    the run's own budget, once, with what all clients together can ever learn: when the run
           begins. Its epsilon and delta are on the last card. A second run is another name.
Keeps      the run in the ledger, in one transaction with each answer. If that is undone, so is the
           run, and the step is done again with fresh noise: what was drawn was shown to nobody. So
           no noise is used twice, and nobody is answered twice.
           Answers are kept for ever, as everywhere: of a vote it says which round it was for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit.designs.prec import PRec, PRecSettings, cards
from tacit.designs.prec.serve.steps import (
    NUMBER_BYTES,
    GivenRounds,
    RoundsState,
    RoundSteps,
    is_among,
)
from tacit.engine.votes import CLIENTS, no_credits
from tacit.errors import ConfigError, ModelFileError
from tacit.ledger import Cap, Charge, Cost, Holder, KeyReused, Request, canonical
from tacit.privacy import Guarantee
from tacit.randomness import Source, secure
from tacit.service.idempotency import add_salt, remove_salt, thing_state_name
from tacit.service.problems import Problem
from tacit.service.served_things import PersonalState, Section, ServedThing
from tacit.service.service import Service
from tacit.service.setting_tables import TOML, setting
from tacit.service.strict_json import RefusedContent, parse_json

LARGEST_STATE = 8 * 2**20
"""Bytes of a run: it is written with every answer."""
_NAMES = 150
"""Bytes of a voter's name, number and vote, about."""
ROUNDS = 12
OBJECTS = 3
PEOPLE = 1000
_DEMO = f"""[rounds.films]
rounds = {ROUNDS}
objects = {OBJECTS}
voters = {PEOPLE}
clients = 20
clients_together = 20
epsilon = 20
delta = 1e-5
diversity = 2
radius = 2
votes = "films.votes.json"
"""


@dataclass(frozen=True, kw_only=True)
class RoundsSettings:
    """The lines of [rounds.NAME]: those of `PRecSettings`, and given votes."""

    rounds: int = setting("recommendations of one person, at most", unit="rounds")
    objects: int = setting("candidates of one round, at most", refused="below 2")
    voters: int = setting("people who vote, at most", unit="people")
    clients: int | None = setting(
        "people who get recommendations, over the whole run",
        None,
        unit="people",
        default_text="none: it has to be given",
        refused="missing, below `clients_together`, or so many that delta reaches 1",
    )
    epsilon: float | None = setting(
        "privacy loss by what `clients_together` people see together, at most",
        None,
        unit="nats",
        default_text="as `peers` gives it",
        refused="infinite",
    )
    delta: float = setting(
        "the probability that this bound fails", PRecSettings.delta, refused="0 or less, 1 or more"
    )
    clients_together: int = setting(
        "people whose views the guarantee counts together", PRecSettings.clients_together
    )
    peers: int | None = setting(
        "the least number of voters that one is hidden among",
        None,
        default_text="as epsilon needs it",
    )
    diversity: int = setting(
        "rounds in which one person likes more than one candidate", PRecSettings.diversity
    )
    radius: int = setting("disliked candidates that a peer may vote for", PRecSettings.radius)
    variant: str = setting(
        "the variant of the algorithm", PRecSettings.variant, refused="`published`"
    )
    votes: str | None = setting(
        "a JSON file of rounds with their candidates and votes", None, default_text="none"
    )


@dataclass(frozen=True)
class ServedRounds(ServedThing):
    """One run as it is served."""

    SETTINGS: ClassVar = RoundsSettings

    tenant: str
    """Who is served."""
    name: str
    """Name of its section."""
    settings: PRecSettings
    """Settings of the run."""
    given: GivenRounds = field(default=(), repr=False)
    """Rounds whose candidates and votes came with the deployment, in their order: an `open` that
    names nothing takes the next one."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Read what is served from the lines of `RoundsSettings`.

        Raises:
            ConfigError: The section names what is not served.
        """
        choices = asdict(section.read_settings(RoundsSettings))
        del choices["votes"]
        settings = PRecSettings(**choices)
        _check_served(section.name, settings)
        served = cls(section.tenant, section.name, settings, _read_given_rounds(section, settings))
        served.steps.warm()
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """Yield the run's own budget, which its beginning spends whole."""
        yield self._holder, Cap(self._cost.unit, self._cost.amount, self._cost.delta)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return a card for one client's view, and one for all clients together."""
        voters = self.settings.voters
        bits = 8 * NUMBER_BYTES
        exponent = math.ceil(2 * math.log10(voters) - (bits + 1) * math.log10(2))
        numbered = (
            "each voter's number is a function of the run and of their name alone: HMAC-SHA256 "
            f"under the run's key of 256 bits, cut to {bits}. The key is secret and HMAC-SHA256 is "
            f"a pseudo-random function, so that two of {voters} voters have one number with a "
            f"chance below 1e{exponent}, which is not in delta; then no further round is opened"
        )
        return tuple(
            replace(card, assumptions=(*card.assumptions, numbered))
            for card in cards(self.settings)
        )

    def describe_releases(self) -> str:
        """Say what nobody can take back."""
        return (
            f"recommendations of the rounds {self.name} that were given, which your votes may have "
            "moved as far as the stated epsilon allows"
        )

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """Yield the state in which a person is forgotten: votes and recommendations are one."""
        what = (
            f"in the rounds {self.name}: a vote that was not counted yet; the name on votes that "
            "were, which count for nobody from the next round on; what the run knew of your "
            "recommendations, and what you said of them. Kept is that you took part, since "
            "beginning anew would cost others again"
        )

        def forget(source: Source, state: bytes | None) -> bytes | None:
            new = self.steps.forget_person(user, source, remove_salt(state))
            return None if new is None else add_salt(source, new)

        return (PersonalState(self.state, what, forget),)

    @cached_property
    def steps(self) -> RoundSteps:
        """The steps of the run."""
        return RoundSteps(self.settings, self.given)

    @property
    def state(self) -> str:
        """Name of the run's state in the ledger."""
        return thing_state_name("rounds", self.tenant, self.name)

    def begin(self, service: Service) -> None:
        """Charge the run and begin it, once: later calls change nothing.

        Raises:
            Problem: Status 409; the run of this name has begun with other settings.
        """
        settings = canonical({"settings": self.settings.to_header()})
        try:
            service.ledger.release(
                Request(self.tenant, "service", f"begin {self.state}", "once", settings),
                [Charge(self._holder, self._cost)],
                lambda source, _: (b"", add_salt(source, self.steps.begin(source))),
                state=f"{self.tenant}/{self.state}",
            )
        except KeyReused:
            another = "The run of this name began with other settings. Name the new one anew."
            raise Problem(409, another) from None

    def check_stored_states(self, stored: Callable[[str], bytes | None]) -> None:
        """Check that the run of this name can go on.

        Raises:
            ConfigError: It began with other settings, or cannot go on.
        """
        state = remove_salt(stored(self.state))
        if state is None:
            return
        try:
            now = RoundsState.decode(state)
            others = now.other_settings(self.settings)
            if others:
                raise ConfigError(
                    f"{TOML}: rounds.{self.name} began with other settings ({', '.join(others)}), "
                    "and what was promised to its voters is for the whole run. Put them back, or "
                    "name the new run anew: it has a budget of its own."
                )
            PRec.from_bytes(now.run, settings=self.settings, randomness=secure())
        except ModelFileError as error:
            raise ConfigError(
                f"{TOML}: rounds.{self.name} cannot be gone on from: {error} Name a new run anew."
            ) from None

    def describe(self, state: bytes | None) -> dict[str, Any]:
        """Describe the run and how far it is, as JSON.

        No count of anybody is in it, and nothing that votes decided.
        """
        now = RoundsState(b"", b"") if state is None else RoundsState.decode(state)
        settings = self.settings
        return {
            "name": self.name,
            "rounds": settings.rounds,
            "objects": settings.objects,
            "voters": settings.voters,
            "diversity": settings.diversity,
            "radius": settings.radius,
            "clients": settings.clients,
            "round": now.number,
            "candidates": list(now.candidates),
            "announced": list(now.announced),
            "guarantee": self.guarantees()[0].sentence,
            "together": self.guarantees()[-1].sentence,
        }

    @property
    def _holder(self) -> Holder:
        return Holder.dataset(self.tenant, f"rounds-{self.name}")

    @cached_property
    def _cost(self) -> Cost:
        """Cost of all clients' views together."""
        everything = self.guarantees()[-1]
        assert everything.lifetime_epsilon is not None
        assert everything.lifetime_delta is not None
        return Cost.approximate(everything.lifetime_epsilon, everything.lifetime_delta)


def _check_served(name: str, settings: PRecSettings) -> None:
    """Refuse settings that are not served."""
    if settings.variant == "published":
        raise ConfigError(
            f"{TOML}: {name} is the published variant, which holds on a promise that only clients "
            "can keep. It is for reproducing the paper and is not served."
        )
    if settings.noiseless:
        raise ConfigError(f"{TOML}: {name} has no finite epsilon, so nobody would be protected.")
    if settings.clients is None or settings.clients * settings.plan.delta >= 1:
        raise ConfigError(
            f"{TOML}: {name}.clients is missing or too large. It is how many people are ever "
            "served, and the budget is for all of them together."
        )
    row = no_credits(1, diversity=settings.diversity, radius=settings.radius)
    planes = row.alive.nbytes + row.both.nbytes + row.radius.nbytes
    of_a_voter = math.ceil(settings.clients / CLIENTS) * planes + _NAMES
    if settings.voters * of_a_voter > LARGEST_STATE:
        raise ConfigError(
            f"{TOML}: {name} keeps {of_a_voter} bytes for each of {settings.voters} voters, and "
            f"at most {LARGEST_STATE} in all are served: take fewer voters or clients."
        )


def _read_given_rounds(section: Section, settings: PRecSettings) -> GivenRounds:
    """Read the rounds that came with the deployment; none where the section names no file."""
    if "votes" not in section.values:
        return ()
    try:
        rounds = parse_json(section.file_path("votes").read_bytes())
        given = tuple((tuple(row["candidates"]), dict(row["votes"])) for row in rounds)
        is_whole = isinstance(rounds, list)
        for candidates, votes in given:
            is_size = 0 < len(candidates) <= settings.objects
            are_cast = all(is_among(chosen, candidates) for chosen in votes.values())
            is_whole = is_whole and is_size and are_cast
    except (RefusedContent, KeyError, TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise ConfigError(
            f"{TOML}: {section.name}.votes is no list of rounds in JSON, each with its candidates "
            'and its votes:  [{"candidates": [1, 2], "votes": {"ann": 1}}]'
        )
    return given


def make_demo(folder: Path) -> str:
    """Write the votes of rounds about the generated films, and give their section.

    Each of the generated people votes for the film they like best. One that they did not rate
    counts as most people like it.
    """
    from tacit.service.demo_data import ITEMS, population

    matrix = population().matrix.toarray()  # 0 where a film was not rated
    means = matrix.sum(axis=0) / np.maximum(np.count_nonzero(matrix, axis=0), 1)
    stars = np.where(matrix > 0, matrix, means)
    films = np.random.default_rng(1).permutation(ITEMS)[: ROUNDS * OBJECTS]
    rounds = []
    for candidates in films.reshape(ROUNDS, OBJECTS):
        best = candidates[stars[:, candidates].argmax(axis=1)] + 1
        votes = {f"generated-{person}": film for person, film in enumerate(best.tolist(), 1)}
        rounds.append({"candidates": (candidates + 1).tolist(), "votes": votes})
    (folder / "films.votes.json").write_text(json.dumps(rounds))
    return _DEMO
