"""How well items that no one rated are ranked, by their features alone.

    TACIT_DATA=FOLDER python benchmarks/cold_items.py [--seeds 3] [--epsilon 1] [--json]

MovieLens 100K. A fifth of the films with 20 ratings or more is drawn, and taken out of ratings and
catalogue; private lists are fitted to the other films. A person's history is their ratings of these
other films. Two AUC of each person who rated drawn films both at 4 stars or more and below:

    features   a drawn film that they liked (4 stars or more) above any drawn film they did not like
    rated      a drawn film that they liked above a drawn film that they rated below 4 stars

Guessing has an AUC of a half. Beside each is the AUC of ranking by the films' true number of
ratings, which is not known before a film is rated. Ties count a half. The intervals are 95 %, over
people and seeds together, for the mean over people.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit import Private
from tacit.data import read_movielens
from tacit.data.ratings import Ratings

FEWEST_RATINGS = 20
"""Fewest ratings of a film that may be drawn."""
LIKED_FROM = 4.0
"""Fewest stars of a film that a person liked."""
SHARE = 0.2
"""Share of these films that is drawn."""
FIGURES = ("features", "popularity", "rated", "rated_popularity")
"""The AUC of `area`: by features or by popularity, over all others or over those rated lower."""


def main() -> int:
    """Measure all seeds, and print the mean of each figure with its interval."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    ratings = read_movielens(Path(os.environ["TACIT_DATA"]) / "ml-100k")
    rows: dict[str, list[float]] = {name: [] for name in FIGURES}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for name, areas in measure(ratings, seed, arguments.epsilon).items():
            rows[name] += areas
    result: dict[str, Any] = {"epsilon": arguments.epsilon, "seeds": arguments.seeds}
    for name, areas in rows.items():
        result[name] = round(float(np.mean(areas)), 4)
        half_width = 1.959964 * float(np.std(areas, ddof=1)) / len(areas) ** 0.5
        interval = (result[name] - half_width, result[name] + half_width)
        result[f"{name}_interval"] = [round(end, 4) for end in interval]
        result["people"] = len(areas)
    lines = [f"{name}: {value}" for name, value in result.items()]
    print(json.dumps(result) if arguments.json else "\n".join(lines))
    return 0


def measure(ratings: Ratings, seed: int, epsilon: float) -> dict[str, list[float]]:
    """Return the AUC of each person who liked some of the drawn films and rated others lower.

    Args:
        ratings: All ratings.
        seed: Seed of the drawn films.
        epsilon: Epsilon of the fit.

    Returns:
        For each of `FIGURES`, a number for each such person.
    """
    generator = np.random.default_rng(seed)
    counts = np.bincount(ratings.items, minlength=ratings.n_items).astype(float)
    common = np.flatnonzero(counts >= FEWEST_RATINGS)
    drawn = generator.choice(common, round(SHARE * len(common)), replace=False)
    is_cold = np.isin(np.arange(ratings.n_items), drawn)
    known = keep_items(ratings, ~is_cold)
    model = Private(epsilon, mode="taste").fit(known)
    genres = ratings.item_metadata["genres"].tolist()
    years = ratings.item_metadata["year"].tolist()
    ids = ratings.item_ids.tolist()
    place_of = {item: place for place, item in enumerate(ids)}
    cold = {}
    for place in drawn.tolist():
        cold[ids[place]] = {"genres": genres[place], "year": str(years[place] or "")}
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    for person in range(ratings.n_users):
        own = ratings.users == person
        items, stars = ratings.items[own], ratings.values[own]
        theirs = is_cold[items]
        liked = items[theirs][stars[theirs] >= LIKED_FROM]
        lower = items[theirs][stars[theirs] < LIKED_FROM]
        if not len(liked) or not len(lower):
            continue
        pairs = zip(items[~theirs].tolist(), stars[~theirs].tolist(), strict=True)
        history = {ids[item]: star for item, star in pairs}
        listed = model.recommend(history=history, cold=cold, candidates=[], n=len(cold))
        scores = np.zeros(ratings.n_items)
        for row in listed:
            scores[place_of[row.item_id]] = row.score
        others = np.setdiff1d(drawn, liked)
        found["features"].append(area(scores, liked, others))
        found["popularity"].append(area(counts, liked, others))
        found["rated"].append(area(scores, liked, lower))
        found["rated_popularity"].append(area(counts, liked, lower))
    return found


def keep_items(ratings: Ratings, kept: Any) -> Ratings:
    """Return ratings and catalogue without some items; `kept` (items,) says which stay."""
    number = np.cumsum(kept) - 1
    rows = kept[ratings.items]
    metadata = {name: values[kept] for name, values in ratings.item_metadata.items()}
    return replace(
        ratings,
        users=ratings.users[rows],
        items=number[ratings.items[rows]].astype(ratings.items.dtype),
        values=ratings.values[rows],
        timestamps=None if ratings.timestamps is None else ratings.timestamps[rows],
        item_ids=ratings.item_ids[kept],
        item_metadata=metadata,
    )


def area(scores: Any, liked: Any, others: Any) -> float:
    """Return the chance that a liked item's score is above another's; ties count a half."""
    above = scores[liked][:, None] - scores[others][None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


if __name__ == "__main__":
    sys.exit(main())
