"""The curator: receives everybody's votes, and recommends one object per round to each client.

Source      Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
            (2015), p-REC_sim (D = R = 0) and p-REC. `PRecSettings` names the
            letters m, P, D and R.
Runs at     the platform, which is trusted.
Sees        all votes, and clients' answers.
Releases    to each client the objects recommended to them, and the round in which their gate shut.
Guarantee   `guarantees.cards`: a voter's whole history is protected from clients.
Deviations  sound: a gate (`gate.py`), asked before each recommendation, replaces the promise that P
            peers exist; once it is shut, the client's recommendations are uniform. A missing answer
            counts as a dislike. Rounds may have fewer than m objects; voters may abstain, come and
            go (docs: p-REC, with the proofs).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.clients import Entry, JoinedClient, Transcript
from tacit.designs.prec.files import ClientState, RunState, require
from tacit.designs.prec.output_distribution import draw_uniformly
from tacit.designs.prec.round import Answer, Block, VoteCount
from tacit.designs.prec.settings import Plan, PRecSettings
from tacit.designs.prec.voters import Id, Voters, index_candidates, read_id, read_votes
from tacit.engine.votes import CLIENTS, Counts, Votes
from tacit.errors import ConfigError, DataError, ModelFileError, PrivacyError
from tacit.mechanisms.gate import GateRun
from tacit.mechanisms.runs import MechanismRun
from tacit.randomness import Source


class Curator(MechanismRun):
    """One run at the platform: votes come in, and each client is recommended one object per round.

    A run goes on in one place only. It cannot be copied, and calls that change it are refused in a
    forked process and after it was handed over (`PRec.save`, `PRec.to_bytes`).
    """

    def __init__(
        self, settings: PRecSettings, *, randomness: Source, number: int | None = None
    ) -> None:
        """Set up a run before its first round.

        Args:
            settings: Settings of the run.
            randomness: Source of all draws but the gate's noise, which always comes from the
                operating system: `tacit.randomness.secure()`, or a replayed source in a simulation.
            number: Number of the run, from 0 to 2^64 - 1; None to draw it from `randomness`. It
                affects only the votes of abstainers.

        Raises:
            ConfigError: An argument is not of the kind described here, or the sound variant with
                these settings has no plan (`PRecSettings.plan`).
        """
        super().__init__()
        if not isinstance(settings, PRecSettings):
            raise ConfigError(f"The settings of a run are a PRecSettings(...); got {settings!r}.")
        if not hasattr(randomness, "words"):
            raise ConfigError(
                f"randomness is a source, such as tacit.randomness.secure(); got {randomness!r}."
            )
        if number is not None and (type(number) is not int or not 0 <= number < 1 << 64):
            raise ConfigError(
                f"A run's number is a whole number from 0 to 2^64 - 1; got {number!r}."
            )
        self.settings = settings
        self.source = randomness
        """Source of all draws but the gate's noise."""
        self.plan = settings.plan if settings.has_gate else None
        """How one client's epsilon and delta are spent; None in runs without gates."""
        self.number = int(randomness.words(1)[0]) if number is None else number
        """Number of the run, on which the votes of abstainers depend."""
        self.round = 0
        """Number of the open round, from 1; 0 before the first."""
        self.candidates: tuple[Id, ...] = ()
        """Candidates of the open round."""
        self._distribution = settings.output_distribution
        self._voters = Voters(settings.voters)
        self._blocks: list[Block] = []
        """Credits of the voters with clients, 64 clients in each block."""
        self._free_slots: list[tuple[Block, int]] = []
        """Slots that no client has, each with its block; the last one is taken next."""
        self._client_by_id: dict[Id, JoinedClient] = {}
        """Clients who have joined and not left, in the order of joining."""
        self._clients_who_left: set[Id] = set()
        """Ids of the clients who left."""
        self._votes: Votes = np.zeros(0, dtype=np.uint16)
        """(rows,) position of the candidate that each voter votes for in the open round."""
        self._electorate: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        """(rows,) whether a voter belongs to the open round: all but those who had left before."""
        self._is_handed_over = False
        """Whether the run was handed over to a file or to bytes, where alone it can go on."""
        self._is_between_rounds = False
        """True from the start of opening a round to its end. If it stays True, an exception was
        raised in between."""

    @property
    def clients(self) -> tuple[Id, ...]:
        """Clients who have joined and not left, in the order of joining."""
        return tuple(self._client_by_id)

    @property
    def clients_joined(self) -> int:
        """How many clients have joined, including those who have left."""
        return len(self._client_by_id) + len(self._clients_who_left)

    def join_voters(self, voters: Any) -> None:
        """Register voters. From the next round on they belong to the electorates of new clients.

        Args:
            voters: Ids of the voters; those who are registered already stay so.

        Raises:
            DataError: An id is not valid, or there would be more than `settings.voters` voters.
        """
        with self._take_turn():
            self._voters.join(voters)

    def leave_voters(self, voters: Any) -> None:
        """Remove voters: from the next round on they count for no client.

        A voter who comes back is a new voter.

        Raises:
            DataError: One of them is not a voter.
        """
        with self._take_turn():
            self._voters.leave(voters)

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        """Close the open round, if there is one, and open the next.

        Args:
            candidates: Ids of the new round's candidates, 1 to `settings.objects` of them.
            votes: Mapping of voter id to candidate id, or two aligned columns (voters, candidates).
                A voter who has not joined yet joins now. A voter without a vote in it abstains, and
                gets a vote that depends on nobody's votes (`Voters.default_votes`).

        Raises:
            DataError: There are too few or too many candidates, or too many voters; a candidate or
                a voter is named twice; a vote is for none of the candidates; or an id is not valid.
        """
        with self._take_turn():
            index = index_candidates(candidates, self.settings.objects)
            voters, positions = read_votes(votes, index)
            rows = self._voters.find_or_add_rows(voters)
            if isinstance(rows, slice):
                votes_by_row = positions
            else:
                votes_by_row = self._voters.default_votes(
                    self.number, self.round + 1, len(index.ids)
                )
                votes_by_row[rows] = positions
            self._start_next_round(tuple(index.ids.tolist()), votes_by_row)

    def join(self, client: Any) -> None:
        """Let a client join. What they will see is one more view of the same votes.

        With a gate this costs the plan's epsilon and delta. The client's electorate are the voters
        of the open round, or of the first round if none is open yet. Nobody is added to the
        electorate later.

        Raises:
            ConfigError: The client has joined already.
            DataError: The id is not valid.
            PrivacyError: The client has left, or as many have joined as the settings allow.
        """
        with self._take_turn():
            self._admit_client(read_id(client))

    def leave(self, client: Any) -> None:
        """Let a client leave. No epsilon is refunded, and the same id cannot join again.

        Raises:
            ConfigError: No such client has joined.
            DataError: The id is not valid.
        """
        with self._take_turn():
            client_id = read_id(client)
            joined_client = self._find_client(client_id)
            self._free_slots.append((joined_client.block, joined_client.slot))
            self._clients_who_left.add(client_id)
            del self._client_by_id[client_id]

    def recommend(self, client: Any) -> Id:
        """Recommend one candidate of the open round to a client, who joins if they are new.

        A second call in the same round returns the same candidate without a draw.

        Raises:
            ConfigError: No round is open.
            DataError: The id is not valid.
            PrivacyError: The client has had all `settings.rounds` recommendations, has left, was
                replayed (`record_recommendation`), or is new although no further client may join.
        """
        with self._take_turn():
            client_id = read_id(client)
            self._check_open()
            if client_id in self._client_by_id:
                joined_client = self._client_by_id[client_id]
            else:
                joined_client = self._admit_client(client_id)
            if joined_client.is_replayed:
                raise PrivacyError(
                    f"Client {client_id!r} was replayed, and another gate would cost its epsilon "
                    "again. Serve them from the file of this run: PRec.load(path)."
                )
            entry = joined_client.entry_in_round(self.round)
            if entry is not None:
                return entry.candidate
            if len(joined_client.entries) >= self.settings.rounds:
                raise PrivacyError(
                    f"Client {client_id!r} has had all {self.settings.rounds} recommendations that "
                    "the guarantee is computed for."
                )
            candidate = self.candidates[self._choose(joined_client)]
            joined_client.entries.append(Entry(self.round, candidate, None))
            return candidate

    def feedback(self, client: Any, liked: bool) -> None:
        """Record the client's answer to this round's recommendation.

        A missing answer counts as a dislike once the next round opens.

        Args:
            client: A client who was recommended a candidate in the open round.
            liked: Whether they like it.

        Raises:
            ConfigError: No round is open, the client has not joined, nothing was recommended to
                them in this round, or they have answered already.
            DataError: The id is not valid, or `liked` is neither True nor False.
        """
        with self._take_turn():
            client_id = read_id(client)
            self._check_open()
            joined_client = self._find_client(client_id)
            entry = joined_client.entry_in_round(self.round)
            if not isinstance(liked, bool | np.bool_):
                raise DataError("feedback is True or False", found=liked)
            if entry is None:
                raise ConfigError(
                    f"Client {client_id!r} was recommended nothing in this round. Feedback is for "
                    "what recommend(client) returned since the round was opened."
                )
            if entry.liked is not None:
                raise ConfigError(
                    f"Client {client_id!r} has given their feedback on this round already, and it "
                    "is given once."
                )
            joined_client.entries[-1] = Entry(self.round, entry.candidate, bool(liked))

    def transcript(self, client: Any) -> Transcript:
        """Return what the client has been recommended and answered so far."""
        return self._find_client(read_id(client)).transcript

    def has_stopped(self, client: Any) -> bool:
        """Return whether the client's gate is shut, so that recommendations to them are uniform.

        The answer is part of the client's view, which the guarantee covers.
        """
        return self._find_client(read_id(client)).stopped_round is not None

    # The next four methods are for audits: their results are as secret as the votes. They raise
    # PrivacyError in a forked process.
    def counts(self, client: Any) -> Counts:
        """Count the votes that count for a client in the open round: (candidates,)."""
        with self._hold_lock():
            return self._count_votes(self._find_client(read_id(client))).votes

    def credit_left(self, client: Any) -> int:
        """Sum the credits of the voters who count for a client; with D = R = 0, their number."""
        with self._hold_lock():
            return self._count_votes(self._find_client(read_id(client))).credit_left

    def survivors(self, client: Any) -> set[Id]:
        """Return the ids of the voters who count for a client in the open round.

        Before the first round there are none. Voters who left since the round was opened still
        count in it (`credit_left`), but they are not in the set: a saved run does not hold their
        ids, and one who came back is a new voter of the same id.
        """
        with self._hold_lock():
            joined_client = self._find_client(read_id(client))
            if joined_client.joined_round is None:
                counts = self._electorate
            else:
                counts = joined_client.block.counting_voters(joined_client.slot)
            is_survivor = counts & self._voters.present[: len(counts)]
            return set(self._voters.ids[: len(counts)][is_survivor].tolist())

    def votes(self) -> dict[Id, Id]:
        """Return candidate id by voter id in the open round, with the votes given to abstainers.

        Voters who left since the round was opened are not in it, as in `survivors`.
        """
        with self._hold_lock():
            is_named = self._electorate & self._voters.present[: len(self._electorate)]
            voters = self._voters.ids[: len(self._votes)][is_named]
            chosen = [self.candidates[position] for position in self._votes[is_named]]
            return dict(zip(voters.tolist(), chosen, strict=True))

    def record_recommendation(self, client: Any, entry: Entry, *, has_stopped: bool) -> None:
        """Record what another curator of this run recommended to a client in the open round.

        From then on this curator makes no recommendations to the client.

        Args:
            client: A client who has joined.
            entry: The other curator's entry of the open round, without an answer.
            has_stopped: Whether the client's gate was shut in this round.

        Raises:
            ConfigError: No such client has joined.
        """
        with self._take_turn():
            joined_client = self._find_client(read_id(client))
            joined_client.is_replayed = True
            if has_stopped and joined_client.stopped_round is None:
                joined_client.stopped_round = self.round
            joined_client.entries.append(entry)

    def state(self) -> RunState:
        """Return the whole run as it is saved, with 0 or "" for the ids of voters who left.

        Its arrays, except that of ids, are the run's own, not copies: later calls may change them.
        """
        ids = self._voters.ids.copy()
        ids[~self._voters.present] = 0 if ids.dtype != object else ""
        clients = {}
        for client_id, client in self._client_by_id.items():
            clients[client_id] = ClientState(
                block=self._blocks.index(client.block),
                slot=client.slot,
                noisy_threshold=None if client.gate is None else client.gate.noisy_threshold,
                is_replayed=client.is_replayed,
                transcript=client.transcript,
                last_open_round=client.last_open_round,
            )
        return RunState(
            settings=self.settings,
            gate_parameters=self._gate_parameters(),
            number=self.number,
            round=self.round,
            clients_joined=self.clients_joined,
            candidates=self.candidates,
            clients=clients,
            clients_who_left=frozenset(self._clients_who_left),
            voters=ids,
            present=self._voters.present,
            votes=self._votes,
            electorate=self._electorate,
            blocks=tuple(block.credit for block in self._blocks),
        )

    def restore(self, state: RunState) -> None:
        """Continue from a state of this run.

        Args:
            state: A state with the settings and the number of this run.

        Raises:
            DataError: A voter's id cannot be encoded as UTF-8.
            IndexError: The state has no block of a client's number.
            ModelFileError: The state's gates do not keep to the settings any more.
            ValueError: A parameter of the state's gates has another form; its voters are not
                distinct, or two clients share a slot; a client who has left is still there; there
                are more voters or clients than the settings allow; or the number of clients who
                joined is not the one that the state gives.
        """
        if state.gate_parameters != self._gate_parameters():
            self.plan = self._read_plan(state.gate_parameters)
        self.round = state.round
        self._voters.restore(state.voters, state.present)
        self._electorate = state.electorate
        self.candidates = state.candidates
        self._votes = state.votes
        self._blocks = [Block.from_credits(credit) for credit in state.blocks]
        self._clients_who_left = set(state.clients_who_left)
        self._client_by_id = {}
        for client_id, client_state in state.clients.items():
            self._client_by_id[client_id] = self._restore_client(client_state)
        used_slots = {(client.block, client.slot) for client in self._client_by_id.values()}
        self._free_slots = []  # reversed, since the last one is taken next
        for block in reversed(self._blocks):
            for slot in reversed(range(CLIENTS)):
                if (block, slot) not in used_slots:
                    self._free_slots.append((block, slot))
        have_own_slots = len(used_slots) == len(self._client_by_id)
        are_still_gone = self._clients_who_left.isdisjoint(self._client_by_id)
        require(have_own_slots, "two of its clients have the same slot")
        require(are_still_gone, "it still holds a client who has left")
        require(
            state.clients_joined == self.clients_joined,
            "the number of clients that it states is not the number that it holds",
        )
        limit = self.settings.clients
        require(
            limit is None or self.clients_joined <= limit,
            "it holds more clients than its settings allow",
        )

    def _read_plan(self, parameters: tuple[float, ...] | None) -> Plan:
        """Return the plan of saved gates whose parameters are not those of `plan`.

        Raises:
            ModelFileError: The gates do not keep to the settings.
            ValueError: The parameters are not those of gates.
        """
        has_form = (
            self.settings.has_gate
            and parameters is not None
            and [type(value) for value in parameters] == [int, int, float]
        )
        require(has_form, "the parameters of its gates are missing or have another form")
        assert parameters is not None
        peers, slack, gate_epsilon = parameters
        plan = self.settings.plan_of_gate(int(peers), int(slack), gate_epsilon)
        if plan is None:
            raise ModelFileError(
                "its gates divide epsilon in another way than this version does, and by this "
                "version's bounds they cost more than the settings allow. Continue it with the "
                "version of tacit that began it."
            )
        return plan

    def _restore_client(self, client_state: ClientState) -> JoinedClient:
        """Make a client from their saved state; the gate keeps its noisy threshold."""
        transcript = client_state.transcript
        gate = None
        if self.plan is not None:
            # A gate draws the noise of later counts in advance. The noise that the saved gate had
            # not used yet is drawn anew.
            gate = GateRun(
                self.plan.mechanism,
                noisy_threshold=client_state.noisy_threshold,
                has_stopped=transcript.stopped_round is not None,
            )
        return JoinedClient(
            block=self._blocks[client_state.block],
            slot=client_state.slot,
            gate=gate,
            joined_round=transcript.joined_round,
            entries=list(transcript.entries),
            stopped_round=transcript.stopped_round,
            last_open_round=client_state.last_open_round,
            is_replayed=client_state.is_replayed,
        )

    def _gate_parameters(self) -> tuple[float, ...] | None:
        """Return peers, slack and epsilon of the gates; None in runs without gates.

        They are saved with the run, whose gates keep them even if `settings.plan` has become
        another one (`_read_plan`).
        """
        plan = self.plan
        return None if plan is None else (plan.peers, plan.slack, plan.gate_epsilon)

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold the run's lock, so that no other thread changes the run meanwhile.

        Raises:
            PrivacyError: The process was forked from the one that began the run.
        """
        self._check_process()
        with self._lock:
            yield

    @contextmanager
    def _take_turn(self) -> Iterator[None]:
        """Hold the run's lock for one call that changes the run.

        Raises:
            PrivacyError: The process was forked from the one that began the run, the run was
                handed over to a file or to bytes, or opening a round was interrupted.
        """
        with self._hold_lock():
            if self._is_between_rounds:
                raise PrivacyError(
                    "Opening a round was interrupted in this run: some voters have paid for the "
                    "clients' answers, others have not, and what clients would see next is no "
                    "longer what the guarantee is about. This object cannot go on. A new run costs "
                    "the same voters epsilon and delta again."
                )
            if self._is_handed_over:
                raise PrivacyError(
                    "This run was handed over to a file or to bytes and goes on there: "
                    "PRec.load(path, randomness=...) or PRec.from_bytes(data, settings=..., "
                    "randomness=...). Going on in two places would answer the same rounds twice."
                )
            yield

    def _admit_client(self, client_id: Id) -> JoinedClient:
        """Let a new client join, in a free slot; without one, a block is added.

        Raises:
            ConfigError: The client has joined already.
            PrivacyError: The client has left, or as many have joined as the settings allow.
        """
        if client_id in self._client_by_id:
            raise ConfigError(f"Client {client_id!r} has joined already.")
        if client_id in self._clients_who_left:
            raise PrivacyError(
                f"Client {client_id!r} has left. To join anew would be a second view of the same "
                "votes, which costs what the first did. To vote again, use another id."
            )
        if self.settings.clients is not None and self.clients_joined >= self.settings.clients:
            raise PrivacyError(
                f"The settings' number of clients is {self.settings.clients}, and so many have "
                "joined; another would cost more than is promised for them together."
            )
        if not self._free_slots:
            settings = self.settings
            block = Block(len(self._votes), diversity=settings.diversity, radius=settings.radius)
            self._blocks.append(block)
            self._free_slots = [(block, slot) for slot in reversed(range(CLIENTS))]
        block, slot = self._free_slots.pop()
        client = JoinedClient(block, slot, self._start_gate())
        self._client_by_id[client_id] = client
        if self.round > 0:
            self._enrol(client)
        return client

    def _start_gate(self) -> GateRun | None:
        """Start a client's gate, which draws the noise on its threshold; None without gates."""
        return None if self.plan is None else self.plan.mechanism.start()

    def _enrol(self, client: JoinedClient) -> None:
        """Give the voters of the open round their full credits with a client."""
        client.block.enrol(client.slot, self._electorate)
        client.joined_round = self.round

    def _find_client(self, client_id: Id) -> JoinedClient:
        """Return the client with an id.

        Raises:
            ConfigError: No such client has joined, or they have left.
        """
        if client_id not in self._client_by_id:
            raise ConfigError(f"No client {client_id!r}: they have not joined, or have left.")
        return self._client_by_id[client_id]

    def _check_open(self) -> None:
        """Check that a round is open.

        Raises:
            ConfigError: The first round has not been opened.
        """
        if self.round == 0:
            raise ConfigError("No round is open: call open_round(candidates, votes) first.")

    def _choose(self, client: JoinedClient) -> int:
        """Choose the candidate to recommend, and return its position among the candidates.

        The gate is asked first: nothing that depends on votes may be drawn before its answer. While
        it is open, the draw is from the output distribution; once it is shut, the draw is uniform.
        """
        if client.stopped_round is None:
            count = self._count_votes(client)
            survivors = count.credit_left // self.settings.credit
            if client.is_gate_open(self.round, survivors):
                return self._distribution.draw(count.votes, self.source)
        position = draw_uniformly(len(self.candidates), self.source)
        if client.stopped_round is None:  # noted only after the draw, which may fail
            client.stopped_round = self.round
        return position

    def _count_votes(self, client: JoinedClient) -> VoteCount:
        """Count the votes of the open round that count for a client."""
        self._check_open()
        return client.block.count_votes(client.slot, self._votes, len(self.candidates))

    def _answer_to_charge(self, client: JoinedClient) -> Answer | None:
        """Return the client's answer that costs voters credit when the open round closes.

        A missing answer counts as a dislike. The result is None if nothing was recommended, or if
        the gate was shut, since the recommendation did not depend on votes then.
        """
        entry = client.entry_in_round(self.round)
        if client.stopped_round is not None or entry is None:
            return None
        return Answer(self.candidates.index(entry.candidate), bool(entry.liked))

    def _start_next_round(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        """Charge for the answers of the open round, and open the next one.

        Args:
            candidates: Candidates of the next round.
            votes: (rows,) positions of the candidates that voters vote for in it.
        """
        # An exception from here on leaves blocks of two rounds, and the run refuses to go on
        self._is_between_rounds = True
        present = self._voters.present.copy()
        left_since_opening = self._electorate & ~present[: len(self._electorate)]
        new_rows = len(present) - len(self._votes)
        # New voters had no vote in the open round: any position will do, as they have no credit yet
        last_votes = np.append(self._votes, np.zeros(new_rows, dtype=np.uint16))
        answers: dict[Block, dict[int, Answer]] = {block: {} for block in self._blocks}
        for client in self._client_by_id.values():
            answer = self._answer_to_charge(client)
            if answer is not None:
                answers[client.block][client.slot] = answer
        for block, answers_in_block in answers.items():
            block.update_voters(len(present), present if left_since_opening.any() else None)
            block.advance(
                last_votes, len(self.candidates), votes, len(candidates), answers_in_block
            )
        self._votes = votes
        self.candidates = candidates
        self._electorate = present
        self.round += 1
        for client in self._client_by_id.values():
            if client.joined_round is None:
                self._enrol(client)
        self._is_between_rounds = False
