"""Sketches: learn item clusters from a few private bits per person, trusting nobody.

Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012).

paper                      here                                where
S0, S, bit release         Device.report                       device.py
H_u, sensing vectors       sensed_sets                         sensing.py
B_i                        ItemCounts.ones, .normalised        server.py
A_ij                       PairCounts.matrix                   server.py
spectral step, k-means     pair_clusters, score_clusters       clustering.py
alpha, beta, b             Blocks                              data/synthetic_blocks.py
theorems, theta, Q         bounds, planner                     theory.py, planner.py

Deviations, each with its reason in the docs: sensed sets are drawn without replacement also in
MaxSense and come from an affine permutation; scores are divided by how often an item was asked
about; the number of questions is the best one and not ceil(epsilon). Added to the paper:
constants of the bounds, choice of L, confidence of labels, limits that a device pins.

What runs on a device needs the standard library alone; the other names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.designs.sketches.device import Device, Limits, Refused, explain, new_secret
from tacit.designs.sketches.messages import Campaign, Clusters, MessageError, Report

if TYPE_CHECKING:
    from tacit.designs.sketches.campaigns import cards, new_campaign
    from tacit.designs.sketches.clustering import (
        Clustering,
        confidence,
        pair_clusters,
        publish,
        score_clusters,
    )
    from tacit.designs.sketches.fake_devices import inspect, manipulation
    from tacit.designs.sketches.planner import Plan, plan
    from tacit.designs.sketches.server import Receipt, Server, item_counts, pair_counts

_HOMES = {
    "campaigns": ("cards", "new_campaign"),
    "clustering": ("Clustering", "confidence", "pair_clusters", "publish", "score_clusters"),
    "fake_devices": ("inspect", "manipulation"),
    "planner": ("Plan", "plan"),
    "server": ("Receipt", "Server", "item_counts", "pair_counts"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Campaign",
    "Clustering",
    "Clusters",
    "Device",
    "Limits",
    "MessageError",
    "Plan",
    "Receipt",
    "Refused",
    "Report",
    "Server",
    "cards",
    "confidence",
    "explain",
    "inspect",
    "item_counts",
    "manipulation",
    "new_campaign",
    "new_secret",
    "pair_clusters",
    "pair_counts",
    "plan",
    "publish",
    "score_clusters",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
