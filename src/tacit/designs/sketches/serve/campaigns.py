"""A campaign of the sketches as it is served: devices fetch its questions and send noisy reports.

Runs at    the recommender, which nobody has to trust.
Sees       reports of randomised bits, and the key of the person who sent them. It never sees a
           rating.
Stores     for each item or pair the numbers of answers 0 and 1, and the number of reports with each
           number of ones. These counts take the same space for any number of reports, and are
           overwritten in the transaction of each answer. After the campaign is closed, also the
           learned clusters. For each person who reported: that they did, at which second, and a
           keyed hash of their report. The report itself is added to the counts and not stored.
Charges    the person's own budget with the cost of their report for everything they rated. A report
           costs this privacy once it is sent, whether or not it is charged; the ledger records the
           sum over all campaigns of the service, and limits it. (A device has limits of its own.)
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
from tacit.designs.sketches.population import count_simulated_reports, mark_likes
from tacit.errors import ConfigError, ModelFileError
from tacit.ledger import Cap, Charge, Cost, Holder
from tacit.privacy import Guarantee, format_upper_bound
from tacit.randomness import secure
from tacit.service.idempotency import Reply, refusal, reply
from tacit.service.problems import Problem
from tacit.service.served_things import Section, ServedThing
from tacit.service.setting_tables import TOML, setting
from tacit.service.strict_json import RefusedContent, parse_json

LARGEST_STATE = 2 * 2**20
"""Largest size of the counts of a campaign's places, in bytes. They are written with every
report."""
_not_a_report = partial(
    Problem, 422, "This is not a report for this campaign. Fetch the campaign again."
)
"""Makes a new exception for each answer, because an exception keeps the frames it was raised in."""
_OPEN = b"o"
"""First byte of the state of an open campaign."""
_CLOSED = b"c"
"""First byte of the state of a closed campaign."""
_COUNT_TYPE = np.dtype("<i8")
_BYTES_OF_PLACE = 2 * _COUNT_TYPE.itemsize
"""Bytes of the two counts of a place, of answers 0 and 1."""
_DEMO_PEOPLE = 20_000
"""Number of reports that the demo's campaign has counted before it is served."""
_DEMO_RATED = 30
"""Number of films that a person of the demo is assumed to have rated."""
_DEMO_LIKED_FROM = 4.0
"""Least stars of a like in the demo."""
_DEMO_SEED = 3
"""Seed that draws the people of the demo who reported."""


@dataclass(frozen=True, kw_only=True)
class CampaignSettings:
    """The settings in a section [campaigns.NAME] of tacit.toml."""

    campaign: str = setting(
        "the campaign, a file of `Campaign.encode()`",
        refused="one without noise, one that names pairs of rated items, or one of too many places",
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
        "counts of reports that came from elsewhere before, a file of `Server.save`",
        None,
        default_text="none",
        refused="counts of another campaign",
    )


@dataclass(frozen=True)
class ServedCampaign(ServedThing):
    """One campaign as it is served."""

    SETTINGS: ClassVar = CampaignSettings

    tenant: str
    """Name of the tenant whose people report."""
    name: str
    """Name of the campaign's section."""
    campaign: Campaign = field(repr=False)
    """The campaign."""
    items: tuple[ItemId, ...] = field(repr=False)
    """Item ids of its catalogue, in order."""
    lifetime: float = Limits.lifetime
    """Nats of a person's own budget, which their first report to any campaign opens. Reports to
    further campaigns do not change it."""
    earlier_counts: bytes | None = field(default=None, repr=False)
    """Encoded state before the first report to this service, with the counts of reports from
    elsewhere; None if there are no such reports."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Make the served campaign from a section with the lines of `CampaignSettings`.

        Raises:
            ConfigError: These settings cannot be served.
        """
        lifetime = section.read_settings(CampaignSettings).lifetime
        campaign = _read_campaign(section)
        items = _read_items(section, campaign)
        earlier_counts = _read_earlier_counts(section, campaign)
        served = cls(section.tenant, section.name, campaign, items, lifetime, earlier_counts)
        if served.cost.amount > Cap.pure(lifetime).amount:
            raise ConfigError(
                f"{TOML}: {section.name}.lifetime is {served.lifetime:g}, and one report costs "
                f"{served.cost.amount / MICRO:g} for everything a person rated: nobody could "
                "report."
            )
        served.count_report(Report(campaign.id, 1, 0).encode(), None)  # compiles the kernels
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """Yield no budget: only people have budgets, which their first reports open."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return one card for each unit, the campaign's own first."""
        units = sorted(UNITS, key=lambda unit: unit != self.campaign.unit)
        return tuple(self._cards[unit] for unit in units)

    def describe_releases(self) -> str:
        """Describe to a person who is forgotten the releases that cannot be taken back."""
        return (
            f"a report to the campaign {self.name}, if there was one: it was added to counts that "
            "hold no names, and costs at most epsilon "
            f"{format_upper_bound(self.cost.amount / MICRO)} for everything you rated, by the "
            "noise your device put in"
        )

    @cached_property
    def state_name(self) -> str:
        """Name of the stored counts. It changes if another campaign gets the same name."""
        return f"campaigns/{self.campaign.id.hex()}"

    @cached_property
    def cost(self) -> Cost:
        """Cost of one report for everything a person rated, whatever the campaign's own unit is.

        It is what the person's device counts too, see `Campaign.user_epsilon`.
        """
        return Cost.pure(Fraction(self.campaign.user_epsilon, MICRO))

    @cached_property
    def _cards(self) -> dict[str, Guarantee]:
        """The campaign's card for each unit."""
        return dict(zip(UNITS, cards(self.campaign), strict=True))

    def describe(self, saved: bytes | None) -> dict[str, Any]:
        """Describe the campaign and its state as JSON values.

        Args:
            saved: The stored state; None before the first report.
        """
        campaign = self.campaign
        state = self.decode_state(saved)
        return {
            "name": self.name,
            "id": campaign.id.hex(),
            "method": campaign.method,
            "unit": campaign.unit,
            "items": campaign.n_items,
            "questions": campaign.questions,
            "epsilon": campaign.epsilon / MICRO,
            "liked_from": campaign.liked_from / 1000,
            "until": None if campaign.closes >= NEVER else campaign.closes,
            "closed": state.is_closed,
            "clusters": bool(state.clusters),
            "guarantee": self.guarantees()[0].sentence,
        }

    def decode_state(self, saved: bytes | None) -> CampaignState:
        """Read the stored state; None is the state before the first report."""
        return CampaignState.decode(self.campaign, self.earlier_counts if saved is None else saved)

    def check(self, data: bytes) -> None:
        """Raise Problem with status 422 for bytes that are no report to this campaign."""
        try:
            report = Report.decode(data)
        except MessageError:
            raise _not_a_report() from None
        is_for_campaign = report.campaign == self.campaign.id and report.pair is None
        has_more_bits = report.bits >> self.campaign.questions > 0
        if not is_for_campaign or report.ticket == 0 or has_more_bits:
            raise _not_a_report()

    def charge(self, user: str) -> Charge:
        """Make the charge of a report to the budget of a person, which their first report opens."""
        holder = Holder.subject(self.tenant, user)
        return Charge(holder, self.cost, opens=Cap.pure(self.lifetime))

    # Steps of the ledger. Each takes the stored state (None before the first report) and returns an
    # answer and the next state (None to leave the stored one as it is).

    def count_report(self, report: bytes, saved: bytes | None) -> tuple[Reply, bytes | None]:
        """Count a report that `check` accepted, unless the campaign is closed or past its end."""
        state = self.decode_state(saved)
        if not state.is_closed:
            receipt = state.server.fold_each([report], now=int(time.time()))
            if receipt.accepted_count > 0:
                return reply({"counted": True}), state.encode()
        return refusal(409, "This campaign takes no more reports."), None

    def close(self, saved: bytes | None) -> tuple[Reply, bytes | None]:
        """Close the campaign to reports; a second call gives the same answer."""
        state = self.decode_state(saved)
        closed = CampaignState(state.server, True, state.clusters).encode()
        return reply({"reports": state.server.reports}), closed

    def store_clusters(self, learned: bytes, saved: bytes | None) -> tuple[Reply, bytes | None]:
        """Store the clusters of a closed campaign, unless clusters are stored already.

        The answer describes the stored clusters.

        Args:
            learned: The message of the learned clusters.
            saved: The stored state.
        """
        state = self.decode_state(saved)
        clusters = state.clusters or learned
        labels = np.frombuffer(Clusters.decode(clusters).labels, dtype=np.uint8)
        sizes = np.bincount(labels).tolist()  # number of items by label
        answer = {"reports": state.server.reports, "clusters": len(sizes), "sizes": sizes}
        return reply(answer), CampaignState(state.server, True, clusters).encode()


def _read_campaign(section: Section) -> Campaign:
    """Read the file of a campaign, and check that the campaign can be served.

    Raises:
        ConfigError: The file is not a campaign, or the campaign cannot be served.
    """
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
    if _BYTES_OF_PLACE * campaign.places > LARGEST_STATE:
        raise ConfigError(
            f"{TOML}: {name} counts {campaign.places} places, and at most "
            f"{LARGEST_STATE // _BYTES_OF_PLACE} are served. Sense sets, or ask about fewer items."
        )
    return campaign


def _read_items(section: Section, campaign: Campaign) -> tuple[ItemId, ...]:
    """Read the campaign's catalogue.

    Raises:
        ConfigError: The file is not the catalogue that the campaign was designed for.
    """
    name = section.name
    try:
        items = parse_json(section.file_path("items").read_bytes())
    except RefusedContent as error:
        raise ConfigError(f"{TOML}: {name}.items cannot be read: {error}.") from None
    are_ids = isinstance(items, list) and all(type(item) in (int, str) for item in items)
    if (
        not are_ids
        or len(items) != campaign.n_items
        or catalogue_digest(items) != campaign.catalogue_digest
    ):
        raise ConfigError(
            f"{TOML}: {name}.items is not the catalogue that the campaign was designed for: a JSON "
            "list of its item ids in their order."
        )
    return tuple(items)


def _read_earlier_counts(section: Section, campaign: Campaign) -> bytes | None:
    """Read the counts of reports that came from elsewhere; None if the section names no file.

    Raises:
        ConfigError: The file is not a checkpoint of this campaign.
    """
    if "counts" not in section.values:
        return None
    try:
        server = Server.load(section.file_path("counts"))
    except ModelFileError as error:
        raise ConfigError(f"{TOML}: {section.name}.counts is no checkpoint. {error}") from None
    if server.campaign != campaign:
        raise ConfigError(f"{TOML}: {section.name}.counts are of another campaign.")
    return CampaignState(server).encode()


@dataclass(frozen=True, eq=False)
class CampaignState:
    """The state of a campaign that the service stores."""

    server: Server
    """Counts of all reports so far."""
    is_closed: bool = False
    """Whether no more reports are accepted."""
    clusters: bytes = b""
    """The message of the learned clusters; empty before they are learned."""

    @classmethod
    def decode(cls, campaign: Campaign, saved: bytes | None) -> Self:
        """Read a state from the bytes of `encode`; None is the state without reports."""
        # Tickets are not kept, as the ledger accepts one report of each person.
        server = Server(campaign, keep_tickets=False)
        if saved is None:
            return cls(server)
        server.cells[:] = np.frombuffer(saved, _COUNT_TYPE, server.cells.size, 1)
        return cls(server, saved[:1] == _CLOSED, saved[1 + server.cells.nbytes :])

    def encode(self) -> bytes:
        """Encode the state for the ledger: a byte for open or closed, the counts, the clusters."""
        counts = self.server.cells.astype(_COUNT_TYPE).tobytes()
        return (_CLOSED if self.is_closed else _OPEN) + counts + self.clusters

    def learn_clusters(self) -> bytes:
        """Return the message of clusters learned from the counts; equal counts give equal ones."""
        return publish(self.server.campaign, cluster_items(self.server)).encode()

    def report(self, items: tuple[ItemId, ...]) -> dict[str, Any]:
        """Make the report for analysts: the number of answers about each item, and an estimate.

        Args:
            items: Item ids of the catalogue, in order.

        Returns:
            JSON values. An item's `asked` is the number of answers about it, `estimate` an unbiased
            estimate of the share of these answers that are yes before the noise, and `error` the
            estimate's standard error by noise and sampling. `estimate` and `error` are None for an
            item without answers.
        """
        server = self.server
        truth = server.campaign.truth / WHOLE
        signal = 2 * truth - 1
        is_by_item = server.campaign.asks_about_sets
        counts = item_counts(server) if is_by_item else pair_counts(server).by_item()
        rows = []
        for item, asked, ones in zip(
            items, counts.asked.tolist(), counts.ones.tolist(), strict=True
        ):
            estimate = None
            error = None
            if asked > 0:
                share = ones / asked
                estimate = (share - (1 - truth)) / signal
                error = math.sqrt(share * (1 - share) / asked) / signal
            rows.append({"item": item, "asked": asked, "estimate": estimate, "error": error})
        return {"reports": server.reports, "closed": self.is_closed, "items": rows}


def make_demo(folder: Path) -> str:
    """Write the files of the demo's campaign on generated films; return its section of tacit.toml.

    The files are the campaign, its catalogue, and counts of twenty thousand reports. The people who
    report are drawn with replacement from fewer generated people. Their reports have the noise of
    real devices.

    Args:
        folder: Folder that the files are written to.
    """
    from tacit.service.demo_data import population

    people = population()
    items = people.item_ids.tolist()
    campaign = new_campaign(items, rated=_DEMO_RATED, epsilon=1.0, liked_from=_DEMO_LIKED_FROM)
    likes = mark_likes(people.matrix, _DEMO_LIKED_FROM)
    drawn_people = np.random.default_rng(_DEMO_SEED).integers(0, likes.shape[0], _DEMO_PEOPLE)
    server = count_simulated_reports(campaign, likes[drawn_people], secure())
    (folder / "taste.campaign").write_bytes(campaign.encode())
    (folder / "taste.items.json").write_text(json.dumps(items))
    server.save(folder / "taste.counts")
    return """[campaigns.taste]
campaign = "taste.campaign"
items = "taste.items.json"
counts = "taste.counts"
"""
