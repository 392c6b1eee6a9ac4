"""A campaign about the generated films, and the reports of nobody yet."""

from __future__ import annotations

import json
from pathlib import Path

from tacit.recommenders.sketches import design
from tacit.service.demos.films import population


def make_demo(folder: Path) -> str:
    """Writes the campaign and its catalogue."""
    items = population().item_ids.tolist()
    campaign = design(items, rated=20, epsilon=1.0)
    (folder / "taste.campaign").write_bytes(campaign.encode())
    (folder / "taste.items.json").write_text(json.dumps(items))
    return '[campaigns.taste]\ncampaign = "taste.campaign"\nitems = "taste.items.json"\n'
