"""The lines of [campaigns.NAME] in tacit.toml."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.designs.sketches.device import Limits
from tacit.service.settings import setting


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
        said="none",
        refused="counts of another campaign",
    )
