"""A run of p-REC at the service: people vote, and people get recommendations from the votes.

Runs at    the platform, which is trusted with all votes.
Sees       votes, and clients' answers to recommendations.
Releases   to each client one candidate of each round, and whether their gate is shut.
Charges    the run's own budget, once, when the run begins, with the epsilon and delta of all
           clients together, which the last card states. A second run needs another name, and has
           its own budget.
Stores     the run in the ledger, in one transaction with each answer. If the transaction is undone,
           so is the change of the run, and the step is repeated with new noise; nobody saw the
           first draw. So no noise is used for two answers, and nobody gets two different answers
           to one request. Stored answers are never deleted, so the answer to a vote contains only
           the round's number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit.designs.prec import Plan, PRec, PRecSettings, cards
from tacit.designs.prec.serve.steps import (
    NUMBER_BYTES,
    GivenRounds,
    RoundsState,
    RoundSteps,
    is_among,
)
from tacit.designs.prec.voters import index_candidates
from tacit.engine.votes import CLIENTS, make_empty_credits
from tacit.errors import ConfigError, DataError, ModelFileError
from tacit.ledger import Balance, Cap, Charge, Cost, Holder, KeyReused, Request, canonical
from tacit.ledger.amounts import ATTO, MICRO
from tacit.privacy import Guarantee
from tacit.randomness import Source, secure
from tacit.service.idempotency import add_salt, remove_salt, thing_state_name
from tacit.service.problems import Problem
from tacit.service.served_things import PersonalState, Section, ServedThing
from tacit.service.service import Service
from tacit.service.setting_tables import TOML, setting
from tacit.service.strict_json import RefusedContent, parse_json

MOST_BYTES_OF_VOTERS = 8 * 2**20
"""The most bytes that voters may need in a run's state, which is written with every answer. What
clients were recommended and answered comes on top (`MOST_BYTES_OF_CLIENTS`)."""
MOST_BYTES_OF_CLIENTS = 8 * 2**20
"""The most bytes that recommendations and answers of all clients may need in a run's state."""
_BYTES_OF_NAME_AND_VOTE = 150
"""Approximate bytes of a voter's name, number and vote in the state."""
_BYTES_OF_ENTRY = 20
"""Approximate bytes of one recommendation and its answer in the state: two numbers and a word."""
DEMO_ROUNDS = 12
"""Rounds of the demonstration, for which votes are generated."""
DEMO_OBJECTS = 3
"""Candidates of each round of the demonstration."""
DEMO_VOTERS = 1000
"""The most people who may vote in the demonstration."""
_DEMO_SECTION = f"""[rounds.films]
rounds = {DEMO_ROUNDS}
objects = {DEMO_OBJECTS}
voters = {DEMO_VOTERS}
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
    """The lines of [rounds.NAME]: the fields of `PRecSettings`, and a file of votes."""

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
        "the probability by which any event may exceed this bound",
        PRecSettings.delta,
        refused="0 or less, 1 or more",
    )
    clients_together: int = setting(
        "people whose views the guarantee counts together", PRecSettings.clients_together
    )
    peers: int | None = setting(
        "the least number of voters among whom one voter is hidden",
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
        "a JSON file of rounds with their candidates and votes",
        None,
        default_text="none",
        refused="more voters in all rounds than `voters`",
    )


@dataclass(frozen=True)
class ServedRounds(ServedThing):
    """A run of p-REC that is served: its settings, budget, cards and steps."""

    SETTINGS: ClassVar = RoundsSettings

    tenant: str
    """Name of the tenant whose people vote and are served."""
    name: str
    """Name of the run: of its section [rounds.NAME]."""
    settings: PRecSettings
    """Settings of the run."""
    given: GivenRounds = field(default=(), repr=False)
    """Candidates and votes of the rounds in the section's file of votes, in order. If an operator
    opens round k without naming or having announced candidates, the k-th of these is opened."""
    plan: Plan | None = None
    """Plan of the gates of a stored run, which another version of tacit may have begun; None for
    `settings.plan`."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Make the served run from the section's lines, which are those of `RoundsSettings`.

        Raises:
            ConfigError: A line is not valid, a run with these settings cannot be served, or the
                file of votes is not a list of rounds.
        """
        choices = asdict(section.read_settings(RoundsSettings))
        del choices["votes"]
        settings = PRecSettings(**choices)
        _check_served(section.name, settings)
        served = cls(section.tenant, section.name, settings, _read_given_rounds(section, settings))
        served.steps.warm()
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """Yield the holder of the run's own budget, and the budget; the run spends all of it.

        The budget of a stored run is open already, with the cap that its first version gave it, and
        is not yielded.
        """
        if self.plan is None:
            yield self._holder, Cap(self._cost.unit, self._cost.amount, self._cost.delta)

    def check_balances(self, balances: Iterable[Balance]) -> None:
        """Check that the run's budget covers what the cards state.

        Raises:
            ConfigError: Another version of tacit began the run, and by the bounds of this version
                it costs more than its budget.
        """
        for balance in balances:
            if balance.holder != self._holder:
                continue
            cost, cap = self._cost, balance.cap
            if cost.amount > cap.amount or cost.delta > cap.delta:
                raise ConfigError(
                    f"{TOML}: rounds.{self.name} began with another version of tacit. By the "
                    f"bounds of this version it costs {_cost_text(cost)}, more than the "
                    f"{_cost_text(cap)} of its budget. Continue it with the version that began it: "
                    "a new run under another name would cost its voters epsilon and delta again."
                )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the cards of the run, the last of which is for all clients together.

        To the cards of `PRec` an assumption is added: about the numbers by which the run knows
        voters (`steps.py`). By the union bound, two of n voters have the same number of b bits with
        a probability below n^2 / 2^(b + 1).
        """
        voters = self.settings.voters
        bits = 8 * NUMBER_BYTES
        # 10^exponent >= voters^2 / 2^(bits + 1)
        exponent = math.ceil(2 * math.log10(voters) - (bits + 1) * math.log10(2))
        assumption = (
            "each voter's number is a function of the run and of their name alone: HMAC-SHA256 "
            f"under the run's key of 256 bits, cut to {bits}. The key is secret and HMAC-SHA256 is "
            f"a pseudo-random function, so that two of {voters} voters have the same number with a "
            f"chance below 1e{exponent}, which is not part of delta; if this happens, no further "
            "round is opened"
        )
        return tuple(
            replace(card, assumptions=(*card.assumptions, assumption))
            for card in cards(self.settings, plan=self.plan)
        )

    def describe_releases(self) -> str:
        """Describe the releases that cannot be taken back, for a person who is being forgotten."""
        return (
            f"recommendations that were given in the rounds {self.name}, which your votes may have "
            "changed as far as the stated epsilon allows"
        )

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """Return the one state with data of a person, and how the person is forgotten in it.

        Args:
            user: The person's name.
        """
        forgotten = (
            f"in the rounds {self.name}: your votes that were not counted yet, also those in "
            "later rounds of the operator's file; your name on votes that were counted (from the "
            "next round on, these votes change nobody's recommendations any more); your "
            "recommendations, and your answers to them. Your name is still stored if you voted, "
            "got recommendations or have votes in later rounds of that file: who joins twice sees "
            "the others' votes twice, which costs them privacy twice"
        )

        def forget(source: Source, state: bytes | None) -> bytes | None:
            next_state = self.steps.forget_person(user, source, remove_salt(state))
            return None if next_state is None else add_salt(source, next_state)

        return (PersonalState(self.state_name, forgotten, forget),)

    @cached_property
    def steps(self) -> RoundSteps:
        """The steps of the run."""
        return RoundSteps(self.settings, self.given)

    @property
    def state_name(self) -> str:
        """Name of the run's state in the ledger."""
        return thing_state_name("rounds", self.tenant, self.name)

    def begin(self, service: Service) -> None:
        """Charge the run's budget and begin the run. If it has begun, nothing changes.

        Raises:
            Problem: The run of this name began with other settings (status 409).
        """
        settings = canonical({"settings": self.settings.to_header()})
        try:
            service.ledger.release(
                Request(self.tenant, "service", f"begin {self.state_name}", "once", settings),
                [Charge(self._holder, self._cost)],
                lambda source, _: (b"", add_salt(source, self.steps.begin(source))),
                state=f"{self.tenant}/{self.state_name}",
            )
        except KeyReused:
            message = (
                "The run of this name began with other settings. Give the new run another name."
            )
            raise Problem(409, message) from None

    def continue_stored(self, read_state: Callable[[str], bytes | None]) -> Self:
        """Return the served run with the plan of the stored run of this name, if there is one.

        Args:
            read_state: Returns the stored state of a name; None if there is none.

        Raises:
            ConfigError: It began with other settings, or cannot be continued.
        """
        state = remove_salt(read_state(self.state_name))
        if state is None:
            return self
        try:
            stored_run = RoundsState.decode(state)
            changed = stored_run.changed_settings(self.settings)
            if changed:
                raise ConfigError(
                    f"{TOML}: rounds.{self.name} began with other settings ({', '.join(changed)}), "
                    "and what was promised to its voters is for the whole run. Put them back, or "
                    "give the new run another name: it has a budget of its own, and for people who "
                    "voted in this run it costs epsilon and delta again."
                )
            run = PRec.from_bytes(stored_run.run, settings=self.settings, randomness=secure())
        except ModelFileError as error:
            raise ConfigError(
                f"{TOML}: rounds.{self.name} cannot be continued: {error} A new run needs another "
                "name and has a budget of its own, and for voters of this run it costs epsilon and "
                "delta again."
            ) from None
        return replace(self, plan=run.plan)

    def describe(self, state: bytes | None) -> dict[str, Any]:
        """Describe the run and its open round as JSON values.

        The description has the settings' limits on people, but no count of those who take part,
        and nothing that depends on votes.

        Args:
            state: The stored state of the run; None if it has not begun.
        """
        stored_run = RoundsState(b"", b"") if state is None else RoundsState.decode(state)
        settings = self.settings
        return {
            "name": self.name,
            "rounds": settings.rounds,
            "objects": settings.objects,
            "voters": settings.voters,
            "diversity": settings.diversity,
            "radius": settings.radius,
            "clients": settings.clients,
            "round": stored_run.number,
            "candidates": list(stored_run.candidates),
            "announced": list(stored_run.announced),
            "guarantee": self.guarantees()[0].sentence,
            "together": self.guarantees()[-1].sentence,
        }

    @property
    def _holder(self) -> Holder:
        """Holder of the run's budget in the ledger."""
        return Holder.dataset(self.tenant, f"rounds-{self.name}")

    @cached_property
    def _cost(self) -> Cost:
        """Cost of all clients' views together.

        Raises:
            ConfigError: The delta of all clients together reaches 1, so that no card states it.
        """
        card = self.guarantees()[-1]
        if card.lifetime_epsilon is None or card.lifetime_delta is None:
            raise ConfigError(
                f"{TOML}: rounds.{self.name} has {self.settings.clients} clients, and by the "
                "bounds of this version of tacit their delta reaches 1 together, which promises "
                "nothing. Continue the run with the version that began it, or begin a run of fewer "
                "clients under another name."
            )
        return Cost.approximate(card.lifetime_epsilon, card.lifetime_delta)


def _cost_text(cost: Cost | Cap) -> str:
    """Format epsilon and delta of a cost or a cap."""
    return f"epsilon {cost.amount / MICRO:.12g} and delta {cost.delta / ATTO:.12g}"


def _check_served(name: str, settings: PRecSettings) -> None:
    """Check that a run with these settings can be served.

    Raises:
        ConfigError: It is the published variant, has no finite epsilon, no plan, no bound on
            clients or too high a one, or its voters or its clients would need too many bytes.
    """
    if settings.variant == "published":
        raise ConfigError(
            f"{TOML}: {name} is the published variant, whose epsilon holds only if clients keep a "
            "promise. It is for reproducing the paper and is not served."
        )
    if settings.noiseless:
        raise ConfigError(f"{TOML}: {name} has no finite epsilon, so nobody would be protected.")
    if settings.clients is None or settings.clients * settings.plan.delta >= 1:
        raise ConfigError(
            f"{TOML}: {name}.clients is missing or too large. It is how many people are ever "
            "served, and the budget is for all of them together."
        )
    credit_of_voter = make_empty_credits(1, diversity=settings.diversity, radius=settings.radius)
    bytes_in_block = (
        credit_of_voter.alive.nbytes + credit_of_voter.both.nbytes + credit_of_voter.radius.nbytes
    )
    blocks = math.ceil(settings.clients / CLIENTS)
    bytes_per_voter = blocks * bytes_in_block + _BYTES_OF_NAME_AND_VOTE
    if settings.voters * bytes_per_voter > MOST_BYTES_OF_VOTERS:
        raise ConfigError(
            f"{TOML}: {name} needs {bytes_per_voter} bytes for each of {settings.voters} voters, "
            f"and the service stores at most {MOST_BYTES_OF_VOTERS} bytes for all voters of a run: "
            "take fewer voters or clients."
        )
    bytes_per_client = settings.rounds * _BYTES_OF_ENTRY
    if settings.clients * bytes_per_client > MOST_BYTES_OF_CLIENTS:
        raise ConfigError(
            f"{TOML}: {name} needs {bytes_per_client} bytes for the {settings.rounds} rounds of "
            f"each of {settings.clients} clients, and the service stores at most "
            f"{MOST_BYTES_OF_CLIENTS} bytes for all clients of a run: take fewer clients or rounds."
        )


def _read_given_rounds(section: Section, settings: PRecSettings) -> GivenRounds:
    """Read the rounds of the section's file of votes; none if the section names no such file.

    Raises:
        ConfigError: The file is not a list of rounds with candidates and votes for them, or a round
            has none or too many candidates, one that is named twice, or some that are whole numbers
            and others that are texts. Or the rounds together have more voters than the run may
            have, so that one of them could not be opened.
    """
    if "votes" not in section.values:
        return ()
    try:
        content = parse_json(section.file_path("votes").read_bytes())
        is_valid = isinstance(content, list)
        given = tuple((row["candidates"], row["votes"]) for row in content)
        for candidates, votes in given:
            is_valid = is_valid and isinstance(candidates, list) and isinstance(votes, dict)
            index_candidates(candidates, settings.objects)
            is_valid = is_valid and all(is_among(chosen, candidates) for chosen in votes.values())
    except (RefusedContent, DataError, KeyError, TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise ConfigError(
            f"{TOML}: {section.name}.votes is no list of rounds in JSON, each with 1 to "
            f"{settings.objects} candidates, all whole numbers or all texts, each once, and votes "
            'for them:  [{"candidates": [1, 2], "votes": {"ann": 1}}]'
        )
    _check_given_voters(section.name, settings, given)
    return tuple((tuple(candidates), votes) for candidates, votes in given)


def _check_given_voters(
    name: str, settings: PRecSettings, given: Iterable[tuple[Any, Mapping[str, Any]]]
) -> None:
    """Check that a run may have as many voters as the given rounds have together.

    Raises:
        ConfigError: They have more.
    """
    voters: set[str] = set()
    for number, (_, votes) in enumerate(given, 1):
        voters.update(votes)
        if len(voters) > settings.voters:
            raise ConfigError(
                f"{TOML}: round {number} of {name}.votes brings the run to {len(voters)} voters, "
                f"so it could not be opened: {name}.voters is {settings.voters}. Allow more, or "
                "leave out votes."
            )


def make_demo(folder: Path) -> str:
    """Write the demonstration's file of votes on films, and return its section of tacit.toml.

    Each generated person votes for the film of the round that they rated highest. In place of a
    rating that they did not give, the film's mean rating is taken.

    Args:
        folder: Folder of the demonstration's tacit.toml, where the file is written.
    """
    from tacit.service.demo_data import ITEMS, population

    matrix = population().matrix.toarray()  # (people, films) stars, 0 where a film was not rated
    means = matrix.sum(axis=0) / np.maximum(np.count_nonzero(matrix, axis=0), 1)
    stars = np.where(matrix > 0, matrix, means)
    # Columns of the films that are candidates, a row for each round
    films = np.random.default_rng(1).permutation(ITEMS)[: DEMO_ROUNDS * DEMO_OBJECTS]
    rounds = []
    for candidates in films.reshape(DEMO_ROUNDS, DEMO_OBJECTS):
        film_ids = candidates + 1  # films are numbered from 1
        best_films = film_ids[stars[:, candidates].argmax(axis=1)].tolist()
        votes = {f"generated-{person}": film for person, film in enumerate(best_films, 1)}
        rounds.append({"candidates": film_ids.tolist(), "votes": votes})
    (folder / "films.votes.json").write_text(json.dumps(rounds))
    return _DEMO_SECTION
