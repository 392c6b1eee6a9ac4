"""A person's device that talks to a service.

It fetches what is public, makes the message itself, remembers it durably, and only then sends it.
The service gets reports and releases, never a star or an attribute.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from tacit.client.keeping import Memory
from tacit.client.transport import ServiceError, Transport
from tacit.errors import ConfigError, PrivacyError
from tacit.recommenders.sketches import device as sketches
from tacit.recommenders.sketches.messages import (
    Campaign,
    Clusters,
    MessageError,
    catalogue_digest,
)
from tacit.recommenders.standard_scheme import device as scheme
from tacit.recommenders.standard_scheme.canonical import MessageError as NotCanonical
from tacit.recommenders.standard_scheme.messages import Disclosure, ItemId, Scores
from tacit.recommenders.standard_scheme.refusing import Refused

M = TypeVar("M")
History = Mapping[ItemId, float]


@dataclass(frozen=True)
class Sent:
    """The bytes that left the device, what each of them means, and the service's receipt."""

    data: bytes
    meaning: list[list[str]]
    receipt: Any


class Client:
    """One person's device and one service.

    secret, memory: the account's; every device that has both sends the same bytes and keeps the
    limits together. limits: for sketches. Further settings are those of `Transport`.

    Every method raises ServiceError where the service fails, PrivacyError where the device refuses
    (nothing was sent then), and ConfigError for stars or values that do not fit what is asked.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        secret: bytes,
        memory: Memory,
        limits: sketches.Limits | None = None,
        **settings: Any,
    ) -> None:
        if len(secret) < 32:
            raise ConfigError("A secret has at least 32 bytes: make one with new_secret().")
        self._service = Transport(url, key, **settings)
        self._secret = secret
        self._memory = memory
        self._limits = limits

    def campaigns(self) -> list[dict[str, Any]]:
        """What the service says about each of its campaigns."""
        return self._listed("campaigns")

    def campaign(self, name: str, *, digest: str | None = None) -> Campaign:
        """A campaign; PrivacyError if its digest, in hex, is not the expected one."""
        campaign = self._message(Campaign.decode, f"/api/campaigns/{_quoted(name)}")
        _check_pin("campaign", digest, campaign.digest.hex())
        return campaign

    def report(self, name: str, history: History, *, digest: str | None = None) -> Sent:
        """Answer a campaign about one's stars: once, and with the same bytes ever after."""
        campaign = self.campaign(name, digest=digest)
        catalogue = self._catalogue(name, campaign.catalogue)
        with _refusing(), self._memory.turn() as kept:
            device = sketches.Device(self._secret, kept.reports, self._limits)
            report = device.report(campaign, catalogue, history)
        data = report.encode()
        receipt = self._service.post(f"/api/campaigns/{_quoted(name)}/reports", data)
        meaning = sketches.explain(campaign, report, catalogue)
        return Sent(data, meaning, self._service.json(receipt))

    def recommend(
        self, name: str, history: History, *, liked_from: float, n: int = 10
    ) -> list[ItemId]:
        """The n best items not rated yet, by a campaign's clusters. No star is sent."""
        clusters = self._message(Clusters.decode, f"/api/campaigns/{_quoted(name)}/clusters")
        device = sketches.Device(self._secret, {}, self._limits)
        catalogue = self._catalogue(name, clusters.catalogue)
        return device.recommend(clusters, catalogue, history, liked_from=liked_from, n=n)

    def disclosures(self) -> list[dict[str, Any]]:
        """What the service says about each of its disclosures."""
        return self._listed("disclosures")

    def disclosure(self, name: str, *, digest: str | None = None) -> Disclosure:
        """A disclosure; PrivacyError if its digest, 16 hex digits, is not the expected one."""
        disclosure = self._message(Disclosure.decode, f"/api/disclosures/{_quoted(name)}")
        _check_pin("disclosure", digest, disclosure.digest)
        return disclosure

    def predict(
        self,
        name: str,
        values: Mapping[str, str],
        history: History,
        *,
        digest: str | None = None,
    ) -> dict[ItemId, float]:
        """Predicted stars: an obfuscated profile goes out, scores come back and are completed here.

        values: the person's value of each attribute of the disclosure; they never leave.
        """
        disclosure = self.disclosure(name, digest=digest)
        with _refusing(), self._memory.turn() as kept:
            device = scheme.Device(disclosure, values, kept.state, self._secret)
            release = device.release(history, 0)
        path = f"/api/disclosures/{_quoted(name)}/profiles"
        scores = self._decoded(Scores.decode, self._scored(path, release.encode()))
        try:
            return device.complete(scores)
        except (ValueError, OverflowError) as error:
            raise ServiceError(f"The service's scores cannot be used: {error}.") from None

    def _scored(self, path: str, profile: bytes) -> bytes:
        """Scores for a profile; what was answered before is answered again, while it can be."""
        try:
            return self._service.post(path, profile)
        except ServiceError as error:
            if error.status != 409:
                raise
        # The service learned since. The bytes are the same ones, and tell it nothing more.
        return self._service.post(path, profile, anew=secrets.token_hex(8))

    def _listed(self, noun: str) -> list[dict[str, Any]]:
        answer = self._service.json(self._service.get(f"/api/{noun}"))
        listed = answer.get(noun) if isinstance(answer, dict) else None
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise ServiceError(f"The service's list of {noun} is no list.")
        return listed

    def _catalogue(self, name: str, digest: bytes) -> list[ItemId]:
        """The item ids that a message names by this digest."""
        path = f"/api/campaigns/{_quoted(name)}/catalogue"
        answer = self._service.json(self._service.get(path))
        items = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            items = []
        named = all(type(item) in (int, str) for item in items)
        if not named or catalogue_digest(items) != digest:
            raise ServiceError("The service's catalogue is not the list that its message names.")
        return list(items)

    def _message(self, decode: Callable[[bytes], M], path: str) -> M:
        return self._decoded(decode, self._service.get(path))

    def _decoded(self, decode: Callable[[bytes], M], data: bytes) -> M:
        try:
            return decode(data)
        except (MessageError, NotCanonical, OverflowError) as error:
            raise ServiceError(f"The service sent what is no message: {error}.") from None


@contextmanager
def _refusing() -> Iterator[None]:
    """What the device says no to, in the errors of tacit."""
    try:
        yield
    except (sketches.Refused, Refused) as refused:
        raise PrivacyError(f"The device does not answer: {refused}. Nothing was sent.") from None
    except ValueError as error:
        raise ConfigError(f"{error}. Nothing was sent.") from None


def _check_pin(what: str, expected: str | None, found: str) -> None:
    if expected is not None and expected.lower() != found:
        raise PrivacyError(
            f"The service shows a {what} with the digest {found}, which is not the expected one. "
            "It may show others something else. Nothing was sent."
        )


def _quoted(name: str) -> str:
    if name in ("", ".", ".."):
        raise ConfigError("A campaign or disclosure is asked for by its name.")
    return quote(name, safe="")
