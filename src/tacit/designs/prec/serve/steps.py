"""What is kept of a run between requests, and its steps: each gives an answer and what to keep.

Kept are the vote under way, who takes part, and the run itself. As secret as the votes: it holds
them, and the gates' noise. The run knows a voter by a number, from which their vote follows where
they abstain. The proof needs that nobody else changes it, so it is a keyed function of their name:
HMAC-SHA256 under a key of 256 bits, drawn when the run begins, cut to 128 bits.

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
_EARLIER = (
    "it is in format {} and was begun by another version of tacit; this version goes on with "
    f"format {_FORMAT}. Runs in format 1 numbered voters in the order of their names, which breaks "
    "the premise of the proof."
)


@dataclass(frozen=True)
class RoundsState:
    """run: `PRec.to_bytes`, which knows voters by `numbers`. key: of these numbers. number,
    candidates: of the open round. announced: of the next one, on which people vote now; empty where
    there is no vote. votes: by name, of the round that is not open yet. voters: names of those in
    rounds that were opened. gone: who was forgotten, and votes here no more.
    """

    run: bytes = field(repr=False)
    key: bytes = field(repr=False)
    number: int = 0
    candidates: tuple[Id, ...] = ()
    announced: tuple[Id, ...] = ()
    votes: dict[str, Id] = field(default_factory=dict, repr=False)
    voters: frozenset[str] = field(default=frozenset(), repr=False)
    gone: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def decode(cls, state: bytes) -> Self:
        """What `encode` gave; ModelFileError for the state of another version."""
        end = state.index(b"\n")
        head = json.loads(state[:end])
        written = head.pop("format") if isinstance(head, dict) else 1
        if written != _FORMAT:
            raise ModelFileError(_EARLIER.format(written))
        head["key"] = bytes.fromhex(head["key"])
        head |= {name: tuple(head[name]) for name in ("candidates", "announced")}
        head |= {name: frozenset(head[name]) for name in ("voters", "gone")}
        return cls(state[end + 1 :], **head)

    def encode(self) -> bytes:
        """For the ledger. In the order of names, so that nobody's time can be read off it."""
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
        """Names of those that the run began with other values of."""
        asked, began = settings.to_header(), container.unpack(self.run)[0]["settings"]
        return tuple(name for name in asked if asked[name] != began.get(name))

    def numbers(self, names: Iterable[str]) -> dict[str, str]:
        """By name. Two names have one number with a chance below 2^-128: the caller checks."""
        return {name: number_of(self.key, name) for name in names}


def number_of(key: bytes, name: str) -> str:
    """A voter's number in the run of this key, in hexadecimal digits."""
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
    """Of one run. given: rounds that came with the deployment."""

    settings: PRecSettings
    given: GivenRounds = field(default=(), repr=False)

    def begin(self, source: Source) -> bytes:
        """What is kept of a run in which nothing happened."""
        run = PRec(self.settings, randomness=source).to_bytes()
        return RoundsState(run, source.words(_KEY_WORDS).tobytes()).encode()

    def announce(self, candidates: Sequence[Id], _: Source, state: bytes | None) -> Step:
        """Begin the vote on the next round's candidates."""
        if state is None:
            return _NOT_OPEN, None
        now, named = RoundsState.decode(state), tuple(candidates)
        if refused := self._refused(now, named):
            return refused, None
        answer = reply({"round": now.number + 1, "announced": list(named)})
        return answer, replace(now, announced=named).encode()

    def vote(self, voter: str, candidate: Id, _: Source, state: bytes | None) -> Step:
        """A person's vote of the announced round; it stands until they change it or it opens."""
        if state is None or not (now := RoundsState.decode(state)).announced:
            return _NO_VOTE, None
        if voter in now.gone:
            return refusal(409, "You had yourself forgotten here, and vote here no more."), None
        if not among(candidate, now.announced):
            return refusal(422, "This is none of the announced candidates."), None
        known = now.voters | now.gone | now.votes.keys()
        if voter not in known and len(known) >= self.settings.voters:
            return refusal(409, "There are as many voters as can be."), None
        answer = reply({"round": now.number + 1})  # answers are kept for ever: no vote in them
        return answer, replace(now, votes={**now.votes, voter: candidate}).encode()

    def open(
        self,
        candidates: Sequence[Id] | None,
        votes: Mapping[str, Id],
        source: Source,
        state: bytes | None,
    ) -> Step:
        """Close the open round and open the next, with its people's votes and those given here.
        candidates: None for the announced ones, else for the next of the given rounds."""
        if state is None:
            return _NOT_OPEN, None
        now = RoundsState.decode(state)
        if candidates is None and not now.announced:
            if now.number >= len(self.given):
                return refusal(409, "Name candidates: none were announced and none given."), None
            candidates, votes = self.given[now.number]
        named = now.announced if candidates is None else tuple(candidates)
        if refused := self._refused(now, named):
            return refused, None
        cast = {**votes, **now.votes}
        cast = {voter: chosen for voter, chosen in cast.items() if voter not in now.gone}
        if not all(among(chosen, named) for chosen in cast.values()):
            return refusal(422, "A vote is for none of the candidates."), None
        voters = now.voters | cast.keys()
        if len(voters) + len(now.gone) > self.settings.voters:
            return refusal(409, "There are more voters than can be."), None
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
        """This round's candidate for a client; a new client's run begins."""
        if state is None or (now := RoundsState.decode(state)).number == 0:
            return _NOT_OPEN, None
        run = self._run(now, source)
        try:
            item = run.recommend(client)
        except PrivacyError:
            return refusal(409, "You are not recommended any more in these rounds."), None
        answer = reply({"round": now.number, "item": item, "shut": run.stopped(client)})
        after = run.to_bytes()  # the same if they were recommended it before
        return answer, None if after == now.run else replace(now, run=after).encode()

    def feedback(self, client: str, liked: bool, source: Source, state: bytes | None) -> Step:
        """What a client says of this round's recommendation, once."""
        if state is None or (now := RoundsState.decode(state)).number == 0:
            return _NOT_OPEN, None
        run = self._run(now, source)
        try:
            run.feedback(client, liked)
        except ConfigError:
            return refusal(409, "Feedback is given once for a round's recommendation."), None
        return reply({"round": now.number}), replace(now, run=run.to_bytes()).encode()

    def without(self, user: str, source: Source, state: bytes | None) -> bytes | None:
        """The state after a person was forgotten."""
        if state is None:
            return None
        now = RoundsState.decode(state)
        run, voted = self._run(now, source), user in now.voters
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

    def _refused(self, now: RoundsState, candidates: tuple[Id, ...]) -> Reply | None:
        """Why these cannot be the next round's candidates; None where they can."""
        if now.announced and now.announced != candidates:
            return _ANOTHER_VOTE
        most, kinds = self.settings.objects, set(map(type, candidates))
        if 1 <= len(set(candidates)) == len(candidates) <= most and len(kinds) == 1:
            return None
        return refusal(
            422, f"A round has 1 to {most} candidates, each once: all numbers or all texts."
        )

    def warm(self) -> None:
        """Compile what counts votes, before anybody waits for it."""
        state: bytes | None = self.begin(secure())
        for _ in range(2):
            _, state = self.open([1, 2], {"voter": 1}, secure(), state)
            _, state = self.recommend("client", secure(), state)
            _, state = self.feedback("client", True, secure(), state)


def among(candidate: Id, candidates: Iterable[Id]) -> bool:
    """Of the same kind: the number 1 is not the text 1."""
    return any(type(one) is type(candidate) and one == candidate for one in candidates)
