"""X-Map in its variants, for `tacit compare`."""

from __future__ import annotations

import math

from tacit.design import Comparison, Entry

PROFILE = "a person's whole profile, added or removed"
PRINTED = "a rating, as printed: refuted, see the card"
LISTS = "everybody who has the lists or the model"


def contenders(asked: Comparison) -> tuple[Entry, ...] | str:
    """Where two domains are named."""
    if asked.source is None or asked.target is None:
        return "needs two domains: name --source and --target"
    maker = "tacit.designs.xmap:XMap"
    routes = {"source": asked.source, "target": asked.target}
    found = []
    for epsilon in asked.epsilons:
        given = routes | {"epsilon": epsilon}
        if math.isinf(epsilon):
            plain = given | {"variant": "published", "k": 10}
            found.append(Entry("xmap", "non-private", epsilon, PROFILE, LISTS, maker, plain, True))
            continue
        sound = given | {"variant": "sound", "delta": asked.delta}
        found.append(Entry("xmap", "sound", epsilon, PROFILE, LISTS, maker, sound, True))
        printed = given | {"variant": "published", "k": 10}
        found.append(Entry("xmap", "published", epsilon, PRINTED, LISTS, maker, printed, True))
    return tuple(found)
