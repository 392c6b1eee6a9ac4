"""The curator: takes everybody's votes in, and gives each client one object per round.

Source      Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
            (2015), p-REC_sim (D = R = 0) and p-REC.
Runs at     the platform, which is trusted.
Sees        all votes, and what clients say.
Releases    to each client the objects recommended to them, and with them when their gate closed.
Guarantee   `guarantees.cards`; a voter's whole history, from clients.
Deviations  sound: a gate before each round takes the place of the promise that P peers exist; once
            it is shut, uniform for ever. Silence counts as a dislike. Rounds may have fewer
            objects; voters may abstain, come and go (docs: p-REC, with the proofs).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.clients import Entry, Run, Transcript
from tacit.designs.prec.files import ClientState, RunState, require
from tacit.designs.prec.output_distribution import uniform
from tacit.designs.prec.round import Block
from tacit.designs.prec.settings import PRecSettings
from tacit.designs.prec.voters import Id, Voters, candidate_index, plain_id, read_votes
from tacit.engine.votes import CLIENTS, Counts, Votes
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms.gate import GateRun
from tacit.mechanisms.runs import MechanismRun
from tacit.randomness import Source


class Curator(MechanismRun):
    """One run at the platform: votes come in, and each client is given one object per round.

    One run exists once: it cannot be copied, a forked process is refused, and after `save` only the
    file goes on. `candidates` are those of the open round.
    """

    def __init__(
        self, settings: PRecSettings, *, randomness: Source, number: int | None = None
    ) -> None:
        """Set up a run before its first round.

        Args:
            settings: Settings of the run.
            randomness: `tacit.randomness.secure()`, or a replayed source in a simulation. The
                gate's noise is always the system's.
            number: Number of the run, below 2^64, else drawn; only abstainers' votes follow from
                it.

        Raises:
            ConfigError: One of them is of another kind.
        """
        super().__init__()
        if not isinstance(settings, PRecSettings):
            raise ConfigError(f"The settings of a run are a PRecSettings(...); got {settings!r}.")
        if not hasattr(randomness, "words"):
            wanted = "randomness is a source, such as tacit.randomness.secure(); got"
            raise ConfigError(f"{wanted} {randomness!r}.")
        if number is not None and (type(number) is not int or not 0 <= number < 1 << 64):
            raise ConfigError(f"A run's number is a whole number below 2^64; got {number!r}.")
        self.settings = settings
        self.source = randomness
        self.plan = settings.plan if settings.has_gate else None
        self.number = int(randomness.words(1)[0]) if number is None else number
        self.round = 0
        self._law = settings.law
        self._voters = Voters(settings.voters)
        self._blocks: list[Block] = []
        self._free: list[tuple[Block, int]] = []  # places that no client has
        self._runs: dict[Id, Run] = {}
        self._left: set[Id] = set()
        self.candidates: tuple[Id, ...] = ()
        self._votes: Votes = np.zeros(0, dtype=np.uint16)
        self._electorate: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._handed_over = False

    @property
    def clients(self) -> tuple[Id, ...]:
        """Clients whose runs have begun and not ended, in that order."""
        return tuple(self._runs)

    @property
    def runs_begun(self) -> int:
        """How many runs have begun, ended ones among them."""
        return len(self._runs) + len(self._left)

    def join_voters(self, voters: Any) -> None:
        """Register voters; their votes count from the next round, for clients who join then."""
        with self._take_turn():
            self._voters.join(voters)

    def leave_voters(self, voters: Any) -> None:
        """Sign voters off; they count for nobody from the next round.

        A voter who comes back is a new one.
        """
        with self._take_turn():
            self._voters.leave(voters)

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        """Close the round that is open and open the next.

        Args:
            candidates: Their ids, at least one and at most `objects`.
            votes: Voter id to candidate id, or two aligned columns (voters, candidates). A voter
                who never joined joins now; a voter who is left out abstains and is given a vote, by
                a rule that looks at nobody's.

        Raises:
            DataError: A candidate or a voter is named twice, or a vote is for no candidate.
        """
        with self._take_turn():
            index = candidate_index(candidates, self.settings.objects)
            voters, places = read_votes(votes, index)
            rows = self._voters.admit(voters)
            cast = places
            if not isinstance(rows, slice):
                cast = self._voters.default_votes(self.number, self.round + 1, len(index.ids))
                cast[rows] = places
            self._advance(tuple(index.ids.tolist()), cast)

    def join(self, client: Any) -> None:
        """Begin a client's run: the plan's epsilon for one more view of the same votes.

        Their electorate, fixed for good, are the voters of the round that is open, or of the first.
        """
        with self._take_turn():
            self._join(plain_id(client))

    def leave(self, client: Any) -> None:
        """End a client's run. Nothing is refunded, and the same id cannot begin another."""
        with self._take_turn():
            name = plain_id(client)
            run = self._find_run(name)
            self._free.append((run.block, run.place))
            self._left.add(name)
            del self._runs[name]

    def recommend(self, client: Any) -> Id:
        """Recommend one candidate of this round; asked again, the same. A new client joins first.

        Raises:
            ConfigError: No round is open.
            PrivacyError: The client has had all recommendations, or was replayed, or has left.
        """
        with self._take_turn():
            name = plain_id(client)
            self._check_open()
            run = self._run_of(name)
            if run.replayed:
                raise PrivacyError(
                    f"Client {name!r} was replayed, and another gate would cost its epsilon again. "
                    "Serve them from the file of their run: PRec.load(path)."
                )
            given = run.entry_of(self.round)
            if given is None:
                if len(run.entries) >= self.settings.rounds:
                    raise PrivacyError(
                        f"Client {name!r} has had all {self.settings.rounds} recommendations that "
                        "the guarantee is computed for."
                    )
                given = Entry(self.round, self.candidates[self._choose(run)], None)
                run.entries.append(given)
            return given.candidate

    def feedback(self, client: Any, liked: bool) -> None:
        """Take the client's answer to this round's recommendation, once.

        A client who says nothing until the next round opens is taken to have disliked it.

        Raises:
            ConfigError: No round is open, nothing was recommended, or it was answered already.
            DataError: `liked` is neither True nor False.
        """
        with self._take_turn():
            name = plain_id(client)
            self._check_open()
            run = self._find_run(name)
            given = run.entry_of(self.round)
            if not isinstance(liked, bool | np.bool_):
                raise DataError("feedback is True or False", found=liked)
            if given is None:
                raise ConfigError(
                    f"Client {name!r} was recommended nothing in this round. Feedback is for what "
                    "recommend(client) gave since the round was opened."
                )
            if given.liked is not None:
                raise ConfigError(
                    f"Client {name!r} has given their feedback of this round. It is given once."
                )
            run.entries[-1] = Entry(self.round, given.candidate, bool(liked))

    def transcript(self, client: Any) -> Transcript:
        """Return the client's view so far."""
        return self._find_run(plain_id(client)).transcript

    def has_stopped(self, client: Any) -> bool:
        """Say whether the client's gate is shut, so that they are served uniformly.

        This is public.
        """
        return self._find_run(plain_id(client)).stopped is not None

    # For audits: what the recommendations depend on. Never to be released
    def counts(self, client: Any) -> Counts:
        """Count the votes that count for a client in this round: (candidates,)."""
        return self._tallies(self._find_run(plain_id(client)))[0]

    def credit_left(self, client: Any) -> int:
        """Sum the credit of the voters who count for a client; their number where D = R = 0."""
        return self._tallies(self._find_run(plain_id(client)))[1]

    def survivors(self, client: Any) -> set[Id]:
        """Name the voters who count for a client in this round."""
        run = self._find_run(plain_id(client))
        counting = self._electorate
        if run.joined is not None:
            counting = run.block.counting_voters(run.place)
        return set(self._voters.ids[: len(counting)][counting].tolist())

    def votes(self) -> dict[Id, Id]:
        """Look up what counts as each voter's vote in the open round, also where they abstain."""
        ids = self._voters.ids[: len(self._votes)][self._electorate]
        chosen = [self.candidates[place] for place in self._votes[self._electorate]]
        return dict(zip(ids.tolist(), chosen, strict=True))

    def put_in(self, client: Any, entry: Entry, *, has_stopped: bool) -> None:
        """Record what another curator of this run recommended in the open round.

        Args:
            client: Has joined; they are served no recommendation here from now on.
            entry: Entry of the open round, without an answer.
            has_stopped: Whether the client's gate was shut by then.
        """
        with self._take_turn():
            run = self._find_run(plain_id(client))
            run.replayed = True
            if has_stopped:
                run.stopped = run.stopped or self.round
            run.entries.append(entry)

    def state(self) -> RunState:
        """Return all of the run as a frozen value; voters who left are nameless in it."""
        ids = self._voters.ids.copy()
        ids[~self._voters.present] = 0 if ids.dtype != object else ""
        clients = {}
        for name, run in self._runs.items():
            drawn = None if run.gate is None else run.gate.noisy_threshold
            block = self._blocks.index(run.block)
            seen = run.transcript
            clients[name] = ClientState(block, run.place, drawn, run.replayed, seen, run.passed)
        return RunState(
            settings=self.settings,
            plan=self._gate_numbers(),
            number=self.number,
            round=self.round,
            begun=self.runs_begun,
            candidates=self.candidates,
            clients=clients,
            left=frozenset(self._left),
            voters=ids,
            present=self._voters.present,
            votes=self._votes,
            electorate=self._electorate,
            blocks=tuple(block.credit for block in self._blocks),
        )

    def restore(self, state: RunState) -> None:
        """Go on from a state of this run.

        Raises:
            ValueError: The state is of another division of epsilon, or counts other runs.
        """
        is_same = state.plan == self._gate_numbers()
        require(is_same, "its gates were drawn for another division of epsilon than this version's")
        self.round = state.round
        self._voters.restore(state.voters, state.present)
        self._electorate = state.electorate
        self.candidates = state.candidates
        self._votes = state.votes
        self._blocks = [Block.of_credits(credit) for credit in state.blocks]
        self._left = set(state.left)
        self._runs = {name: self._restored_run(saved) for name, saved in state.clients.items()}
        taken = {(run.block, run.place) for run in self._runs.values()}
        self._free = []
        for block in reversed(self._blocks):
            for place in reversed(range(CLIENTS)):
                if (block, place) not in taken:
                    self._free.append((block, place))
        are_distinct = len(taken) == len(self._runs) and not self._left & set(self._runs)
        require(are_distinct, "its clients are not distinct")
        most = self.runs_begun if self.settings.clients is None else self.settings.clients
        is_counted = state.begun == self.runs_begun <= most
        require(is_counted, "it counts another number of runs than it holds")

    def _restored_run(self, saved: ClientState) -> Run:
        gate = None
        seen = saved.transcript
        if self.plan is not None:
            # Noise on counts that the saved run drew ahead was never used, and is drawn anew
            has_stopped = seen.stopped is not None
            gate = GateRun(
                self.plan.mechanism, noisy_threshold=saved.drawn, has_stopped=has_stopped
            )
        return Run(
            self._blocks[saved.block],
            saved.place,
            gate,
            seen.joined,
            list(seen.entries),
            seen.stopped,
            saved.passed,
            saved.is_replayed,
        )

    def _gate_numbers(self) -> tuple[float, ...] | None:
        """Return what the gates are drawn for; with other numbers they promise nothing."""
        plan = self.plan
        return None if plan is None else (plan.peers, plan.slack, plan.gate)

    @contextmanager
    def _take_turn(self) -> Iterator[None]:
        """Let one call at a time work, in the process that began the run.

        Raises:
            PrivacyError: The run was handed over.
        """
        self._check_process()
        with self._lock:
            if self._handed_over:
                raise PrivacyError(
                    "This run was saved and goes on in its file: PRec.load(path). Going on in two "
                    "places would answer the same rounds twice."
                )
            yield

    def _run_of(self, name: Id) -> Run:
        return self._runs[name] if name in self._runs else self._join(name)

    def _join(self, name: Id) -> Run:
        if name in self._runs:
            raise ConfigError(f"Client {name!r} has joined already.")
        if name in self._left:
            raise PrivacyError(
                f"Client {name!r} has left. Beginning anew would be a second view of the same "
                "votes, which costs what the first did. To vote again, use another id."
            )
        if self.settings.clients is not None and self.runs_begun >= self.settings.clients:
            raise PrivacyError(
                f"The settings' number of clients is {self.settings.clients}, and so many runs "
                "have begun; another would cost more than is promised for them together."
            )
        if not self._free:
            sizes = {"diversity": self.settings.diversity, "radius": self.settings.radius}
            self._blocks.append(Block(len(self._votes), **sizes))
            self._free = [(self._blocks[-1], place) for place in reversed(range(CLIENTS))]
        block, place = self._free.pop()
        run = Run(block, place, self._gate())
        self._runs[name] = run
        if self.round:
            self._enrol(run)
        return run

    def _gate(self) -> GateRun | None:
        return None if self.plan is None else self.plan.mechanism.start()

    def _enrol(self, run: Run) -> None:
        run.block.enrol(run.place, self._electorate)
        run.joined = self.round

    def _find_run(self, name: Id) -> Run:
        if name not in self._runs:
            raise ConfigError(f"No client {name!r} has joined.")
        return self._runs[name]

    def _check_open(self) -> None:
        if self.round == 0:
            raise ConfigError("No round is open: call open_round(candidates, votes) first.")

    def _choose(self, run: Run) -> int:
        """Choose a candidate's place.

        The order matters: nothing that depends on votes happens before the gate has spoken.
        """
        if run.stopped is None:
            counts, credit = self._tallies(run)
            if run.passes(self.round, credit // self.settings.credit):
                return self._law.draw(counts, self.source)
        place = uniform(len(self.candidates), self.source)
        run.stopped = run.stopped or self.round
        return place

    def _tallies(self, run: Run) -> tuple[Counts, int]:
        """Count the client's votes by candidate, and the credit that is left."""
        self._check_open()
        return run.block.counts(run.place, self._votes, len(self.candidates))

    def _charged_answer(self, run: Run) -> tuple[int, bool] | None:
        """Return place and liking of what is charged for; None where nothing is.

        Silence is a dislike; what a shut gate gave is free.
        """
        given = run.entry_of(self.round)
        if run.stopped is not None or given is None:
            return None
        return self.candidates.index(given.candidate), bool(given.liked)

    def _advance(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        """Charge for the answers of the round that closes, and open the next."""
        present = self._voters.present.copy()
        gone = self._electorate & ~present[: len(self._electorate)]
        new = len(present) - len(self._votes)
        last = np.append(self._votes, np.zeros(new, dtype=np.uint16))
        answers: dict[Block, dict[int, tuple[int, bool]]] = {block: {} for block in self._blocks}
        for run in self._runs.values():
            answer = self._charged_answer(run)
            if answer is not None:
                answers[run.block][run.place] = answer
        for block, answered in answers.items():
            block.make_room(len(present), present if gone.any() else None)
            block.advance(last, len(self.candidates), votes, len(candidates), answered)
        self._votes = votes
        self.candidates = candidates
        self._electorate = present
        self.round += 1
        for run in self._runs.values():
            if run.joined is None:
                self._enrol(run)
