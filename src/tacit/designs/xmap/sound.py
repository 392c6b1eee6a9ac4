"""The sound variant: the design `private`, from the source domains to the targets; and no noise.

The only place where one design imports another: docs/decisions/0025.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.private import guarantees
from tacit.designs.private.guarantees import plan
from tacit.designs.private.lists import Reason as ListReason
from tacit.designs.private.model import Private
from tacit.designs.private.settings import TASK_ROWS, Cost, Settings, cost
from tacit.designs.xmap.settings import Catalogue, Routes
from tacit.designs.xmap.settings import Settings as XMapSettings
from tacit.privacy import Adjacency, Basis, Guarantee, Trust

__all__ = ["TASK_ROWS", "Cost", "ListReason", "Private", "cost", "plan"]

PAPER = (
    "Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar "
    "(PVLDB 2017), and its technical report, Theorems 1 to 4"
)
UNIT = Adjacency("user", "add or remove")
LIFETIME = "per fit: fitting again on the same people spends again"
VERSION = 2
"""Of files of this variant. 0 and 1 held the release that it had before."""


def lists(settings: XMapSettings, routes: Routes) -> Private:
    """The recommender, not fitted. Where a domain is source and target, all are one domain."""
    sources = tuple(name for name in routes.sources if name not in routes.targets)
    joint = len(routes.targets) > 1 and (not sources or len(sources) < len(routes.sources))
    return Private(
        settings.epsilon,
        settings.delta,
        source=None if joint else sources or None,
        target=None if joint else routes.targets,
        domain=settings.domain,
        features=settings.features,
        stars=settings.stars,
    )


def card(epsilon: float, delta: float, spent: Guarantee | None = None) -> Guarantee:
    """spent: the card of a fitted `private`; None: of a fit whose catalogue and scale are public.

    epsilon: what was asked for, which the events that were spent come to within rounding; the card
    never states less than they come to.
    """
    lists = guarantees.card(Settings(epsilon=epsilon, delta=delta)) if spent is None else spent
    assert lists.epsilon is not None
    return replace(
        lists,
        name="X-Map (sound): noisy sums over people",
        epsilon=max(epsilon, lists.epsilon),
        sources=(PAPER, *lists.sources),
    )


def without_noise(variant: str) -> Guarantee:
    """Any variant at epsilon = inf; the published one is then NX-Map."""
    name = "NX-Map" if variant == "published" else f"X-Map ({variant})"
    return Guarantee(
        name=f"{name} without noise",
        sentence="Nobody is protected: lists depend on everybody's ratings without any noise.",
        protects="nobody",
        adjacency=UNIT,
        against="other people, who see their lists",
        trust=Trust.PLATFORM,
        basis=Basis.NONE,
        epsilon=None,
        delta=None,
        lifetime=LIFETIME,
        assumptions=(),
        not_covered=("everything: this is the non-private variant, for comparison",),
        sources=(PAPER,),
    )


def to_file(lists: Private) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What its header says, and its arrays."""
    own, arrays = lists.parts()
    return {"version": VERSION, "lists": own}, arrays


def from_file(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], ids: Any, domains: Catalogue
) -> Private:
    """The recommender of a model file; ValueError for another version, or items that do not fit."""
    version = header.get("version", 0)
    if version < VERSION:
        raise ValueError(
            f"it is of version {version} of the sound X-Map, a release that is no longer made; "
            f"this tacit reads version {VERSION}"
        )
    if version > VERSION:
        raise ValueError("it was written by a newer tacit")
    found = Private.from_parts(dict(header["lists"]), dict(arrays))
    listed = np.concatenate([ids[domains.targets(name)] for name in domains.routes.targets])
    if not (set(listed.tolist()) <= set(found.item_ids_.tolist()) <= set(ids.tolist())):
        raise ValueError("the lists do not fit the list of items")
    return found
