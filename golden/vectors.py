"""One vector: what a device was given, and what it made of it.

Used for golden/ and for checks that draw their own. Ids are texts that begin with their type: "i12"
is the integer 12, "s12" the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.designs.sketches import device as sketches
from tacit.designs.sketches.messages import Campaign, Clusters
from tacit.designs.standard_scheme import device as scheme
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import Scores

Item = int | str
History = Mapping[Item, float]
Vector = dict[str, Any]
NOW = 1_000_000_000
"""Unix seconds at which a device of sketches is asked, before any campaign here closes."""

_NAMES_OF_CLIENTS = {"RefusalError": "Refused"}
"""What the TypeScript client calls an error of the standard scheme."""


def tagged(item: Item) -> str:
    return f"i{item}" if type(item) is int else f"s{item}"


def tagged_history(history: History) -> list[list[Any]]:
    return [[tagged(item), stars] for item, stars in history.items()]


def outcome(name: str, work: Callable[[], Any]) -> Vector:
    """{name: result}, or the class of the error and what it says."""
    try:
        return {name: work()}
    except ValueError as error:
        name = type(error).__name__
        return {"error": _NAMES_OF_CLIENTS.get(name, name), "says": str(error)}


def answer(
    campaigns: Sequence[bytes],
    catalogue: Sequence[Item],
    history: History,
    secret: bytes,
    limits: Mapping[str, Any] | None = None,
) -> Vector:
    """One device of sketches, asked one campaign after the other: the last one's report counts."""
    device = sketches.Device(secret, {}, sketches.Limits(**(limits or {})))
    asked = [Campaign.decode(data) for data in campaigns]

    def report() -> str:
        sent = [device.report(campaign, catalogue, history, now=NOW) for campaign in asked]
        return sent[-1].encode().hex()

    return {
        "campaigns": [data.hex() for data in campaigns],
        "catalogue": [tagged(item) for item in catalogue],
        "history": tagged_history(history),
        "secret": secret.hex(),
        "limits": dict(limits or {}),
        **outcome("report", report),
    }


def recommendation(
    clusters: bytes, catalogue: Sequence[Item], history: History, *, liked_from: float, n: int
) -> Vector:
    """What a device makes of clusters at home."""
    device = sketches.Device(bytes(32), {})
    decoded = Clusters.decode(clusters)

    def recommended() -> list[str]:
        best = device.recommend(decoded, catalogue, history, liked_from=liked_from, n=n)
        return [tagged(item) for item in best]

    return {
        "clusters": clusters.hex(),
        "catalogue": [tagged(item) for item in catalogue],
        "history": tagged_history(history),
        "liked_from": liked_from,
        "n": n,
        **outcome("recommended", recommended),
    }


def release(
    disclosures: Sequence[bytes],
    values: Sequence[Mapping[str, str]],
    histories: Sequence[History],
    secret: bytes,
) -> Vector:
    """One memory of the standard scheme, one visit an epoch: each one's disclosure, values and
    history, what left, and the memory at the end."""
    state = State(created=0)
    distinct = list(dict.fromkeys(disclosures))
    visits = list(enumerate(zip(disclosures, values, histories, strict=True)))

    def released() -> list[str]:
        sent = []
        for epoch, (data, own, history) in visits:
            device = scheme.Device(Disclosure.decode(data), own, state, secret)
            sent.append(device.release(history, epoch).encode().decode())
        return sent

    return {
        "disclosures": [data.decode() for data in distinct],
        "visits": [
            {
                "disclosure": distinct.index(data),
                "values": dict(own),
                "history": tagged_history(history),
                "epoch": epoch,
            }
            for epoch, (data, own, history) in visits
        ],
        "secret": secret.hex(),
        **outcome("releases", released),
        "memory": state.encode().decode(),
    }


def completion(disclosure: bytes, values: Mapping[str, str], scores: bytes) -> Vector:
    """Predicted stars for the owner."""
    device = scheme.Device(Disclosure.decode(disclosure), values, State(created=0), bytes(32))

    def predicted() -> list[list[Any]]:
        return tagged_history(device.complete(Scores.decode(scores)))

    return {
        "disclosure": disclosure.decode(),
        "values": dict(values),
        "scores": scores.decode(),
        **outcome("predicted", predicted),
    }


def readable(message: Any) -> Vector:
    """Bytes that are a message, and read and written again are the same."""
    data = message.encode()
    return {"kind": type(message).__name__, "bytes": data.hex(), "encoded": data.hex()}


def message(kind: Any, data: bytes, why: str) -> Vector:
    """Bytes that are no message of this kind."""
    found = outcome("decoded", lambda: repr(kind.decode(data)))
    if found.get("error") != "MessageError":
        raise AssertionError(f"{kind.__name__}, {why}: expected a refusal, found {found}")
    return {"kind": kind.__name__, "bytes": data.hex(), "why": why, **found}
