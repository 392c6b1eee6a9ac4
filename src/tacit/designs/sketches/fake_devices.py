"""Crafted reports: what fake devices can do to scores, and the counts that give them away.

Threat   A fake device sends any bits under any ticket. Local privacy cannot tell one of its reports
         from an honest one; many of them together leave a trace where they gain most.
Tests    Three facts hold for honest reports whatever people like: how often an item is asked about
         is binomial, for tickets are random; of any item's answers at most the share `truth` is 1
         in the mean; and so of all answers. A single report of many ones happens in a large
         population; more of them than chance allows do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.messages import WHOLE, Campaign
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError

Ints = NDArray[np.int64]
FALSE_ALARM = 1e-6
"""Chance, at most, that honest people alone set off the tests of counts; and again, of reports."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What looks crafted.

    asked: items asked about too often: tickets were chosen. answered: items with more ones than
    lies can make of the truth. reports: how many reports have more than most_ones ones; honest
    people send most_reports of them at most. share: whether ones among all answers are too many or
    too few.
    """

    asked: Ints
    answered: Ints
    reports: int
    most_ones: int
    most_reports: int
    share: bool

    @property
    def suspicious(self) -> bool:
        too_many = self.reports > self.most_reports
        return bool(len(self.asked) or len(self.answered) or too_many or self.share)


def inspect(server: Server, false_alarm: float = FALSE_ALARM) -> Findings:
    """The tests on a campaign that senses sets; ConfigError for pairs."""
    if not 0 < false_alarm < 1:
        raise ConfigError(f"A chance of a false alarm lies between 0 and 1; got {false_alarm}.")
    campaign, counts = server.campaign, item_counts(server)
    truth, answers = campaign.truth / WHOLE, server.reports * campaign.questions
    # Three tests that can be set off in the mean by chance, shared among all items.
    each = false_alarm / (3 * campaign.items)
    often = binom.isf(each, server.reports, campaign.asked_share)
    ones = binom.isf(each, np.maximum(counts.asked, 1), truth)
    most = int(binom.isf(false_alarm, campaign.questions, truth))
    beyond = binom.sf(most, campaign.questions, truth)
    total = int(server.ones @ np.arange(campaign.questions + 1))
    few = binom.ppf(false_alarm / 6, answers, 1 - truth)
    many = binom.isf(false_alarm / 6, answers, truth)
    return Findings(
        asked=np.flatnonzero(counts.asked > often),
        answered=np.flatnonzero(counts.ones > ones),
        reports=int(server.ones[most + 1 :].sum()),
        most_ones=most,
        most_reports=int(binom.isf(false_alarm, server.reports, beyond)),
        share=bool(total < few or total > many),
    )


@dataclass(frozen=True)
class Bound:
    """How far fake devices can move one item's normalised score; 1 would be all the way.

    assigned: their tickets are given to them, so that they are asked about the item as seldom as
    everybody. chosen: they choose tickets, nobody tests. unnoticed: they choose so few that the
    test of `asked` does not see it. gap: two clusters' scores are this far apart at most, so that
    an item changes its label when it is moved by half of it.
    """

    assigned: float
    chosen: float
    unnoticed: float
    gap: float


def manipulation(
    campaign: Campaign, *, people: int, fakes: float, false_alarm: float = FALSE_ALARM
) -> Bound:
    """The bound for a share `fakes` (0 to 1) among so many reports; or ConfigError."""
    if not 0 <= fakes < 1 or people < 1:
        raise ConfigError(f"Fakes are a share below 1 of 1 or more people; got {fakes}, {people}.")
    if not campaign.senses:
        raise ConfigError("This bound is for campaigns that sense sets.")
    truth, asked = campaign.truth / WHOLE, campaign.asked_share
    honest, fake = (1 - fakes) * people * asked, fakes * people
    threshold = norm.isf(false_alarm / (3 * campaign.items))
    # Beyond the mean by as much as chance could be, in both directions.
    room = 2 * threshold * np.sqrt(people * asked * (1 - asked))
    # By so many answers that are 1, where honest ones would be at least 1 - truth.
    assigned, chosen, unnoticed = (
        float(truth * extra / (honest + extra))
        for extra in (fake * asked, fake, min(fake, fake * asked + room))
    )
    return Bound(assigned, chosen, unnoticed, (2 * truth - 1) * campaign.rated / campaign.items)
