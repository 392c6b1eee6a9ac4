"""The sound variant: private lists of `tacit.profile_sums`, from source domains to target domains.

It uses none of the paper's mechanisms. docs/private-proof.md describes the sums that it releases,
their proof and their audit.
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
"""Version of the format of the sound variant's files."""


def make_sound_lists(settings: Settings) -> PrivateLists:
    """Make the sound variant's model of lists, before its fit.

    If there are several targets, and either no source is named or a source is also a target, the
    lists do not distinguish domains: people's ratings of every item are used, and every item gets a
    score.
    """
    targets = settings.target
    sources = tuple(name for name in settings.source if name not in targets)
    has_shared_domain = len(sources) < len(settings.source)
    is_joint = len(targets) > 1 and (not sources or has_shared_domain)
    domains: dict[str, Any] = {}
    if not is_joint:
        domains = {"source": sources or None, "target": targets}
    return PrivateLists(
        settings.epsilon,
        settings.delta,
        domain=settings.domain,
        features=settings.features,
        stars=settings.stars,
        **domains,
    )


def read_sound_lists(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], ids: Column, catalogue: Catalogue
) -> PrivateLists:
    """Read the lists of the sound variant from a model file.

    Args:
        header: Header of the file.
        arrays: Arrays of the file.
        ids: (n_items,) ids of the items.
        catalogue: Settings, and the domain of each item.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: The file has another format, a part of
            the lists is missing or has another form, or the lists lack an item of a target domain
            or have an item that the model lacks.
    """
    if header.get("version") != SOUND_VERSION:
        raise ValueError(
            f"its format is {header.get('version')}, and this program reads {SOUND_VERSION}"
        )
    lists = PrivateLists.from_parts(dict(header["lists"]), dict(arrays))
    target_ids: set[Any] = set()
    for name in catalogue.settings.target:
        target_ids |= set(ids[catalogue.items_of(name)].tolist())
    if not (target_ids <= set(lists.item_ids_.tolist()) <= set(ids.tolist())):
        raise ValueError("its lists lack a target item, or have an item that the model lacks")
    return lists
