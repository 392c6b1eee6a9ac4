"""The sound variant is the design `private`, from the source domains to the targets.

The only place where one design imports another: docs/decisions/0025.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.private import Private, Settings, guarantees
from tacit.designs.private import Reason as ListReason
from tacit.designs.xmap.catalogue import Catalogue, Routes
from tacit.designs.xmap.settings import Settings as XMapSettings
from tacit.privacy import Guarantee

__all__ = ["ListReason", "Private", "card", "from_file", "lists"]

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


def card(epsilon: float, delta: float) -> Guarantee:
    """Of one fit whose catalogue and scale are public."""
    return guarantees.card(Settings(epsilon=epsilon, delta=delta))


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
