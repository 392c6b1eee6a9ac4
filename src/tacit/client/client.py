"""The client of one person's device at one service.

It reports to campaigns of the sketches design, makes lists from private models, and sends letters
of the standard scheme (`Letters`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tacit.client.accounts import Account
from tacit.client.letters import History, Letters, check_length
from tacit.client.memories import Memory
from tacit.client.transport import Transport, quote_name
from tacit.designs.private.device import DeviceLists
from tacit.designs.sketches import device as sketches
from tacit.designs.sketches.messages import Campaign, Clusters
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.messages import ItemId
from tacit.errors import ConfigError, PrivacyError


@dataclass(frozen=True)
class SentReport:
    """A report that left the device."""

    data: bytes
    """The bytes that were sent."""
    meaning: list[list[str]]
    """The meaning of these bytes: rows of two texts, some bytes in hexadecimal digits and a
    sentence about them."""
    receipt: Any
    """The service's receipt, parsed from JSON."""


class Client(Letters):
    """One person's device at one service.

    Several programs may share the files of account and memory: they take turns, and the limits
    hold for all of them together. A device that has a copy of the account, but not its memory,
    decides nothing about ratings, and sends no letters.

    Methods raise ServiceError if the service fails, PrivacyError if the device refuses (then
    nothing was sent), and ConfigError for stars or values that do not fit what the service asks.
    `send_letter` does not raise for such stars or values, but says so in its notice.

    Args:
        url: Address of the service.
        key: The person's key.
        account: The person's account at the service.
        memory: The account's memory.
        limits: Limits on what the device reports to campaigns of the sketches design; None: the
            default limits of the design.
        settings: Further arguments of `Transport`.
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
        """Fetch the service's description of each of its campaigns."""
        return self._service.fetch_rows("campaigns")

    def campaign(self, name: str, *, digest: str | None = None) -> Campaign:
        """Fetch a campaign.

        Args:
            name: The campaign's name.
            digest: Its expected SHA-256 in hexadecimal digits; PrivacyError for another one. None:
                any.
        """
        campaign = self._service.fetch_message(Campaign.decode, "campaigns", name)
        _check_digest("campaign", digest, campaign.digest.hex())
        return campaign

    def report(self, name: str, history: History, *, digest: str | None = None) -> SentReport:
        """Send a randomised report of the history to a campaign.

        The report is stored before it is sent. A second call for the same campaign sends the stored
        bytes, whatever the history is by then.

        Args:
            name: The campaign's name.
            history: Stars by item.
            digest: The campaign's expected SHA-256, in hexadecimal digits; PrivacyError for another
                one. None: any.
        """
        campaign = self.campaign(name, digest=digest)
        catalogue = self._service.fetch_catalogue(name, campaign.catalogue_digest)
        with _translate_refusals(), self._memory.transaction() as content:
            self._check_account(content)
            device = sketches.Device(self._account.secret, content.reports, self._limits)
            report = device.report(campaign, catalogue, history)
        data = report.encode()
        receipt = self._service.post(f"/api/campaigns/{quote_name(name)}/reports", data)
        meaning = sketches.explain(campaign, report, catalogue)
        return SentReport(data, meaning, self._service.parse_json(receipt))

    def recommend(
        self, name: str, history: History, *, liked_from: float, n: int = 10
    ) -> list[ItemId]:
        """List the best items not rated yet, by a campaign's clusters. The stars are not sent.

        Args:
            name: The campaign's name.
            history: Stars by item.
            liked_from: Lowest stars of an item that counts as liked.
            n: Most items of the list.
        """
        check_length(n)
        clusters = self._service.fetch_message(Clusters.decode, "campaigns", name, "clusters")
        device = sketches.Device(self._account.secret, {}, self._limits)
        catalogue = self._service.fetch_catalogue(name, clusters.catalogue_digest)
        return device.recommend(clusters, catalogue, history, liked_from=liked_from, n=n)

    def recommend_private(
        self, name: str, history: History, *, n: int = 10, digest: str | None = None
    ) -> list[ItemId]:
        """List the best items not rated yet, by a released private model and true stars.

        No rating is sent. The model is fetched once by this object, without a key.

        Args:
            name: The model's name.
            history: Stars by item.
            n: Most items of the list.
            digest: The model's expected digest in hexadecimal digits; PrivacyError for another one.
                None: any.

        Raises:
            ServiceError: The model has no file for devices (status 404).
        """
        if name not in self._lists:
            self._lists[name] = self._service.fetch_message(
                DeviceLists.decode, "models", name, "device"
            )
        lists = self._lists[name]
        _check_digest("model", digest, lists.digest)
        return [item for item, _ in lists.rank(history, n=n)]

    def disclosures(self) -> list[dict[str, Any]]:
        """Fetch the service's description of each of its disclosures."""
        return self._service.fetch_rows("disclosures")

    def disclosure(self, name: str, *, digest: str | None = None) -> Disclosure:
        """Fetch a disclosure.

        Args:
            name: The disclosure's name.
            digest: Its expected digest, 16 hexadecimal digits; PrivacyError for another one. None:
                any.
        """
        disclosure = self._service.fetch_disclosure(name)
        _check_digest("disclosure", digest, disclosure.digest)
        return disclosure


@contextmanager
def _translate_refusals() -> Iterator[None]:
    """Raise errors of the sketches' device as errors of tacit: PrivacyError and ConfigError."""
    try:
        yield
    except sketches.RefusalError as refusal:
        raise PrivacyError(f"The device does not answer: {refusal}. Nothing was sent.") from None
    except ValueError as error:
        raise ConfigError(f"{error}. Nothing was sent.") from None


def _check_digest(noun: str, expected: str | None, actual: str) -> None:
    """Check that a public file that the service shows is the expected one.

    Args:
        noun: Noun for the content of the file, such as "campaign".
        expected: The expected digest in hexadecimal digits; None: any.
        actual: Digest of the file, in lower case.

    Raises:
        PrivacyError: It is another file.
    """
    if expected is not None and expected.lower() != actual:
        raise PrivacyError(
            f"The service shows a {noun} with the digest {actual}, which is not the expected one. "
            f"It may show another {noun} to other people. Nothing was sent."
        )
