"""The curator: takes everybody's votes in, and gives each client one object per round.

Source      Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
            (2015), p-REC_sim (D = R = 0) and p-REC.
Runs at     the platform, which is trusted.
Sees        all votes, and what clients say.
Releases    to each client the objects recommended to her, and with them when her gate closed.
Guarantee   `PRec.guarantees`; a voter's whole history, from clients.
Deviations  sound: a gate before each round takes the place of the promise that P peers exist; once
            it is shut, uniform for ever. Silence counts as a dislike. Rounds may have fewer
            objects; voters may abstain, come and go (docs: p-REC, with the proofs).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms.running import Running
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.recommenders.prec import guarantees
from tacit.recommenders.prec.blocks import CLIENTS, Block
from tacit.recommenders.prec.gate import Gate
from tacit.recommenders.prec.law import uniform
from tacit.recommenders.prec.records import Entry, Transcript
from tacit.recommenders.prec.settings import PRecSettings
from tacit.recommenders.prec.voters import Id, Voters, Votes, pairs, places, plain_id

Counts = NDArray[np.int64]


@dataclass(eq=False)
class Run:
    """One client's run. seat: block and place in it; entries: her transcript.

    waiting: no round has been open with her yet, so her electorate is not fixed. replayed: answers
    were put in from outside, so that this gate is not the one that let them pass.
    """

    seat: tuple[int, int]
    gate: Gate | None
    entries: list[Entry] = field(default_factory=list)
    waiting: bool = False
    replayed: bool = False

    @property
    def stopped(self) -> bool:
        return self.gate is not None and self.gate.stopped


class PRec(Running):
    """Recommends from other people's votes, round after round, without revealing any voter.

    randomness: `tacit.randomness.secure()`, or a replayed source in a simulation. The gate's noise
    is always the system's. One run exists once: it cannot be copied, a forked process is refused,
    and after `save` only the file goes on.
    """

    def __init__(self, settings: PRecSettings, *, randomness: Source) -> None:
        super().__init__()
        self.settings = settings
        self.source = randomness
        self.plan = settings.plan if settings.gated else None
        self.number = int(randomness.words(1)[0])  # of this run; only abstainers' votes need it
        self.round = 0
        self.begun = 0
        self._law = settings.law
        self._voters = Voters(settings.voters)
        self._blocks: list[Block] = []
        self._free: list[tuple[int, int]] = []
        self._runs: dict[Id, Run] = {}
        self._left: set[Id] = set()
        self._candidates: tuple[Id, ...] = ()
        self._votes: Votes = np.zeros(0, dtype=np.uint16)
        self._electorate: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._handed_over = False

    @property
    def candidates(self) -> tuple[Id, ...]:
        """Of the open round, in the order given; empty before the first."""
        return self._candidates

    # Voters

    def join_voters(self, voters: Iterable[Any]) -> None:
        """They count from the next round on, for clients who join then or later."""
        with self._turn():
            self._voters.join(voters)

    def leave_voters(self, voters: Iterable[Any]) -> None:
        """They count for nobody from the next round on. Who comes back is a new voter."""
        with self._turn():
            self._voters.leave(voters)

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        """Close the round that is open and open the next.

        candidates: their ids, at least one and at most `objects`. votes: voter id to candidate id,
        or two aligned columns (voters, candidates). A voter who never joined joins now; a voter
        who is left out abstains and is given a vote, by a rule that looks at nobody's.
        """
        with self._turn():
            place = places(candidates, self.settings.objects)
            voters, chosen = pairs(votes)
            numbers = _numbers(chosen, place)
            self._voters.join(voters)
            fresh = self._voters.default(self.number, self.round + 1, len(place))
            fresh[self._voters.rows(voters)] = numbers
            self._close()
            self._advance(tuple(place), fresh)

    # Clients

    def join(self, client: Any) -> None:
        """Begin a client's run: `epsilon` for one more view of the same votes.

        Her electorate, fixed for good, are the voters of the round that is open, or of the first.
        """
        with self._turn():
            self._join(plain_id(client))

    def leave(self, client: Any) -> None:
        """End a client's run. Nothing is refunded, and the same id cannot begin another."""
        with self._turn():
            name = plain_id(client)
            run = self._known(name)
            self._blocks[run.seat[0]].answers.pop(run.seat[1], None)
            self._free.append(run.seat)
            self._left.add(name)
            del self._runs[name]

    def recommend(self, client: Any) -> Id:
        """The client's candidate of this round. Asked again, the same; a new client joins first."""
        with self._turn():
            name = plain_id(client)
            if name not in self._runs:
                self._join(name)
            run = self._runs[name]
            if (given := self._given(run)) is not None:
                return given.candidate
            self._check_servable(name, run)
            chosen = self._candidates[self._choose(run)]
            run.entries.append(Entry(self.round, chosen, None))
            return chosen

    def feedback(self, client: Any, liked: bool) -> None:
        """What the client says of this round's recommendation, once.

        Who says nothing until the next round opens is taken to have disliked it.
        """
        with self._turn():
            name = plain_id(client)
            run = self._known(name)
            given = self._given(run)
            if given is None:
                raise ConfigError(f"Client {name!r} was recommended nothing in this round.")
            if given.liked is not None:
                raise ConfigError(f"Client {name!r} has already said so in this round.")
            if not isinstance(liked, bool | np.bool_):
                raise DataError("feedback is True or False", found=liked)
            run.entries[-1] = Entry(self.round, given.candidate, bool(liked))

    def record(self, client: Any, candidate: Any) -> None:
        """Put in what another curator recommended in this round: nothing is drawn or released.

        For replaying a transcript. The client cannot be served by this curator afterwards, since
        its gate is not the one that let the recommendation pass.
        """
        with self._turn():
            name, chosen = plain_id(client), plain_id(candidate)
            if name not in self._runs:
                self._join(name)
            run = self._runs[name]
            if self._given(run) is not None:
                raise ConfigError(f"Client {name!r} has a recommendation of this round already.")
            if chosen not in self._candidates:
                raise DataError("no candidate of this round", found=chosen)
            run.replayed = True
            run.entries.append(Entry(self.round, chosen, None))

    def transcript(self, client: Any) -> Transcript:
        """What a client was recommended and said: her view, and all that it depends on her for."""
        return tuple(self._known(plain_id(client)).entries)

    def stopped(self, client: Any) -> bool:
        """Whether the client's gate is shut, so that she is served uniformly; this is public."""
        return self._known(plain_id(client)).stopped

    def counts(self, client: Any) -> Counts:
        """(candidates,) votes that count for a client in this round. Never to be released."""
        run = self._known(plain_id(client))
        return self._tallies(run)[0]

    def credit_left(self, client: Any) -> int:
        """Total credit of the voters who count for a client. Never to be released."""
        return self._tallies(self._known(plain_id(client)))[1]

    def guarantees(self) -> tuple[Guarantee, ...]:
        """One card for one client's view, one for those priced together, one for all if bounded."""
        return guarantees.cards(self.settings, private=self.source.private)

    # Inside

    def _turn(self) -> _Turn:
        return _Turn(self)

    def _join(self, name: Id) -> None:
        if name in self._runs:
            raise ConfigError(f"Client {name!r} has joined already.")
        if name in self._left:
            raise PrivacyError(
                f"Client {name!r} has left. Beginning anew would be a second view of the same "
                "votes, which costs what the first did. Whoever means it takes another id."
            )
        if self.settings.clients is not None and self.begun >= self.settings.clients:
            raise PrivacyError(
                f"This server was set up for {self.settings.clients} clients' runs, all of which "
                "have begun; another would cost more than is promised for them together."
            )
        self.begun += 1
        run = Run(self._seat(), self._gate(), waiting=True)
        self._runs[name] = run
        if self.round:
            self._enrol(run)

    def _gate(self) -> Gate | None:
        if self.plan is None:
            return None
        return Gate.opened(epsilon=self.plan.gate, threshold=self.plan.threshold)

    def _seat(self) -> tuple[int, int]:
        if not self._free:
            settings, number = self.settings, len(self._blocks)
            rows = len(self._votes)
            self._blocks.append(Block(rows, diversity=settings.diversity, radius=settings.radius))
            self._free = [(number, place) for place in reversed(range(CLIENTS))]
        return self._free.pop()

    def _enrol(self, run: Run) -> None:
        block, place = run.seat
        self._blocks[block].enrol(place, self._electorate)
        run.waiting = False

    def _known(self, name: Id) -> Run:
        if name not in self._runs:
            raise ConfigError(f"No client {name!r} has joined.")
        return self._runs[name]

    def _given(self, run: Run) -> Entry | None:
        """What the client was given in the round that is open."""
        if self.round == 0:
            raise ConfigError("No round is open: call open_round(candidates, votes) first.")
        last = run.entries[-1] if run.entries else None
        return last if last is not None and last.round == self.round else None

    def _check_servable(self, name: Id, run: Run) -> None:
        if run.replayed:
            raise PrivacyError(
                f"Client {name!r} was replayed. Her gate is not the one that let the recorded "
                "recommendations pass, so a further one would not be covered by its epsilon."
            )
        if len(run.entries) >= self.settings.rounds:
            raise PrivacyError(
                f"Client {name!r} has had all {self.settings.rounds} recommendations that the "
                "guarantee is computed for."
            )

    def _choose(self, run: Run) -> int:
        """The order matters: nothing that depends on votes happens before the gate has spoken."""
        if run.stopped:
            return uniform(len(self._candidates), self.source)
        counts, credit = self._tallies(run)
        if run.gate is not None and run.gate.stops_at(credit // self.settings.credit):
            return uniform(len(self._candidates), self.source)
        return self._law.draw(counts, self.source)

    def _tallies(self, run: Run) -> tuple[Counts, int]:
        block, place = run.seat
        tally, credit = self._blocks[block].counts(self._votes, len(self._candidates))
        return tally[place], int(credit[place])

    def _close(self) -> None:
        """Hand the answers of the round that is open to the blocks; silence is a dislike."""
        place = {candidate: at for at, candidate in enumerate(self._candidates)}
        for run in self._runs.values():
            last = run.entries[-1] if run.entries else None
            if last is None or last.round != self.round or run.stopped:
                continue  # once the gate is shut, nobody counts
            block, seat = run.seat
            self._blocks[block].answers[seat] = place[last.candidate], bool(last.liked)

    def _advance(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        rows, last = len(self._voters), self._votes
        if rows > len(last):
            last = np.pad(last, (0, rows - len(last)))
            for block in self._blocks:
                block.grow(rows)
        present = self._voters.present.copy()
        if self.round and not present[: len(self._electorate)][self._electorate].all():
            for block in self._blocks:
                block.drop(present)
        for block in self._blocks:
            block.turn(last, len(self._candidates), votes, len(candidates))
        self._votes, self._candidates, self._electorate = votes, candidates, present
        self.round += 1
        for run in self._runs.values():
            if run.waiting:
                self._enrol(run)


class _Turn:
    """One call at a time, in the process that began the run, and only until it is handed over."""

    def __init__(self, server: PRec) -> None:
        self._server = server

    def __enter__(self) -> None:
        server = self._server
        server._check_process()
        if server._handed_over:
            raise PrivacyError(
                "This run was saved and goes on in its file: PRec.load(path). Going on in two "
                "places would answer the same rounds twice."
            )
        server._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._server._lock.release()


def _numbers(chosen: list[Any], place: dict[Id, int]) -> Votes:
    """Places of what was voted for."""
    try:
        return np.array([place[plain_id(candidate)] for candidate in chosen], dtype=np.uint16)
    except KeyError as error:
        raise DataError(
            "a vote is for no candidate of this round",
            found=error.args[0],
            expected="one of the candidates, or no vote at all",
        ) from None
