"""A metric of one's own: how much of the lists is what everybody gets anyway."""

from __future__ import annotations

import numpy as np

MOST = 20
"""Items that count as popular."""


def popular_share(lists, _relevant, train):
    """Share of listed items that are among the 20 with the most ratings in `train`."""
    counts = np.bincount(train.items, minlength=train.n_items)
    popular = np.argsort(-counts, kind="stable")[:MOST]
    listed = lists[lists >= 0]
    return float(np.isin(listed, popular).mean()) if len(listed) else 0.0
