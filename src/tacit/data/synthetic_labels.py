"""Labels of generated items, such as genres: what a shop would know of its items beforehand.

Model    A label is a unit direction in the space of tastes. Its score at an item is
         telling <k_i, direction> / sd + sqrt(1 - telling^2) normal, k_i being why people choose the
         item and sd the standard deviation of the first term over the items. An item carries the
         one, two or three labels with the highest scores, each number with the same chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.metadata import SEPARATOR
from tacit.data.ratings import Column
from tacit.errors import ConfigError

MOST_OF_AN_ITEM = 3

Floats = NDArray[np.float64]


def label_items(kinds: Floats, labels: int, telling: float, seed: np.random.SeedSequence) -> Column:
    """(items,) texts such as "label 2|label 5", from (items, factors) kinds.

    telling: 0, labels say nothing of tastes; 1, they are directions of taste without noise.
    """
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((labels, kinds.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    along = kinds @ directions.T
    along /= np.maximum(along.std(axis=0), 1e-12)
    noise = generator.standard_normal(along.shape)
    order = np.argsort(-(telling * along + np.sqrt(1 - telling**2) * noise), axis=1, kind="stable")
    counts = generator.integers(1, min(MOST_OF_AN_ITEM, labels) + 1, len(kinds))
    texts = np.empty(len(kinds), dtype=object)
    texts[:] = [
        SEPARATOR.join(f"label {label + 1}" for label in row[:count])
        for row, count in zip(order.tolist(), counts.tolist(), strict=True)
    ]
    return texts


def check_labels(labels: int, telling: float) -> None:
    """ConfigError unless these can be asked for."""
    if labels < 0:
        raise ConfigError(f"The number of labels is 0 or more; got {labels}.")
    if not 0 <= telling <= 1:
        raise ConfigError(f"telling lies between 0 and 1; got {telling}.")
