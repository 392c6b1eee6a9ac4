"""A person's device over HTTP: what it sends, it decided itself.

It fetches what is public, makes the message itself, remembers it durably, and only then sends it.
The service gets reports and letters, never a star or an attribute. Needs the standard library
alone, so that it runs where no numerical package is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tacit.client.device_memory import Account, FileAccount, FileMemory, Kept, Memory
from tacit.client.letters import History, Letters, Spoken
from tacit.client.transport import ServiceError, Transport, quoted
from tacit.designs.private.device import DeviceLists
from tacit.designs.sketches import device as sketches
from tacit.designs.sketches.device import Limits, new_secret
from tacit.designs.sketches.messages import Campaign, Clusters
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.messages import ItemId
from tacit.errors import ConfigError, PrivacyError

__all__ = [
    "Account",
    "Client",
    "FileAccount",
    "FileMemory",
    "Kept",
    "Limits",
    "Memory",
    "Sent",
    "ServiceError",
    "Spoken",
    "new_secret",
]


@dataclass(frozen=True)
class Sent:
    """The bytes that left the device, what each of them means, and the service's receipt."""

    data: bytes
    meaning: list[list[str]]
    receipt: Any


class Client(Letters):
    """One person's device and one service.

    account, memory: a memory belongs to one account. Programs that share both files take turns and
    keep the limits together. A device that got the account from elsewhere, and no memory with it,
    decides and sends nothing in letters.
    limits: for sketches. settings: those of `Transport`.

    Every method raises ServiceError where the service fails, PrivacyError where the device refuses
    (nothing was sent then), and ConfigError for stars or values that do not fit what is asked.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        account: Account,
        memory: Memory,
        limits: sketches.Limits | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(Transport(url, key, **settings), account, memory)
        self._limits = limits
        self._lists: dict[str, DeviceLists] = {}

    def campaigns(self) -> list[dict[str, Any]]:
        """What the service says about each of its campaigns."""
        return self._service.listed("campaigns")

    def campaign(self, name: str, *, digest: str | None = None) -> Campaign:
        """A campaign; PrivacyError if its digest, in hex, is not the expected one."""
        campaign = self._service.message(Campaign.decode, "campaigns", name)
        _check_pin("campaign", digest, campaign.digest.hex())
        return campaign

    def report(self, name: str, history: History, *, digest: str | None = None) -> Sent:
        """Answer a campaign about one's stars: once, and with the same bytes ever after."""
        campaign = self.campaign(name, digest=digest)
        catalogue = self._service.catalogue(name, campaign.catalogue)
        with _refusing(), self._memory.turn() as kept:
            self._check(kept)
            device = sketches.Device(self._account.secret, kept.reports, self._limits)
            report = device.report(campaign, catalogue, history)
        data = report.encode()
        receipt = self._service.post(f"/api/campaigns/{quoted(name)}/reports", data)
        meaning = sketches.explain(campaign, report, catalogue)
        return Sent(data, meaning, self._service.json(receipt))

    def recommend(
        self, name: str, history: History, *, liked_from: float, n: int = 10
    ) -> list[ItemId]:
        """The n best items not rated yet, by a campaign's clusters. No star is sent."""
        clusters = self._service.message(Clusters.decode, "campaigns", name, "clusters")
        device = sketches.Device(self._account.secret, {}, self._limits)
        catalogue = self._service.catalogue(name, clusters.catalogue)
        return device.recommend(clusters, catalogue, history, liked_from=liked_from, n=n)

    def recommend_private(
        self, name: str, history: History, *, n: int = 10, digest: str | None = None
    ) -> list[ItemId]:
        """The n best items not rated yet, by a released private model and true stars.

        Nothing is sent. The model is fetched once by this object, without a key; ServiceError of
        status 404 where it has no file for devices. PrivacyError if its digest, in hex, is not the
        expected one.
        """
        if name not in self._lists:
            self._lists[name] = self._service.message(DeviceLists.decode, "models", name, "device")
        lists = self._lists[name]
        _check_pin("model", digest, lists.digest)
        return [item for item, _ in lists.rank(history, n=n)]

    def disclosures(self) -> list[dict[str, Any]]:
        """What the service says about each of its disclosures."""
        return self._service.listed("disclosures")

    def disclosure(self, name: str, *, digest: str | None = None) -> Disclosure:
        """A disclosure; PrivacyError if its digest, 16 hex digits, is not the expected one."""
        disclosure = self._service.disclosure(name)
        _check_pin("disclosure", digest, disclosure.digest)
        return disclosure


@contextmanager
def _refusing() -> Iterator[None]:
    """What the device of sketches says no to, in the errors of tacit."""
    try:
        yield
    except sketches.Refused as refused:
        raise PrivacyError(f"The device does not answer: {refused}. Nothing was sent.") from None
    except ValueError as error:
        raise ConfigError(f"{error}. Nothing was sent.") from None


def _check_pin(what: str, expected: str | None, shown: str) -> None:
    if expected is not None and expected.lower() != shown:
        raise PrivacyError(
            f"The service shows a {what} with the digest {shown}, which is not the expected one. "
            "It may show others something else. Nothing was sent."
        )
