"""State of a run between requests, and its steps: each gives an answer and the next state.

The state has the vote under way, who takes part, and the run itself. It is as secret as the votes,
since it holds them and the gates' noise. The run knows a voter by a number, which sets their vote
where they abstain. The proof needs a number that no other person can change, so it is a keyed
function of the voter's name: HMAC-SHA256 under a key of 256 bits, drawn when the run begins, cut
to 128 bits.

A round has two parts. While its candidates are announced people vote, and may change their votes;
once it is open its votes are fixed, since the proof is about one vote of each person.

Refusals depend on what is public, on the asker's own part in the run, and on two bounds that the
cards name: how many clients are served and how many voters there can be. Never on anybody's vote.
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
_KEY_WORDS = 4
_FORMAT = 2


@dataclass(frozen=True)
class RoundsState:
    """State of a run between requests, as secret as the votes."""

    run: bytes = field(repr=False)
    """`PRec.to_bytes`, which knows voters by `numbers`."""
    key: bytes = field(repr=False)
    """Key of these numbers."""
    number: int = 0
    """Number of the open round; 0 before the first."""
    candidates: tuple[Id, ...] = ()
    """Candidates of the open round."""
    announced: tuple[Id, ...] = ()
    """Candidates of the next round, on which people vote now; empty where there is no vote."""
    votes: dict[str, Id] = field(default_factory=dict, repr=False)
    """Votes by name, of the round that is not open yet."""
    voters: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of the voters in rounds that were opened."""
    gone: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of people who were forgotten, and vote here no more."""

    @classmethod
    def decode(cls, state: bytes) -> Self:
        """Read what `encode` wrote.

        Raises:
            ModelFileError: The state is of another version.
        """
        end = state.index(b"\n")
        head = json.loads(state[:end])
        written = head.pop("format")
        if written != _FORMAT:
            raise ModelFileError(
                f"it is in format {written} and was begun by another version of tacit; this "
                f"version goes on with format {_FORMAT}."
            )
        head["key"] = bytes.fromhex(head["key"])
        head |= {name: tuple(head[name]) for name in ("candidates", "announced")}
        head |= {name: frozenset(head[name]) for name in ("voters", "gone")}
        return cls(state[end + 1 :], **head)

    def encode(self) -> bytes:
        """Write the state for the ledger, by name: the order does not show who voted when."""
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

    def other_settings(self, settings: PRecSettings) -> tuple[str, ...]:
        """Name the settings whose values differ from those that the run began with."""
        present = settings.to_header()
        began = container.unpack(self.run)[0]["settings"]
        return tuple(name for name in present if present[name] != began.get(name))

    def numbers(self, names: Iterable[str]) -> dict[str, str]:
        """Number voters by their names.

        Two given names get the same number with probability 2^-128; the caller refuses that.
        """
        return {name: number_of(self.key, name) for name in names}


def number_of(key: bytes, name: str) -> str:
    """Compute a voter's number in the run of a key, in hexadecimal digits."""
    return hmac.digest(key, b"voter " + name.encode(), "sha256")[:NUMBER_BYTES].hex()


Step = tuple[Reply, bytes | None]
"""An answer, and what to keep; None leaves it as it is."""
GivenRounds = tuple[tuple[tuple[Id, ...], Mapping[str, Id]], ...]
"""Candidates and votes of each round."""
_NOT_OPEN = refusal(409, "No round is open.")
_NO_VOTE = refusal(409, "There is no vote under way: the next round was not announced.")
_ONE_NUMBER = refusal(
    409,
    "The names of two voters give one number, by a chance below one in 10^30. Begin a new run, "
    "which has another key.",
)
_ANOTHER_VOTE = refusal(409, "A vote on other candidates is under way. Open its round first.")


@dataclass(frozen=True)
class RoundSteps:
    """Steps of one run: each takes its state, and gives an answer and the next state."""

    settings: PRecSettings
    """Settings of the run."""
    given: GivenRounds = field(default=(), repr=False)
    """Rounds that came with the deployment."""

    def begin(self, source: Source) -> bytes:
        """Begin a run, and return its state."""
        run = PRec(self.settings, randomness=source).to_bytes()
        return RoundsState(run, source.words(_KEY_WORDS).tobytes()).encode()

    def announce(self, candidates: Sequence[Id], _: Source, state: bytes | None) -> Step:
        """Begin the vote on the next round's candidates."""
        if state is None:
            return _NOT_OPEN, None
        now = RoundsState.decode(state)
        named = tuple(candidates)
        refused = self._refuse_candidates(now, named)
        if refused is not None:
            return refused, None
        answer = reply({"round": now.number + 1, "announced": list(named)})
        return answer, replace(now, announced=named).encode()

    def vote(self, voter: str, candidate: Id, _: Source, state: bytes | None) -> Step:
        """Take a person's vote in the announced round, until they change it or the round opens."""
        if state is None:
            return _NO_VOTE, None
        now = RoundsState.decode(state)
        if not now.announced:
            return _NO_VOTE, None
        if voter in now.gone:
            return refusal(409, "You asked to be forgotten, so you cannot vote here."), None
        if not is_among(candidate, now.announced):
            return refusal(422, "This is none of the announced candidates."), None
        known = now.voters | now.gone | now.votes.keys()
        if voter not in known and len(known) >= self.settings.voters:
            return refusal(409, "This run has as many voters as it may have."), None
        answer = reply({"round": now.number + 1})  # answers are kept for ever: no vote in them
        return answer, replace(now, votes={**now.votes, voter: candidate}).encode()

    def open_next(
        self,
        candidates: Sequence[Id] | None,
        votes: Mapping[str, Id],
        source: Source,
        state: bytes | None,
    ) -> Step:
        """Open the next round, with the votes that its people cast here and those cast elsewhere.

        Args:
            candidates: None for the announced ones; where none were announced, for the next of the
                given rounds, with its votes in place of `votes`.
            votes: Votes that were cast elsewhere; a vote that a person cast here replaces theirs.
            source: Randomness of the run.
            state: The stored state.
        """
        if state is None:
            return _NOT_OPEN, None
        now = RoundsState.decode(state)
        if candidates is None and not now.announced:
            if now.number >= len(self.given):
                return refusal(409, "Name candidates: none were announced and none given."), None
            candidates, votes = self.given[now.number]
        named = now.announced if candidates is None else tuple(candidates)
        refused = self._refuse_candidates(now, named)
        if refused is not None:
            return refused, None
        every_vote = {**votes, **now.votes}
        cast = {voter: chosen for voter, chosen in every_vote.items() if voter not in now.gone}
        if not all(is_among(chosen, named) for chosen in cast.values()):
            return refusal(422, "A vote is for none of the candidates."), None
        voters = now.voters | cast.keys()
        if len(voters) + len(now.gone) > self.settings.voters:
            return refusal(409, "These are more voters than this run may have."), None
        numbers = now.numbers(voters)
        if len(set(numbers.values())) < len(voters):
            return _ONE_NUMBER, None
        run = self._run(now, source)
        run.open_round(named, {numbers[voter]: chosen for voter, chosen in cast.items()})
        opened = RoundsState(
            run.to_bytes(), now.key, now.number + 1, named, voters=voters, gone=now.gone
        )
        return reply({"round": opened.number, "candidates": list(named)}), opened.encode()

    def recommend(self, client: str, source: Source, state: bytes | None) -> Step:
        """Recommend this round's candidate to a client; a new client's run begins."""
        now = _decode_open_round(state)
        if now is None:
            return _NOT_OPEN, None
        run = self._run(now, source)
        try:
            item = run.recommend(client)
        except PrivacyError:
            return refusal(409, "You get no more recommendations in this run."), None
        answer = reply({"round": now.number, "item": item, "shut": run.has_stopped(client)})
        after = run.to_bytes()  # the same if they were recommended it before
        return answer, None if after == now.run else replace(now, run=after).encode()

    def feedback(self, client: str, liked: bool, source: Source, state: bytes | None) -> Step:
        """Take a client's answer to this round's recommendation, once."""
        now = _decode_open_round(state)
        if now is None:
            return _NOT_OPEN, None
        run = self._run(now, source)
        try:
            run.feedback(client, liked)
        except ConfigError:
            return refusal(409, "Feedback is given once for a round's recommendation."), None
        return reply({"round": now.number}), replace(now, run=run.to_bytes()).encode()

    def forget_person(self, user: str, source: Source, state: bytes | None) -> bytes | None:
        """Forget a person, and return the next state; None where nothing was stored."""
        if state is None:
            return None
        now = RoundsState.decode(state)
        run = self._run(now, source)
        voted = user in now.voters
        if voted:
            run.leave_voters(now.numbers([user]).values())
        if user in run.clients:
            run.leave(user)
        votes = {name: chosen for name, chosen in now.votes.items() if name != user}
        gone = now.gone | {user} if voted or user in now.votes else now.gone
        voters = now.voters - {user}
        after = replace(now, run=run.to_bytes(), votes=votes, voters=voters, gone=gone)
        return after.encode()

    def _run(self, now: RoundsState, source: Source) -> PRec:
        return PRec.from_bytes(now.run, settings=self.settings, randomness=source)

    def _refuse_candidates(self, now: RoundsState, candidates: tuple[Id, ...]) -> Reply | None:
        """Refuse candidates that cannot be the next round's; None where they can."""
        if now.announced and now.announced != candidates:
            return _ANOTHER_VOTE
        most = self.settings.objects
        kinds = set(map(type, candidates))
        if 1 <= len(set(candidates)) == len(candidates) <= most and len(kinds) == 1:
            return None
        return refusal(
            422, f"A round has 1 to {most} candidates, each once: all numbers or all texts."
        )

    def warm(self) -> None:
        """Compile what counts votes, before anybody waits for it."""
        state: bytes | None = self.begin(secure())
        for _ in range(2):
            _, state = self.open_next([1, 2], {"voter": 1}, secure(), state)
            _, state = self.recommend("client", secure(), state)
            _, state = self.feedback("client", True, secure(), state)


def is_among(candidate: Id, candidates: Iterable[Id]) -> bool:
    """Say whether a candidate is among others: the number 1 is not the text 1."""
    return any(type(other) is type(candidate) and other == candidate for other in candidates)


def _decode_open_round(state: bytes | None) -> RoundsState | None:
    """Read a state with an open round; None where no round was opened."""
    if state is None:
        return None
    now = RoundsState.decode(state)
    return now if now.number > 0 else None
