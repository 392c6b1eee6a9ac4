"""Campaigns of the sketches as they are served: a public question out, noisy bits in, counts kept.

Runs at    the recommender, which nobody has to trust.
Sees       reports of randomised bits, and whose key they came with. Never a rating.
Keeps      counts by item or pair: how often each was asked about and answered 1, in the same room
           however many reports came; the state before is written over in the transaction that
           answers. For each person who reported: that they did, the second, and a keyed hash of
           their report; the report itself is added to the counts and gone.
Charges    the person's own budget, with what their report costs for everything they rated. Their
           device spent that whether or not anybody writes it down: the ledger is the one place
           where the sum over all campaigns is kept, and where it ends.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit.designs.sketches import (
    Campaign,
    Clusters,
    Limits,
    MessageError,
    Report,
    Server,
    cards,
    item_counts,
    new_campaign,
    pair_counts,
    publish,
)
from tacit.designs.sketches.campaigns import NEVER
from tacit.designs.sketches.clustering import cluster_items
from tacit.designs.sketches.messages import MICRO, NO_NOISE, UNITS, WHOLE, ItemId, catalogue_digest
from tacit.designs.sketches.population import likes_of, server_of_reports
from tacit.errors import ConfigError, ModelFileError
from tacit.ledger import Cap, Charge, Cost, Holder
from tacit.privacy import Guarantee
from tacit.randomness import secure
from tacit.service.idempotency import Reply, refusal, reply
from tacit.service.problems import Problem
from tacit.service.served_things import Section, ServedThing
from tacit.service.setting_tables import TOML, setting
from tacit.service.strict_json import RefusedContent, parse_json

LARGEST_STATE = 2 * 2**20
"""Bytes of counts: they are written with every report."""
# Made anew for each answer: an exception keeps the frames that it was raised in.
_UNREAD = partial(Problem, 422, "This is not a report for this campaign. Fetch the campaign again.")
_OPEN = b"o"
_CLOSED = b"c"
_COUNT = np.dtype("<i8")
_DEMO_PEOPLE = 20_000
_DEMO_RATED = 30
_DEMO_LIKED_FROM = 4.0


@dataclass(frozen=True, kw_only=True)
class CampaignSettings:
    """The lines of [campaigns.NAME]."""

    campaign: str = setting(
        "the campaign, a file of `Campaign.encode()`",
        refused="one without noise, by pairs that people rated, or of too many places",
    )
    items: str = setting(
        "its catalogue, a JSON file: item ids in their order", refused="another catalogue"
    )
    lifetime: float = setting(
        "the epsilon of one person over all campaigns; their first report opens the budget",
        Limits.lifetime,
        unit="nats",
        refused="less than one report costs",
    )
    counts: str | None = setting(
        "reports that came from elsewhere before, a file of `Server.save`",
        None,
        default_text="none",
        refused="counts of another campaign",
    )


@dataclass(frozen=True)
class ServedCampaign(ServedThing):
    """One campaign as it is served."""

    SETTINGS: ClassVar = CampaignSettings

    tenant: str
    """Who is served."""
    name: str
    """Name of its section."""
    campaign: Campaign = field(repr=False)
    """The question."""
    items: tuple[ItemId, ...] = field(repr=False)
    """Its catalogue."""
    lifetime: float = Limits.lifetime
    """Nats that a person's own budget is opened with, at their first report to any campaign; it is
    for life, so a later campaign's does not change it."""
    earlier: bytes | None = field(default=None, repr=False)
    """State before the first report; None where none came from elsewhere."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Read what is served from the lines of `CampaignSettings`.

        Raises:
            ConfigError: The section names what is not served.
        """
        lifetime = section.read_settings(CampaignSettings).lifetime
        campaign = _read_campaign(section)
        items = _read_items(section, campaign)
        earlier = _read_earlier_counts(section, campaign)
        served = cls(section.tenant, section.name, campaign, items, lifetime, earlier)
        if served.cost.amount > Cap.pure(lifetime).amount:
            raise ConfigError(
                f"{TOML}: {section.name}.lifetime is {served.lifetime:g}, and one report costs "
                f"{served.cost.amount / MICRO:g} for everything a person rated: nobody could "
                "report."
            )
        served.count_report(Report(campaign.id, 1, 0).encode(), None)  # compiles what counts
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """Yield no budget of a data set: every person has their own, from their first report on."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return one card for each unit, the campaign's own first."""
        units = sorted(UNITS, key=lambda unit: unit != self.campaign.unit)
        return tuple(self._cards[unit] for unit in units)

    def describe_releases(self) -> str:
        """Say what nobody can take back."""
        return (
            f"a report to the campaign {self.name}, if there was one: it was added to counts that "
            f"hold no names, and costs at most epsilon {self.cost.amount / MICRO:g} for everything "
            "you rated, by the noise your device put in"
        )

    @cached_property
    def state(self) -> str:
        """Name of the stored counts. Another campaign under the same name has others."""
        return f"campaigns/{self.campaign.id.hex()}"

    @cached_property
    def cost(self) -> Cost:
        """Cost of one report, for everything a person rated, whatever unit the campaign states."""
        everything = self._cards["user"].epsilon
        assert everything is not None
        stated = Fraction(self.campaign.epsilon, MICRO)
        exact = stated if self.campaign.unit == "user" else Fraction(everything)
        return Cost.pure(max(stated, exact))

    @cached_property
    def _cards(self) -> dict[str, Guarantee]:
        return dict(zip(UNITS, cards(self.campaign), strict=True))

    def describe(self, saved: bytes | None) -> dict[str, Any]:
        """Describe the campaign and how far it is, as JSON."""
        campaign = self.campaign
        now = self.counts(saved)
        return {
            "name": self.name,
            "id": campaign.id.hex(),
            "method": campaign.method,
            "unit": campaign.unit,
            "items": campaign.items,
            "questions": campaign.questions,
            "epsilon": campaign.epsilon / MICRO,
            "liked_from": campaign.liked_from / 1000,
            "until": None if campaign.closes >= NEVER else campaign.closes,
            "closed": now.closed,
            "clusters": bool(now.clusters),
            "guarantee": self.guarantees()[0].sentence,
        }

    def counts(self, saved: bytes | None) -> CampaignCounts:
        """Read the counts from the stored state."""
        return CampaignCounts.decode(self.campaign, self.earlier if saved is None else saved)

    def check(self, data: bytes) -> None:
        """Check that bytes are a report that counts for this campaign.

        Raises:
            Problem: Status 422; they are not.
        """
        try:
            report = Report.decode(data)
        except MessageError:
            raise _UNREAD() from None
        fits = report.campaign == self.campaign.id and report.ticket > 0 and report.pair is None
        if not fits or report.bits >> self.campaign.questions:
            raise _UNREAD()

    def charge(self, user: str) -> Charge:
        """Charge a report to its person's budget, which their first one opens."""
        holder = Holder.subject(self.tenant, user)
        return Charge(holder, self.cost, opens=Cap.pure(self.lifetime))

    # Steps: each takes the stored state and gives the answer and the next state

    def count_report(self, report: bytes, saved: bytes | None) -> tuple[Reply, bytes | None]:
        """Count a report that was checked. The clock refuses late ones and does nothing else."""
        now = self.counts(saved)
        if now.closed or not now.counts.fold_each([report], now=int(time.time())).accepted_count:
            return refusal(409, "This campaign takes no more reports."), None
        return reply({"counted": True}), now.encode()

    def close(self, saved: bytes | None) -> tuple[Reply, bytes | None]:
        """Take no more reports. Closed again, it answers the same."""
        now = self.counts(saved)
        closed = CampaignCounts(now.counts, True, now.clusters).encode()
        return reply({"reports": now.counts.reports}), closed

    def keep_clusters(self, made: bytes, saved: bytes | None) -> tuple[Reply, bytes | None]:
        """Put the clusters of a closed campaign beside its counts, unless they are there."""
        now = self.counts(saved)
        clusters = now.clusters or made
        labels = np.frombuffer(Clusters.decode(clusters).labels, dtype=np.uint8)
        sizes = np.bincount(labels).tolist()  # by label, how many items
        answer = {"reports": now.counts.reports, "clusters": len(sizes), "sizes": sizes}
        return reply(answer), CampaignCounts(now.counts, True, clusters).encode()


def _read_campaign(section: Section) -> Campaign:
    """Read a campaign that can be served."""
    name = section.name
    try:
        campaign = Campaign.decode(section.file_path("campaign").read_bytes())
    except MessageError as error:
        raise ConfigError(f"{TOML}: {name}.campaign is no campaign: {error}.") from None
    if campaign.epsilon == NO_NOISE:
        raise ConfigError(
            f"{TOML}: {name} has no noise, and devices refuse it. It is for experiments and is not "
            "served."
        )
    if campaign.names_pair:
        raise ConfigError(
            f"{TOML}: {name} has people name pairs of items they rated, which no budget can count. "
            "It is not served: take 'multi-maxsense' or 'pairwise-preference'."
        )
    if 16 * campaign.places > LARGEST_STATE:
        raise ConfigError(
            f"{TOML}: {name} counts {campaign.places} places, and at most {LARGEST_STATE // 16} "
            "are served. Sense sets, or ask about fewer items."
        )
    return campaign


def _read_items(section: Section, campaign: Campaign) -> tuple[ItemId, ...]:
    """Read the campaign's catalogue."""
    name = section.name
    try:
        items = parse_json(section.file_path("items").read_bytes())
    except RefusedContent as error:
        raise ConfigError(f"{TOML}: {name}.items is not read: {error}.") from None
    are_ids = isinstance(items, list) and all(type(item) in (int, str) for item in items)
    if not are_ids or len(items) != campaign.items or catalogue_digest(items) != campaign.catalogue:
        raise ConfigError(
            f"{TOML}: {name}.items is not the catalogue that the campaign was designed for: a JSON "
            "list of its item ids in their order."
        )
    return tuple(items)


def _read_earlier_counts(section: Section, campaign: Campaign) -> bytes | None:
    """Read the counts of reports that came from elsewhere; None where the section names none."""
    if "counts" not in section.values:
        return None
    try:
        counts = Server.load(section.file_path("counts"))
    except ModelFileError as error:
        raise ConfigError(f"{TOML}: {section.name}.counts is no checkpoint. {error}") from None
    if counts.campaign != campaign:
        raise ConfigError(f"{TOML}: {section.name}.counts are of another campaign.")
    return CampaignCounts(counts).encode()


@dataclass(frozen=True, eq=False)
class CampaignCounts:
    """Stored state of a campaign."""

    counts: Server
    """Counts of the reports so far."""
    closed: bool = False
    """Whether no more reports are taken."""
    clusters: bytes = b""
    """The message of the learned clusters; empty until they are made."""

    @classmethod
    def decode(cls, campaign: Campaign, saved: bytes | None) -> Self:
        """Read what `encode` wrote; no reports yet where nothing was stored."""
        counts = Server(campaign, keep_tickets=False)  # the ledger takes one report of each person
        if saved is None:
            return cls(counts)
        counts.cells[:] = np.frombuffer(saved, _COUNT, counts.cells.size, 1)
        return cls(counts, saved[:1] == _CLOSED, saved[1 + counts.cells.nbytes :])

    def encode(self) -> bytes:
        """Write the state for the ledger."""
        numbers = self.counts.cells.astype(_COUNT).tobytes()
        return (_CLOSED if self.closed else _OPEN) + numbers + self.clusters

    def make_clusters(self) -> bytes:
        """Cluster the items by these counts: the same every time."""
        return publish(self.counts.campaign, cluster_items(self.counts)).encode()

    def report(self, items: tuple[ItemId, ...]) -> dict[str, Any]:
        """Report every item to analysts.

        Returns:
            JSON. An item's `estimate` is the unbiased share of true yes among questions about it,
            `error` its standard deviation by the noise and by chance; None where nobody was asked.
        """
        counts = self.counts
        truth = counts.campaign.truth / WHOLE
        signal = 2 * truth - 1
        found = item_counts(counts) if counts.campaign.senses else pair_counts(counts).by_item()
        rows = []
        for item, total, yes in zip(items, found.asked.tolist(), found.ones.tolist(), strict=True):
            estimate = None
            error = None
            if total:
                share = yes / total
                estimate = (share - (1 - truth)) / signal
                error = math.sqrt(share * (1 - share) / total) / signal
            rows.append({"item": item, "asked": total, "estimate": estimate, "error": error})
        return {"reports": counts.reports, "closed": self.closed, "items": rows}


def make_demo(folder: Path) -> str:
    """Write a campaign about the generated films, its catalogue and the counts so far.

    Twenty thousand people reported. They are copies of the generated people, who are too few for a
    campaign that trusts nobody: each bit tells little. What they said is as noisy as what any
    device says.
    """
    from tacit.service.demo_data import population

    people = population()
    items = people.item_ids.tolist()
    campaign = new_campaign(items, rated=_DEMO_RATED, epsilon=1.0, liked_from=_DEMO_LIKED_FROM)
    likes = likes_of(people.matrix, _DEMO_LIKED_FROM)
    copies = likes[np.random.default_rng(3).integers(0, likes.shape[0], _DEMO_PEOPLE)]
    counts = server_of_reports(campaign, copies, secure())
    (folder / "taste.campaign").write_bytes(campaign.encode())
    (folder / "taste.items.json").write_text(json.dumps(items))
    counts.save(folder / "taste.counts")
    return """[campaigns.taste]
campaign = "taste.campaign"
items = "taste.items.json"
counts = "taste.counts"
"""
