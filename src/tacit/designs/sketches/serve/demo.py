"""A campaign about the generated films, with the reports of twenty thousand people in its counts.

They are copies of the generated people, who are too few for a campaign that trusts nobody: each bit
tells little. What they said is as noisy as what any device says.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tacit.data.ratings import Ratings
from tacit.designs.sketches import Campaign, Server, new_campaign
from tacit.designs.sketches.population import answer
from tacit.randomness import secure
from tacit.service.demo_data import population

PEOPLE, RATED, LIKED = 20_000, 30, 4.0
_SEED = 3


def make_demo(folder: Path) -> str:
    """Writes the campaign, its catalogue and the counts so far."""
    people = population()
    items = people.item_ids.tolist()
    campaign = new_campaign(items, rated=RATED, epsilon=1.0, liked_from=LIKED)
    (folder / "taste.campaign").write_bytes(campaign.encode())
    (folder / "taste.items.json").write_text(json.dumps(items))
    _reported(campaign, people).save(folder / "taste.counts")
    return """[campaigns.taste]
campaign = "taste.campaign"
items = "taste.items.json"
counts = "taste.counts"
"""


def _reported(campaign: Campaign, people: Ratings) -> Server:
    ratings = people.matrix.tocsr()
    liked = [
        ratings.indices[start:end][ratings.data[start:end] >= LIKED]
        for start, end in zip(ratings.indptr, ratings.indptr[1:], strict=False)
    ]
    copies = [liked[one] for one in np.random.default_rng(_SEED).integers(0, len(liked), PEOPLE)]
    starts = np.cumsum([0, *map(len, copies)])
    server = Server(campaign, keep_tickets=False)
    server.fold(answer(campaign, starts, np.concatenate(copies).astype(np.int64), secure()), now=0)
    return server
