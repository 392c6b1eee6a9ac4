"""The state of a served run between requests, and its steps: a step returns an answer and a state.

The state holds the votes on the next round, the names of voters, and the run itself (`PRec`). It is
as secret as the votes, since it holds them and the gates' noise. The run knows each voter by a
number instead of their name, and the number determines the voter's vote in rounds in which they
abstain. The proof requires that no other person can change this number. So it is a keyed function
of the voter's name: HMAC-SHA256, cut to 128 bits, under a key of 256 bits that is drawn when the
run begins.

A round has two parts. After its candidates are announced, people vote and may change their votes.
Once it is open, its votes are fixed, since the proof is about one vote of each person in a round.

Refusals depend on public facts, on the caller's own part in the run, and on two limits that the
cards state: the number of clients and the number of voters. They never depend on a vote.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from tacit import container
from tacit.designs.prec import PRec, PRecSettings
from tacit.errors import ConfigError, ModelFileError, PrivacyError
from tacit.randomness import Source, secure
from tacit.service.idempotency import Reply, refusal, reply

Id = int | str
NUMBER_BYTES = 16
"""Bytes of a voter's number: 128 bits."""
_KEY_WORDS = 4
"""Words of 64 bits of the run's key."""
_FORMAT = 2
"""Version of the format of `RoundsState.encode`."""


@dataclass(frozen=True)
class RoundsState:
    """State of a run between requests. It is as secret as the votes."""

    run: bytes = field(repr=False)
    """What `PRec.to_bytes` returned; the ids of voters in it are their `numbers`."""
    key: bytes = field(repr=False)
    """Key from which the voters' numbers are computed."""
    number: int = 0
    """Number of the open round; 0 before the first."""
    candidates: tuple[Id, ...] = ()
    """Candidates of the open round."""
    announced: tuple[Id, ...] = ()
    """Candidates of the next round, on which people vote now; empty if none are announced."""
    votes: dict[str, Id] = field(default_factory=dict, repr=False)
    """Votes on the announced candidates, by the voter's name."""
    voters: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of all who voted in rounds that were opened."""
    gone: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of people who were forgotten after they had voted, or with votes in later rounds of the
    deployment's file of votes. They cannot vote again."""

    @classmethod
    def decode(cls, state: bytes) -> Self:
        """Read what `encode` wrote.

        Raises:
            ModelFileError: The state was written in another format.
        """
        head_end = state.index(b"\n")
        head = json.loads(state[:head_end])
        written_format = head.pop("format")
        if written_format != _FORMAT:
            raise ModelFileError(
                f"it is in format {written_format} and was begun by another version of tacit; this "
                f"version can only continue runs in format {_FORMAT}."
            )
        return cls(
            run=state[head_end + 1 :],
            key=bytes.fromhex(head["key"]),
            number=head["number"],
            candidates=tuple(head["candidates"]),
            announced=tuple(head["announced"]),
            votes=head["votes"],
            voters=frozenset(head["voters"]),
            gone=frozenset(head["gone"]),
        )

    def encode(self) -> bytes:
        """Encode the state for the ledger: a line of JSON, then the bytes of the run.

        Names are sorted, so that their order does not show who voted when.
        """
        head = {
            "format": _FORMAT,
            "key": self.key.hex(),
            "number": self.number,
            "candidates": self.candidates,
            "announced": self.announced,
            "votes": dict(sorted(self.votes.items())),
            "voters": sorted(self.voters),
            "gone": sorted(self.gone),
        }
        return json.dumps(head, separators=(",", ":")).encode("ascii") + b"\n" + self.run

    def changed_settings(self, settings: PRecSettings) -> tuple[str, ...]:
        """Return the names of the settings in which `settings` differs from the stored run."""
        new_values = settings.to_header()
        header, _ = container.unpack(self.run)
        stored_values = header["settings"]
        return tuple(name for name in new_values if new_values[name] != stored_values.get(name))

    def numbers(self, names: Iterable[str]) -> dict[str, str]:
        """Compute the number of each voter, by name.

        Two names have the same number with probability 2^-128. The caller has to refuse such names.
        """
        return {name: compute_number(self.key, name) for name in names}


def compute_number(key: bytes, name: str) -> str:
    """Compute a voter's number under the run's key, in hexadecimal digits."""
    return hmac.digest(key, b"voter " + name.encode(), "sha256")[:NUMBER_BYTES].hex()


Step = tuple[Reply, bytes | None]
"""An answer, and the next state; None in place of a state that does not change."""
GivenRounds = tuple[tuple[tuple[Id, ...], Mapping[str, Id]], ...]
"""For each round its candidates, and its votes by the voter's name."""
_NOT_BEGUN = refusal(409, "The run has not begun.")
_NOT_OPEN = refusal(409, "No round is open.")
_NO_VOTE = refusal(409, "There is no vote under way: the next round is not announced.")
_SAME_NUMBER = refusal(
    409,
    "Two voters have the same number, which has a chance of less than one in 10^29. Begin a new "
    "run, which has another key.",
)
_NONE_FOR_CLIENT = refusal(
    409,
    "This run has no recommendation for you: you had all of them, you asked to be forgotten, or "
    "the run has as many clients as it may have.",
)
_ANOTHER_VOTE = refusal(409, "A vote on other candidates is under way. Open its round first.")


@dataclass(frozen=True)
class RoundSteps:
    """Steps of one run: each takes the stored state, and returns an answer and the next state.

    A stored state of None means that the run has not begun.
    """

    settings: PRecSettings
    """Settings of the run."""
    given: GivenRounds = field(default=(), repr=False)
    """Rounds of the deployment's file of votes, in order."""

    def begin(self, source: Source) -> bytes:
        """Begin a run and draw its key; return its state."""
        run = PRec(self.settings, randomness=source).to_bytes()
        key = source.words(_KEY_WORDS).tobytes()
        return RoundsState(run, key).encode()

    def announce(self, candidates: Sequence[Id], _: Source, state: bytes | None) -> Step:
        """Announce the next round's candidates, so that people can vote on them.

        It is refused if other candidates are announced already, if the candidates are not valid, or
        if the run has not begun.
        """
        if state is None:
            return _NOT_BEGUN, None
        stored = RoundsState.decode(state)
        announced = tuple(candidates)
        refused = self._refuse_candidates(stored, announced)
        if refused is not None:
            return refused, None
        answer = reply({"round": stored.number + 1, "announced": list(announced)})
        return answer, replace(stored, announced=announced).encode()

    def vote(self, voter: str, candidate: Id, _: Source, state: bytes | None) -> Step:
        """Store a person's vote for an announced candidate. It replaces an earlier one."""
        if state is None:
            return _NO_VOTE, None
        stored = RoundsState.decode(state)
        if not stored.announced:
            return _NO_VOTE, None
        if voter in stored.gone:
            return refusal(409, "You asked to be forgotten, so you cannot vote here."), None
        if not is_among(candidate, stored.announced):
            return refusal(422, "This is none of the announced candidates."), None
        all_voters = stored.voters | stored.gone | stored.votes.keys()
        if voter not in all_voters and len(all_voters) >= self.settings.voters:
            return refusal(409, "This run has as many voters as it may have."), None
        votes = {**stored.votes, voter: candidate}
        # Answers are stored for ever, so the vote is not part of this one
        return reply({"round": stored.number + 1}), replace(stored, votes=votes).encode()

    def open_next(
        self,
        candidates: Sequence[Id] | None,
        votes: Mapping[str, Id],
        source: Source,
        state: bytes | None,
    ) -> Step:
        """Open the next round, with the votes that were cast at the service and elsewhere.

        Args:
            candidates: Candidates of the round. With None, the announced candidates are used. If
                there are none, the round of `given` with the same number is opened, with its own
                candidates, and with its own votes in place of `votes`.
            votes: Votes that were cast elsewhere, by the voter's name. If the person also voted at
                the service, that vote counts. Votes of people who were forgotten are left out.
            source: Randomness of the run.
            state: The stored state.
        """
        if state is None:
            return _NOT_BEGUN, None
        stored = RoundsState.decode(state)
        if candidates is None and not stored.announced:
            if stored.number >= len(self.given):
                return refusal(
                    409,
                    "Name the candidates: none are announced, and no file of votes has a further "
                    "round.",
                ), None
            candidates, votes = self.given[stored.number]
        round_candidates = stored.announced if candidates is None else tuple(candidates)
        refused = self._refuse_candidates(stored, round_candidates)
        if refused is not None:
            return refused, None
        round_votes = {**votes, **stored.votes}
        for forgotten in stored.gone:
            round_votes.pop(forgotten, None)
        if not all(is_among(chosen, round_candidates) for chosen in round_votes.values()):
            return refusal(422, "A vote is for none of the candidates."), None
        voters = stored.voters | round_votes.keys()
        if len(voters) + len(stored.gone) > self.settings.voters:
            return refusal(409, "These are more voters than this run may have."), None
        numbers = stored.numbers(voters)
        if len(set(numbers.values())) < len(voters):
            return _SAME_NUMBER, None
        run = self._load_run(stored, source)
        votes_by_number = {numbers[voter]: chosen for voter, chosen in round_votes.items()}
        run.open_round(round_candidates, votes_by_number)
        opened = RoundsState(
            run=run.to_bytes(),
            key=stored.key,
            number=stored.number + 1,
            candidates=round_candidates,
            voters=voters,
            gone=stored.gone,
        )
        answer = reply({"round": opened.number, "candidates": list(round_candidates)})
        return answer, opened.encode()

    def recommend(self, client: str, source: Source, state: bytes | None) -> Step:
        """Recommend a candidate of the open round to a client, who joins if they are new."""
        stored = _decode_open_round(state)
        if stored is None:
            return _NOT_OPEN, None
        run = self._load_run(stored, source)
        try:
            item = run.recommend(client)
        except PrivacyError:
            return _NONE_FOR_CLIENT, None
        answer = reply({"round": stored.number, "item": item, "shut": run.has_stopped(client)})
        run_after = run.to_bytes()
        if run_after == stored.run:  # the client had this recommendation before
            return answer, None
        return answer, replace(stored, run=run_after).encode()

    def feedback(self, client: str, liked: bool, source: Source, state: bytes | None) -> Step:
        """Record a client's answer to the open round's recommendation; a second one is refused."""
        stored = _decode_open_round(state)
        if stored is None:
            return _NOT_OPEN, None
        run = self._load_run(stored, source)
        try:
            run.feedback(client, liked)
        except ConfigError:
            return refusal(
                409, "Feedback is given once for each round, after its recommendation."
            ), None
        return reply({"round": stored.number}), replace(stored, run=run.to_bytes()).encode()

    def forget_person(self, user: str, source: Source, state: bytes | None) -> bytes | None:
        """Forget a person as a voter and as a client, and return the next state.

        The name stays in `gone` if the person voted, or has a vote in a later round of the file of
        votes, so that they cannot vote again and the file's votes of theirs are not counted. The
        result is None if the run has not begun, so that nothing is stored.
        """
        if state is None:
            return None
        stored = RoundsState.decode(state)
        run = self._load_run(stored, source)
        if user in stored.voters:
            run.leave_voters(stored.numbers([user]).values())
        if user in run.clients:
            run.leave(user)
        votes = {name: chosen for name, chosen in stored.votes.items() if name != user}
        later_rounds = self.given[stored.number :]
        has_vote = user in stored.voters or user in stored.votes
        has_vote |= any(user in given_votes for _, given_votes in later_rounds)
        after = replace(
            stored,
            run=run.to_bytes(),
            votes=votes,
            voters=stored.voters - {user},
            gone=stored.gone | {user} if has_vote else stored.gone,
        )
        return after.encode()

    def _load_run(self, stored: RoundsState, source: Source) -> PRec:
        """Continue the stored run, whose further draws come from `source`."""
        return PRec.from_bytes(stored.run, settings=self.settings, randomness=source)

    def _refuse_candidates(self, stored: RoundsState, candidates: tuple[Id, ...]) -> Reply | None:
        """Return the refusal of candidates for the next round; None if they are accepted.

        Refused are other candidates than the announced ones, too many or none, repeated ones, and a
        mixture of numbers and texts.
        """
        if stored.announced and stored.announced != candidates:
            return _ANOTHER_VOTE
        most = self.settings.objects
        are_distinct = len(set(candidates)) == len(candidates)
        are_of_one_kind = len({type(candidate) for candidate in candidates}) == 1
        if 1 <= len(candidates) <= most and are_distinct and are_of_one_kind:
            return None
        return refusal(
            422, f"A round has 1 to {most} candidates, each once: all numbers or all texts."
        )

    def warm(self) -> None:
        """Compile the code that counts votes, so that no request has to wait for it.

        This begins a run that is not stored. It has two rounds, because the answer to a round is
        charged when the next one opens.
        """
        state: bytes | None = self.begin(secure())
        for _ in range(2):
            _, state = self.open_next([1, 2], {"voter": 1}, secure(), state)
            _, state = self.recommend("client", secure(), state)
            _, state = self.feedback("client", True, secure(), state)


def is_among(candidate: Id, candidates: Iterable[Id]) -> bool:
    """Return whether a candidate is one of `candidates`; the number 1 is not the text "1"."""
    return any(type(other) is type(candidate) and other == candidate for other in candidates)


def _decode_open_round(state: bytes | None) -> RoundsState | None:
    """Read a state with an open round; None if the run has not begun or no round was opened."""
    if state is None:
        return None
    stored = RoundsState.decode(state)
    return stored if stored.number > 0 else None
