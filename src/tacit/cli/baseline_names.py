"""Names of the baselines in `tacit fit NAME`, without their classes, which take long to import."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BASELINES: Mapping[str, str] = MappingProxyType(
    {
        "ease": "Make lists by ridge regressions.",
        "item-item": "Make lists by similar items.",
        "als": "Make lists by implicit factors (extra 'als').",
        "popularity": "Recommend what most people rated.",
        "item-mean": "Recommend the items with the highest mean rating.",
        "matrix-factorization": "Factorise centred ratings.",
        "user-average": "Predict each person's own mean.",
        "user-item-mean": "Predict from means of items and people.",
        "item-knn": "Predict from similar items, also of one domain.",
        "remote-user": "Predict from similar people in another domain.",
        "private-popularity": "Recommend popular items, with differential privacy.",
    }
)
"""By name: the first line of the help of its command."""
