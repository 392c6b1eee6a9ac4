"""Stored states of all that is served: the log's hashes of them can be tried against nothing."""

from __future__ import annotations

from tacit.service.idempotency import SALT_BYTES
from tests.support.service_process import store_of

KINDS = {"vendors", "rounds", "campaigns", "letters", "feedback"}


def read_states(shop) -> dict[str, bytes]:
    """Read every stored state by its name, without that of the ledger's own log."""
    with store_of(shop.folder) as database:
        rows = database.execute("SELECT name, state FROM ledger_states").fetchall()
    return {name: bytes(state) for name, state in rows if name.startswith("demo/")}


def test_every_state_begins_with_fresh_bytes(shop, operations, valid):
    """After each operation the states that it changed begin with bytes that no state began with.

    Two of 16 random bytes are equal with a probability below 1e-35.
    """
    seen: set[bytes] = set()
    before: dict[str, bytes] = {}
    for operation in operations:
        if operation.method == "GET":
            continue
        ready = valid(operation.name).prepared(shop)
        for _ in range(2):
            shop.ask(ready.by, operation.method, ready.path, **ready.given)
            states = read_states(shop)
            for name, state in states.items():
                if before.get(name) != state:
                    assert state[:SALT_BYTES] not in seen, (operation.name, name)
                    seen.add(state[:SALT_BYTES])
            before = states
    assert {name.split("/")[1] for name in before} >= KINDS
