"""What a published item table tells about the people it was fitted to.

python benchmarks/item_table_inversion.py [--items N] [--people N] [--seed S] [--json]

Generated people, X their (people, items) weights. The attacker has the published table B, the
penalty and the sum of squares of each item, and computes X'X from them: B = I - P diag(1/P) for
P = (X'X + penalty I)^-1, so (I - B)^-1 is X'X + penalty I with each row times one number.

recovered   of all pairs of items that somebody rated both, the share whose entry of X'X comes out
            within .05
error       the median error over these pairs
difference  the attacker has a second table, which lacks one person: the items whose entries differ
            most, as many as the person rated, are guessed to be the person's. The share of right
            guesses, mean of 20 people.
chance      the share of right guesses of items drawn at random

All of it for tables as they are made ("rounded"), and for tables from X'X that is not rounded, with
weights in steps of 1/100,000 ("not rounded").
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data import generate
from tacit.designs.standard_scheme.messages import LARGEST_COLUMN, LIKED
from tacit.designs.standard_scheme.server import weigh_levels
from tacit.designs.standard_scheme.training.item_weights import list_eligible_items, sum_products
from tacit.designs.standard_scheme.training.people import replace_data
from tacit.engine.ridge import gram, item_weights

Floats = NDArray[np.float64]
PENALTY = 400.0
"""Ridge penalty of the item weights."""
TRIED = 20
"""People who are looked for in the difference of two tables."""


def main() -> None:
    """Measure the attack on tables that are rounded and not rounded, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=250)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ratings = generate(
        users=options.people, items=options.items, ratings=60 * options.people, seed=options.seed
    )
    levels = replace_data(ratings.matrix, ratings.scale.to_levels(ratings.matrix.data))
    weights = weigh_levels(levels, 5)
    weights = weights[:, list_eligible_items(weights, options.items)]
    rows = {name: _measure(weights, name == "rounded") for name in ("rounded", "not rounded")}
    result = {**vars(options), "eligible": weights.shape[1], "rows": rows}
    print(json.dumps(result, indent=None if options.json else 1))


def _measure(weights: sparse.csr_array, rounded: bool) -> dict[str, float]:
    """Attack a table, and the difference of two; return the figures that the file describes."""
    exact = gram(weights / LIKED)
    recovered = _invert_table(weights, rounded)
    pairs = np.triu(exact > 0, 1)
    errors = np.abs(recovered - exact)[pairs]
    right, chance = [], []
    for person in np.linspace(0, weights.shape[0] - 1, TRIED).astype(int):
        right_share, chance_share = _guess_items(weights, recovered, person, rounded)
        right.append(right_share)
        chance.append(chance_share)
    return {
        "recovered": float(np.mean(errors < 0.05)),
        "error": float(np.median(errors)),
        "difference": float(np.mean(right)),
        "chance": float(np.mean(chance)),
    }


def _guess_items(
    weights: sparse.csr_array, recovered: Floats, person: int, rounded: bool
) -> tuple[float, float]:
    """Guess one person's items from what the tables with and without them give away.

    Args:
        weights: (people, items) weights.
        recovered: (items, items) X'X as recovered from the table with the person.
        person: Row of the person.
        rounded: As in `_invert_table`.

    Returns:
        The share of guesses that are right, and that of a random guess.
    """
    own_items = weights[[person]].indices
    weights_without = weights[np.delete(np.arange(weights.shape[0]), person)]
    change = np.abs(recovered - _invert_table(weights_without, rounded)).sum(axis=0)
    guessed = np.argsort(-change)[: len(own_items)]
    right = len(np.intersect1d(guessed, own_items))
    return right / len(own_items), len(own_items) / weights.shape[1]


def _invert_table(weights: sparse.csr_array, rounded: bool) -> Floats:
    """Make a table from weights (people, items), and recover X'X from it; its diagonal is known.

    Args:
        weights: (people, items) weights.
        rounded: Whether the table is made as the server makes it; otherwise from X'X that is not
            rounded, in finer steps.
    """
    products = sum_products(weights) if rounded else gram(weights / LIKED)
    diagonal = np.diag(products).copy()
    table = _round_table(item_weights(products, PENALTY), 1000 if rounded else 100_000)
    inverse = np.linalg.inv(np.eye(len(table)) - table)
    scaled = inverse * ((diagonal + PENALTY) / np.diag(inverse))[:, None]
    symmetric: Floats = (scaled + scaled.T) / 2
    return symmetric


def _round_table(dense: Floats, unit: int) -> Floats:
    """Return the weights that a table stores: the largest of each column, rounded to 1 / unit."""
    rounded = np.round(dense * unit) / unit
    least = -np.sort(-np.abs(rounded), axis=0)[min(LARGEST_COLUMN, len(rounded)) - 1]
    stored: Floats = np.where(np.abs(rounded) >= least, rounded, 0.0)
    return stored


if __name__ == "__main__":
    main()
