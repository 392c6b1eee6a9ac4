"""Videos and visitors of a world, generated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data import clicks
from tacit.designs.pdap.experiment.sparse_contexts import reduced_contexts
from tacit.designs.pdap.experiment.world import World


def generate_clicks(world: World, seed: int) -> clicks.Clicks:
    """Generate the videos of a world and their chances of a click."""
    return clicks.generate(
        vendors=world.vendors,
        videos=world.videos,
        dimension=world.dimensions,
        lipschitz=world.lipschitz,
        seed=seed,
    )


def generate_contexts(world: World, count: int, seed: int) -> NDArray[np.float64]:
    """Generate contexts of `count` visitors of a world: (count, dimensions) in [0, 1]."""
    if world.features:
        return reduced_contexts(count, world.features, world.dimensions, seed=seed)
    return clicks.contexts(count, world.dimensions, seed=seed, clusters=world.groups)
