"""Answers that are stored before they are given: the one way in which anything is changed.

A request that changes something carries an Idempotency-Key. Its charge, its draw, its new state and
its answer are one transaction of the ledger; a retry gets the same bytes and pays nothing.

The ledger's log is kept for ever and holds the key of each request and SHA-256 of its payload and
its answer. All three could be guessed where there is little to choose from: the key and the payload
go in as hashes under the service's secret, and an answer is stored behind random bytes.

What is stored for ever is bounded: by the budget that it is charged to, or by how much one person
may change in a day. Beyond that nothing is asked of the ledger, so a refusal does not grow it.

The log keeps the SHA-256 of every state too. Anyone who knows the state before could try out what
the next person said until the hash fits. So each state begins with fresh random bytes, which are
written over by the next: after that no old hash can be tried against anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from tacit.errors import TacitError
from tacit.ledger import Charge, DrawFailed, Release, Request
from tacit.ledger.transactions import SpendRequest
from tacit.randomness import Source
from tacit.service import problems
from tacit.service.deployment import Service
from tacit.service.keys import Caller, Role

SALT = 16  # random bytes at the start of an answer, and of a state that is one person's alone
_LONGEST = 128
MOST_STORED = 256 * 1024
"""Bytes of an answer: it is stored for as long as the ledger. No operation comes near it by what
its request may hold; one that does changes nothing, and says so to every retry."""
_TOO_LARGE = "The answer to this is too large to be stored. Ask for less."
OCTETS = "application/octet-stream"
JSON = "application/json"


@dataclass(frozen=True)
class Reply:
    """What is answered, now and to every retry: also a refusal, if it depends on the state."""

    status: int
    media_type: str
    body: bytes

    def encode(self) -> bytes:
        return f"{self.status} {self.media_type}\n".encode("ascii") + self.body

    @classmethod
    def decode(cls, data: bytes) -> Reply:
        head, _, body = data.partition(b"\n")
        status, _, media_type = head.decode("ascii").partition(" ")
        return cls(int(status), media_type, body)

    def response(self, *, repeated: bool = False) -> Response:
        headers = {"Idempotency-Replayed": "true"} if repeated else None
        return Response(
            self.body, status_code=self.status, media_type=self.media_type, headers=headers
        )


def reply(content: Any, status: int = 200) -> Reply:
    """Content as JSON, in one spelling."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return Reply(status, JSON, text.encode("ascii"))


def refusal(status: int, detail: str, kind: str | None = None) -> Reply:
    """A problem that is stored like any answer."""
    text = json.dumps(problems.body(status, detail, kind), separators=(",", ":"))
    return Reply(status, problems.MEDIA_TYPE, text.encode("ascii"))


Step = Callable[[Source, bytes | None], tuple[Reply, bytes | None]]
"""Takes what was kept; gives the answer and what to keep now, None for no change."""


async def step(
    service: Service,
    caller: Caller,
    operation: str,
    key: str,
    payload: bytes,
    *,
    take: Step,
    state: str | None = None,
    charges: Sequence[Charge] = (),
    apart: bool = False,
    paid: bool = False,
) -> Response:
    """Charge, draw and store in one transaction, then answer; see `Ledger.release`.

    state: its name within the tenant; None keeps none. apart: counted apart from a person's other
    changes, which cannot use up what is left of it. paid: a later step of what was charged before,
    under the same key: a budget bounds it already.
    Problem 429, and nothing is released, where a person changed as much as they may for free. A
    repetition is not counted, nor what the ledger refused: nothing was stored.
    """

    def draw(source: Source, before: bytes | None) -> tuple[bytes, bytes | None]:
        answer, new = take(source, before)
        if len(answer.body) > MOST_STORED:
            answer, new = refusal(409, _TOO_LARGE), None
        return salted(source, answer.encode()), new

    request = _request(service, caller, operation, key, payload)
    place = None if state is None else f"{caller.tenant}/{state}"
    spending = SpendRequest(request, tuple(charges), draw, place)
    if charges or paid or caller.role is not Role.SUBJECT:
        return _response(await service.commits.release(spending))
    whose = f"{caller.name}/apart" if apart else caller.name
    service.changes.take(whose)
    try:
        given = await service.commits.release(spending)
    except DrawFailed:  # which is stored
        raise
    except (TacitError, problems.Problem):  # a problem: its time was over before it began
        service.changes.give_back(whose)
        raise
    if given.repeated:
        service.changes.give_back(whose)
    return _response(given)


def _response(release: Release) -> Response:
    return Reply.decode(release.answer[SALT:]).response(repeated=release.repeated)


def _request(service: Service, caller: Caller, operation: str, key: str, payload: bytes) -> Request:
    """Staff and people may have the same name, and no key in common."""
    name = caller.name if caller.role is Role.SUBJECT else f"{caller.role}:{caller.name}"
    known = service.keys.digest(f"key {operation}", key.encode()).hex()
    sealed = service.keys.digest(f"payload {operation}", payload)
    return Request(caller.tenant, name, operation, known, sealed)


def salting(take: Step) -> Step:
    """The same step, for a state that is kept with its salt."""

    def step(source: Source, before: bytes | None) -> tuple[Reply, bytes | None]:
        answer, new = take(source, unsalted(before))
        return answer, None if new is None else salted(source, new)

    return step


def state_of(kind: str, user: str) -> str:
    """The name of a state that is one person's alone. Their name may be too long for one itself."""
    return f"{kind}/{hashlib.sha256(user.encode()).hexdigest()[:40]}"


def state_named(noun: str, tenant: str, name: str) -> str:
    """The name of a served thing's state within the tenant: a digest where the names are long. In
    the ledger it has at most `_LONGEST` signs, with the tenant's name before it."""
    plain = f"{noun}/{name}"
    if len(f"{tenant}/{plain}") <= _LONGEST:
        return plain
    return f"{noun}/long/{hashlib.sha256(name.encode()).hexdigest()[:40]}"


def salted(source: Source, content: bytes) -> bytes:
    """Content of one person's state, so that its SHA-256 tells nothing."""
    return source.words(SALT // 8).tobytes() + content


def unsalted(state: bytes | None) -> bytes | None:
    """What `salted` was given."""
    return None if state is None else state[SALT:]


@dataclass(frozen=True)
class Kept:
    """Something of one person in one kept state.

    state: its name within the tenant, as `step` takes it. what: text for the receipt.
    without: takes a source and the state, gives the state without the person; None changes nothing.
    """

    state: str
    what: str
    without: Callable[[Source, bytes | None], bytes | None]
