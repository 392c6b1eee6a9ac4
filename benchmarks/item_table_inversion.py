"""What a published item table tells about the people it was fitted to.

python benchmarks/item_table_inversion.py [--items N] [--people N] [--seed S] [--json]

Generated people. The attacker has the table, the penalty and the sum of squares of each item, and
computes X'X back: B = I - P diag(1/P), so (I - B)^-1 is X'X + penalty I with each row times one
number. `recovered`: share of the pairs of items that some people rated and whose entry of X'X comes
out within .05; `error`: the median error over those pairs. `difference`: two tables, the second
without one person; the items whose entries differ most, as many as the person rated, are guessed to
be the person's: the share that is right, mean of 20 people; `chance`: that of a random guess.
Once as tables are made, once from X'X that is not rounded, with weights in 1/100,000.
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
TRIED = 20


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
    rows = {name: _measured(weights, name == "rounded") for name in ("rounded", "not rounded")}
    result = {**vars(options), "eligible": weights.shape[1], "rows": rows}
    print(json.dumps(result, indent=None if options.json else 1))


def _measured(weights: sparse.csr_array, rounded: bool) -> dict[str, float]:
    """Invert a table, and look for people in the difference of two; return how well both work."""
    exact = gram(weights / LIKED)
    found = _inverted(weights, rounded)
    pairs = np.triu(exact > 0, 1)
    errors = np.abs(found - exact)[pairs]
    tried = np.linspace(0, weights.shape[0] - 1, TRIED).astype(int)
    right, chance = zip(*(_difference(weights, found, who, rounded) for who in tried), strict=True)
    return {
        "recovered": float(np.mean(errors < 0.05)),
        "error": float(np.median(errors)),
        "difference": float(np.mean(right)),
        "chance": float(np.mean(chance)),
    }


def _difference(
    weights: sparse.csr_array, table: Floats, who: int, rounded: bool
) -> tuple[float, float]:
    """Guess one person's items from the tables with and without them.

    Returns:
        The share of guesses that are right, and that of a random guess.
    """
    own = weights[[who]].indices
    rest = weights[np.delete(np.arange(weights.shape[0]), who)]
    moved = np.abs(table - _inverted(rest, rounded)).sum(axis=0)
    guessed = np.argsort(-moved)[: len(own)]
    return len(np.intersect1d(guessed, own)) / len(own), len(own) / weights.shape[1]


def _inverted(weights: sparse.csr_array, rounded: bool) -> Floats:
    """Return X'X as computed from the table that is published; the diagonal is known."""
    together = sum_products(weights) if rounded else gram(weights / LIKED)
    diagonal = np.diag(together).copy()
    table = _stored(item_weights(together, PENALTY), 1000 if rounded else 100_000)
    back = np.linalg.inv(np.eye(len(table)) - table)
    found = back * ((diagonal + PENALTY) / np.diag(back))[:, None]
    made: Floats = (found + found.T) / 2
    return made


def _stored(dense: Floats, unit: int) -> Floats:
    """Return the weights that a table stores: the largest of each column, rounded to 1 / unit."""
    whole = np.round(dense * unit) / unit
    least = -np.sort(-np.abs(whole), axis=0)[min(LARGEST_COLUMN, len(whole)) - 1]
    made: Floats = np.where(np.abs(whole) >= least, whole, 0.0)
    return made


if __name__ == "__main__":
    main()
