"""Answers that are stored before they are sent: the one way in which anything is changed.

A request that changes something carries an Idempotency-Key. Its charge, its draw, its new state and
its answer are one transaction of the ledger; a retry gets the same bytes and pays nothing.

The ledger's log is kept for ever and holds the key of each request and SHA-256 of its payload and
its answer. Where there are few possible payloads or answers, all three could be guessed from the
log. So the key and the payload are hashed with the service's secret, and an answer is stored with
random bytes before it.

What is stored for ever is bounded: by the budget that it is charged to, or by how much one person
may change in a day. Beyond that bound the ledger is not asked, so a refusal does not grow its log.

The log holds the SHA-256 of every state too. Anyone who knows the previous state could try what the
next person may have said until the hash fits. So each state begins with fresh random bytes, its
salt, which the next state overwrites: after that no old hash can be checked against a guess.
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
from tacit.service.http_bodies import JSON
from tacit.service.keys import Caller, Role
from tacit.service.service import Service

SALT_BYTES = 16
"""Random bytes at the start of an answer, and of a state that is one person's alone."""
MOST_STORED_BYTES = 256 * 1024
"""Most bytes of an answer, which is stored for as long as the ledger. No request that is accepted
comes near it; a larger answer changes nothing, and is replaced by a refusal, also for retries."""
_MOST_STATE_NAME = 128
"""Most characters of a state's name in the ledger, with the tenant's name."""
_WORD_BYTES = 8
"""Bytes of one word of `Source.words`."""
_TOO_LARGE = "The answer to this is too large to be stored. Ask for less."


@dataclass(frozen=True)
class Reply:
    """An answer that is stored, and sent now and to every retry.

    It may be a refusal, where the refusal depends on the state.
    """

    status: int
    media_type: str
    body: bytes

    def encode(self) -> bytes:
        """Encode the answer as it is stored."""
        return f"{self.status} {self.media_type}\n".encode("ascii") + self.body

    @classmethod
    def decode(cls, data: bytes) -> Reply:
        """Read what `encode` wrote."""
        head, _, body = data.partition(b"\n")
        status, _, media_type = head.decode("ascii").partition(" ")
        return cls(int(status), media_type, body)

    def response(self, *, is_repeated: bool = False) -> Response:
        """Make the HTTP response; a repeated one says so in a header."""
        headers = {"Idempotency-Replayed": "true"} if is_repeated else None
        return Response(
            self.body, status_code=self.status, media_type=self.media_type, headers=headers
        )


def reply(content: Any, status: int = 200) -> Reply:
    """Make an answer whose body is JSON, always with the same bytes for the same content."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return Reply(status, JSON, text.encode("ascii"))


def refusal(status: int, detail: str, kind: str | None = None) -> Reply:
    """Make a problem that is stored like any answer, with the arguments of `problem_body`."""
    text = json.dumps(problems.problem_body(status, detail, kind), separators=(",", ":"))
    return Reply(status, problems.MEDIA_TYPE, text.encode("ascii"))


Transition = Callable[[Source, bytes | None], tuple[Reply, bytes | None]]
"""Function of a source of randomness and the stored state (None: nothing is stored) that returns
the answer and the new state (None: the state is not changed)."""


async def answer_once(
    service: Service,
    caller: Caller,
    operation: str,
    key: str,
    payload: bytes,
    *,
    transition: Transition,
    state: str | None = None,
    charges: Sequence[Charge] = (),
    counted_apart: bool = False,
    prepaid: bool = False,
) -> Response:
    """Charge, draw and store in one transaction, then answer; see `Ledger.release`.

    A person's change that is not charged counts as one of their free changes of the day. A retry
    does not count, nor does a request that the ledger refused, since nothing was stored.

    Args:
        service: The service.
        caller: Sender of the request.
        operation: Name of the operation in the log.
        key: The request's Idempotency-Key.
        payload: What the request says; another payload under the same key is refused.
        transition: Makes the answer and the new state.
        state: The state's name within the tenant; None stores no state.
        charges: What the request costs, and the budgets that pay.
        counted_apart: Whether the change has a daily count of its own, which the person's other
            changes cannot use up.
        prepaid: Whether this is a later step of a request that was charged before under the same
            key, so that a budget bounds it already.

    Raises:
        Problem: Status 429; the person changed as much as they may for free. Nothing is released.
    """

    def draw(source: Source, stored: bytes | None) -> tuple[bytes, bytes | None]:
        answer, new_state = transition(source, stored)
        if len(answer.body) > MOST_STORED_BYTES:
            answer = refusal(409, _TOO_LARGE)
            new_state = None
        return add_salt(source, answer.encode()), new_state

    request = _make_ledger_request(service, caller, operation, key, payload)
    full_name = None if state is None else f"{caller.tenant}/{state}"
    spending = SpendRequest(request, tuple(charges), draw, full_name)
    if charges or prepaid or caller.role is not Role.SUBJECT:
        return _make_stored_response(await service.commits.release(spending))
    bucket = f"{caller.name}/apart" if counted_apart else caller.name
    service.free_changes.take(bucket)
    try:
        release = await service.commits.release(spending)
    except DrawFailed:  # the failure is stored, so it counts
        raise
    except (TacitError, problems.Problem):  # refused, or the deadline passed before the commit
        service.free_changes.give_back(bucket)
        raise
    if release.repeated:
        service.free_changes.give_back(bucket)
    return _make_stored_response(release)


def _make_stored_response(release: Release) -> Response:
    """Make the response of a stored answer, which has random bytes before it."""
    stored = Reply.decode(release.answer[SALT_BYTES:])
    return stored.response(is_repeated=release.repeated)


def _make_ledger_request(
    service: Service, caller: Caller, operation: str, key: str, payload: bytes
) -> Request:
    """Make the request as the ledger's log holds it, with hashes of its key and payload.

    A role before the name of staff keeps their Idempotency-Keys apart from those of a person of the
    same name.
    """
    name = caller.name if caller.role is Role.SUBJECT else f"{caller.role}:{caller.name}"
    hidden_key = service.keys.digest(f"key {operation}", key.encode()).hex()
    hidden_payload = service.keys.digest(f"payload {operation}", payload)
    return Request(caller.tenant, name, operation, hidden_key, hidden_payload)


def salt_states(transition: Transition) -> Transition:
    """Wrap a transition of plain states, so that states are stored with salt."""

    def salted_transition(source: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        answer, new_state = transition(source, remove_salt(stored))
        if new_state is not None:
            new_state = add_salt(source, new_state)
        return answer, new_state

    return salted_transition


def personal_state_name(kind: str, user: str) -> str:
    """Name a state of one person alone, by a digest, since the person's name may be too long."""
    return f"{kind}/{hashlib.sha256(user.encode()).hexdigest()[:40]}"


def thing_state_name(noun: str, tenant: str, name: str) -> str:
    """Name the state of a thing that is served, by a digest where the name would be too long."""
    plain = f"{noun}/{name}"
    if len(f"{tenant}/{plain}") <= _MOST_STATE_NAME:
        return plain
    return f"{noun}/long/{hashlib.sha256(name.encode()).hexdigest()[:40]}"


def add_salt(source: Source, content: bytes) -> bytes:
    """Put random bytes before a content, so that its SHA-256 reveals nothing of it."""
    return source.words(SALT_BYTES // _WORD_BYTES).tobytes() + content


def remove_salt(state: bytes | None) -> bytes | None:
    """Return the content that `add_salt` was given; None for no state."""
    return None if state is None else state[SALT_BYTES:]


def read_salted_state(service: Service, name: str) -> bytes | None:
    """Read a state of the tenant without its salt; None before its first change."""
    return remove_salt(service.read_state(name))
