"""Answers that are stored before they are sent. All states of the ledger are changed this way.

A request for such a change carries an Idempotency-Key. One transaction of the ledger charges the
budgets, draws the random numbers, and stores the new state and the answer; a retry gets the same
bytes and pays nothing.

The ledger's log is kept for ever, and holds the key of each request and the SHA-256 of its payload
and of its answer. Where few values are possible, a reader of the log could guess them and compare
hashes. So key and payload are hashed with the service's secret, and an answer is stored with random
bytes before it.

How much a person can have stored for ever is bounded: by the budget that a request is charged to,
or by the limit on the changes that one person may make (`changes_per_day`). A request beyond it is
refused without asking the ledger, so that refusals do not grow its log.

The log holds the SHA-256 of every state, too. Anyone who knows the previous state could try out
what the next person may have said until the hash fits. So a state that holds what people said
begins with fresh random bytes, its salt, which the next state overwrites. Once it is overwritten,
no guess can be checked against the hash.
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
"""Number of random bytes at the start of a stored answer, and of a salted state."""
MOST_STORED_BYTES = 256 * 1024
"""Most bytes of an answer, which is stored for as long as the ledger exists. In place of a larger
answer a refusal is stored and sent, also to retries, and no state is changed. Answers of accepted
requests come nowhere near it."""
_MOST_STATE_NAME = 128
"""Most characters of a state's name in the ledger, with the tenant's name."""
_DIGEST_DIGITS = 40
"""Hexadecimal digits of a digest in a state's name: 160 bits, so that two names do not get the same
digest by chance."""
_WORD_BYTES = 8
"""Bytes of one word of `Source.words`."""
_TOO_LARGE = "The answer to this is too large to be stored. Ask for less."
"""Detail of the refusal that replaces an answer of more than MOST_STORED_BYTES."""


@dataclass(frozen=True)
class Reply:
    """An answer that is stored, and sent now and to every retry.

    It may be a refusal, where the refusal depends on the state.
    """

    status: int
    """HTTP status."""
    media_type: str
    """Media type of the body."""
    body: bytes
    """Bytes of the body."""

    def encode(self) -> bytes:
        """Encode the answer as it is stored: a line `STATUS MEDIA_TYPE`, then the body."""
        return f"{self.status} {self.media_type}\n".encode("ascii") + self.body

    @classmethod
    def decode(cls, data: bytes) -> Reply:
        """Read what `encode` wrote."""
        head, _, body = data.partition(b"\n")
        status, _, media_type = head.decode("ascii").partition(" ")
        return cls(int(status), media_type, body)

    def response(self, *, is_repeated: bool = False) -> Response:
        """Make the HTTP response.

        Args:
            is_repeated: Whether it is sent to a retry. Then a header of the response says so.
        """
        headers = {"Idempotency-Replayed": "true"} if is_repeated else None
        return Response(
            self.body, status_code=self.status, media_type=self.media_type, headers=headers
        )


def reply(content: Any, status: int = 200) -> Reply:
    """Make an answer whose body is JSON: without blanks, in ASCII, keys in the content's order."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return Reply(status, JSON, text.encode("ascii"))


def refusal(status: int, detail: str, kind: str | None = None) -> Reply:
    """Make an answer that is a problem; see `problem_body` for the arguments."""
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

    A change by a person that is neither charged nor prepaid counts as one of their free changes of
    the day. A retry does not count, nor does a request for which the ledger stored nothing.

    Args:
        service: The service.
        caller: Sender of the request.
        operation: Name of the operation in the log.
        key: The request's Idempotency-Key.
        payload: Content of the request; a request with the same key and another payload is refused.
        transition: Makes the answer and the new state.
        state: Name of the state within the tenant; None: no state is read or stored.
        charges: What the request costs, and the budgets that pay; empty: it costs nothing.
        counted_apart: Whether a free change counts against a daily limit of its own, which the
            person's other changes cannot use up. It is True for deletions.
        prepaid: Whether this is a later step of a request whose first step was charged, so that a
            budget bounds it already.

    Raises:
        Problem: Status 429, the person made as many free changes as they may; 503, the deadline
            passed before the commit. Nothing is stored.
        TacitError: The ledger refuses the request or cannot be reached; see `Ledger.release`.
    """

    def draw(source: Source, stored: bytes | None) -> tuple[bytes, bytes | None]:
        """Make the stored answer, with random bytes before it, and the new state."""
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
    """Make the HTTP response from an answer that the ledger stored.

    The random bytes that were stored in front of it are left out.
    """
    stored = Reply.decode(release.answer[SALT_BYTES:])
    return stored.response(is_repeated=release.repeated)


def _make_ledger_request(
    service: Service, caller: Caller, operation: str, key: str, payload: bytes
) -> Request:
    """Make the request as the ledger's log holds it, with hashes of its key and payload.

    The name of a caller who is no person has their role before it, so that their Idempotency-Keys
    are not those of a person of the same name.
    """
    name = caller.name if caller.role is Role.SUBJECT else f"{caller.role}:{caller.name}"
    hidden_key = service.keys.digest(f"key {operation}", key.encode()).hex()
    hidden_payload = service.keys.digest(f"payload {operation}", payload)
    return Request(caller.tenant, name, operation, hidden_key, hidden_payload)


def salt_states(transition: Transition) -> Transition:
    """Make a transition of salted states from one that reads and returns states without salt."""

    def salted_transition(source: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        answer, new_state = transition(source, remove_salt(stored))
        if new_state is not None:
            new_state = add_salt(source, new_state)
        return answer, new_state

    return salted_transition


def personal_state_name(kind: str, user: str) -> str:
    """Name a state that is one person's alone.

    A digest stands for the person's name, which may be too long for the name of a state.

    Args:
        kind: What the state holds, such as "feedback".
        user: Name of the person.
    """
    return f"{kind}/{_shorten_name(user)}"


def thing_state_name(noun: str, tenant: str, name: str) -> str:
    """Name the state of a thing that is served.

    It has a digest of the thing's name where the state's name would otherwise be too long.

    Args:
        noun: Word for the kind of the thing, such as "splits".
        tenant: Name of the tenant, which is put before the state's name in the ledger.
        name: Name of the thing.
    """
    plain = f"{noun}/{name}"
    if len(f"{tenant}/{plain}") <= _MOST_STATE_NAME:
        return plain
    return f"{noun}/long/{_shorten_name(name)}"


def _shorten_name(name: str) -> str:
    """Compute a digest that stands for a name which may be too long."""
    return hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_DIGITS]


def add_salt(source: Source, content: bytes) -> bytes:
    """Put SALT_BYTES random bytes before a content.

    Then SHA-256 of the whole reveals nothing about the content, as long as the bytes are secret.
    """
    return source.words(SALT_BYTES // _WORD_BYTES).tobytes() + content


def remove_salt(state: bytes | None) -> bytes | None:
    """Return the content that `add_salt` was given; None for no state."""
    return None if state is None else state[SALT_BYTES:]


def read_salted_state(service: Service, name: str) -> bytes | None:
    """Read a state of the tenant without its salt; None before its first change."""
    return remove_salt(service.read_state(name))
