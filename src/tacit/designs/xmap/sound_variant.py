"""The sound variant: private lists of `tacit.profile_sums`, from the source domains to the targets.

It shares no mechanism with the paper; docs/private-proof.md has its sums, proof and audit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tacit.data.ratings import Column
from tacit.designs.xmap.catalogue import Catalogue
from tacit.designs.xmap.settings import Settings
from tacit.profile_sums.model import PrivateLists

SOUND_VERSION = 2
"""Format of the sound variant's files."""


def make_sound_lists(settings: Settings) -> PrivateLists:
    """Make the sound variant, not fitted. Where a domain is source and target, all are one."""
    targets = settings.target
    sources = tuple(name for name in settings.source if name not in targets)
    is_joint = len(targets) > 1 and (not sources or len(sources) < len(settings.source))
    sides: dict[str, Any] = {}
    if not is_joint:
        sides = {"source": sources or None, "target": targets}
    return PrivateLists(
        settings.epsilon,
        settings.delta,
        domain=settings.domain,
        features=settings.features,
        stars=settings.stars,
        **sides,
    )


def read_sound_lists(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], ids: Column, catalogue: Catalogue
) -> PrivateLists:
    """Read the sound variant of a model file.

    Raises:
        ValueError: Another format, or items that do not fit.
    """
    if header.get("version") != SOUND_VERSION:
        raise ValueError(
            f"its format is {header.get('version')}, and this program reads {SOUND_VERSION}"
        )
    lists = PrivateLists.from_parts(dict(header["lists"]), dict(arrays))
    listed: set[Any] = set()
    for name in catalogue.settings.target:
        listed |= set(ids[catalogue.targets(name)].tolist())
    if not (listed <= set(lists.item_ids_.tolist()) <= set(ids.tolist())):
        raise ValueError("the lists do not fit the list of items")
    return lists
