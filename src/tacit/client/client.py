"""A person's device that talks to a service.

It fetches what is public, makes the message itself, remembers it durably, and only then sends it.
The service gets reports and letters, never a star or an attribute.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

from tacit.client.account import Account
from tacit.client.device_memory import Memory
from tacit.client.fetching import Public, quoted
from tacit.client.letters import History, Letters, Spoken
from tacit.client.sharing import Sharing
from tacit.client.transport import Transport
from tacit.designs.sketches import device as sketches
from tacit.designs.sketches.messages import Campaign
from tacit.designs.standard_scheme.messages import Disclosure, ItemId
from tacit.designs.standard_scheme.synchronised import Store
from tacit.errors import ConfigError, PrivacyError


@dataclass(frozen=True)
class Sent:
    """The bytes that left the device, what each of them means, and the service's receipt."""

    data: bytes
    meaning: list[list[str]]
    receipt: Any


class Client:
    """One person's device and one service.

    account, memory: a memory belongs to one account. Programs that share both files take turns and
    keep the limits together. A device that got the account from elsewhere, and no memory with it,
    decides and sends nothing in letters.
    limits: for sketches.
    store: for letters of several devices; a folder that all of them open, or any
    `synchronised.Store`, and never at the service. OutputError where it cannot be used. It is read
    and written when a letter is due. One device has the right to send.
    Further settings are those of `Transport`.

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
        store: Store | str | PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        self._service = Transport(url, key, **settings)
        self._public = Public(self._service)
        self._letters = Letters(self._service, account, memory, Sharing(store))
        self._account = account
        self._memory = memory
        self._limits = limits

    def campaigns(self) -> list[dict[str, Any]]:
        """What the service says about each of its campaigns."""
        return self._public.listed("campaigns")

    def campaign(self, name: str, *, digest: str | None = None) -> Campaign:
        """A campaign; PrivacyError if its digest, in hex, is not the expected one."""
        campaign = self._public.campaign(name)
        _check_pin("campaign", digest, campaign.digest.hex())
        return campaign

    def report(self, name: str, history: History, *, digest: str | None = None) -> Sent:
        """Answer a campaign about one's stars: once, and with the same bytes ever after."""
        campaign = self.campaign(name, digest=digest)
        catalogue = self._public.catalogue(name, campaign.catalogue)
        with _refusing(), self._memory.turn() as kept:
            self._letters.check(kept)
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
        clusters = self._public.clusters(name)
        device = sketches.Device(self._account.secret, {}, self._limits)
        catalogue = self._public.catalogue(name, clusters.catalogue)
        return device.recommend(clusters, catalogue, history, liked_from=liked_from, n=n)

    def recommend_private(
        self, name: str, history: History, *, n: int = 10, digest: str | None = None
    ) -> list[ItemId]:
        """The n best items not rated yet, by a released private model and true stars.

        Nothing is sent. The model is fetched once by this object, without a key; ServiceError of
        status 404 where it has no file for devices. PrivacyError if its digest, in hex, is not the
        expected one.
        """
        lists = self._public.lists(name)
        _check_pin("model", digest, lists.digest)
        return [item for item, _ in lists.rank(history, n=n)]

    def disclosures(self) -> list[dict[str, Any]]:
        """What the service says about each of its disclosures."""
        return self._public.listed("disclosures")

    def disclosure(self, name: str, *, digest: str | None = None) -> Disclosure:
        """A disclosure; PrivacyError if its digest, 16 hex digits, is not the expected one."""
        disclosure = self._public.disclosure(name)
        _check_pin("disclosure", digest, disclosure.digest)
        return disclosure

    def speak(
        self,
        name: str,
        values: Mapping[str, str],
        history: History,
        now: int | None = None,
        *,
        entered: Mapping[ItemId, int] | None = None,
        digest: str | None = None,
    ) -> Spoken:
        """Send the letter to a disclosure, if the calendar says that one is due.

        values: the person's value of each attribute of the disclosure; they never leave. history:
        all present stars. now: Unix seconds, by default this machine's. entered: the second at
        which each star was entered first, by default that at which it was first in a `history`.
        digest: the disclosure's, where it is known from elsewhere.
        A letter that was not answered is sent again with the same bytes, at most every 10 minutes.
        Call this when the program starts and by a clock, never from code that handles a rating.
        """
        return self._letters.speak(name, values, history, now, entered=entered, digest=digest)

    def recommend_from_letter(self, name: str, history: History, *, n: int = 10) -> list[ItemId]:
        """The n best items not rated yet, by the scores of the last letter. Nothing is sent."""
        return self._letters.recommended(name, history, n)

    def predict(self, name: str, values: Mapping[str, str]) -> dict[ItemId, float]:
        """Predicted stars of all items, by the scores of the last letter. Nothing is sent."""
        return self._letters.predicted(name, values)

    def at_device(
        self, name: str, history: History, *, n: int = 10, now: int | None = None
    ) -> list[ItemId]:
        """The n best items not rated yet, by the service's item table and true stars.

        Nothing is sent. The table is fetched once an epoch by this object, without a key;
        ServiceError of status 404 where the service publishes none.
        """
        return self._letters.at_device(name, history, n, now)

    def forget(self, user: str, history: Collection[ItemId], now: int | None = None) -> Any:
        """Have the service delete all that it keeps about this account; its receipt.

        user: the name that the key is for. history: all present ratings, or their items. Before
        that the memory, and the store, drop everything but the ids of the items that are rated or
        were decided: a next account with this memory never decides them. This account sends
        nothing more but this wish, which may be repeated, also by a new `Client`.
        """
        return self._service.json(self._letters.forget(user, history, now))


@contextmanager
def _refusing() -> Iterator[None]:
    """What the device of sketches says no to, in the errors of tacit."""
    try:
        yield
    except sketches.Refused as refused:
        raise PrivacyError(f"The device does not answer: {refused}. Nothing was sent.") from None
    except ValueError as error:
        raise ConfigError(f"{error}. Nothing was sent.") from None


def _check_pin(what: str, expected: str | None, found: str) -> None:
    if expected is not None and expected.lower() != found:
        raise PrivacyError(
            f"The service shows a {what} with the digest {found}, which is not the expected one. "
            "It may show others something else. Nothing was sent."
        )
