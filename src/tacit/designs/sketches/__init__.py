"""Sketches: learn item clusters from a few private bits per person; nobody has to be trusted.

Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012).

paper                      here                                where
S0, S, bit release         Device.report                       device.py
H_u, sensing vectors       sensed_sets                         sensing.py
B_i                        ItemCounts.ones, normalised_scores  counting.py
A_ij                       PairCounts.matrix                   counting.py
spectral step, k-means     pair_clusters, score_clusters       clustering.py
alpha, beta, b             Blocks                              data/synthetic_worlds.py
theorems, theta, Q         bounds, Plan                        theory.py, planner.py

Deviations, each with its reason in the docs: sensed sets are drawn without replacement also in
MaxSense and come from an affine permutation; an item's score in MaxSense is divided by the number
of answers about the item; the diagonal of A is estimated; the planner advises the number of
questions that needs the fewest people, not ceil(epsilon). Added to the paper: constants of the
bounds, choice of the number of clusters L, confidence of labels, limits that the owner of a device
sets.

Names are imported on first use, so that code on a device needs the standard library alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.sketches.campaigns import new_campaign as new_campaign
    from tacit.designs.sketches.clustering import Clustering as Clustering
    from tacit.designs.sketches.clustering import confidence as confidence
    from tacit.designs.sketches.clustering import pair_clusters as pair_clusters
    from tacit.designs.sketches.clustering import publish as publish
    from tacit.designs.sketches.clustering import score_clusters as score_clusters
    from tacit.designs.sketches.counting import item_counts as item_counts
    from tacit.designs.sketches.counting import pair_counts as pair_counts
    from tacit.designs.sketches.device import Device as Device
    from tacit.designs.sketches.device import Limits as Limits
    from tacit.designs.sketches.device import RefusalError as RefusalError
    from tacit.designs.sketches.device import explain as explain
    from tacit.designs.sketches.device import new_secret as new_secret
    from tacit.designs.sketches.fake_devices import inspect as inspect
    from tacit.designs.sketches.fake_devices import manipulation as manipulation
    from tacit.designs.sketches.guarantees import cards as cards
    from tacit.designs.sketches.messages import Campaign as Campaign
    from tacit.designs.sketches.messages import Clusters as Clusters
    from tacit.designs.sketches.messages import MessageError as MessageError
    from tacit.designs.sketches.messages import Report as Report
    from tacit.designs.sketches.planner import Plan as Plan
    from tacit.designs.sketches.planner import plan as plan
    from tacit.designs.sketches.server import Receipt as Receipt
    from tacit.designs.sketches.server import Server as Server

_MODULES = {
    "new_campaign": "campaigns",
    "Clustering": "clustering",
    "confidence": "clustering",
    "pair_clusters": "clustering",
    "publish": "clustering",
    "score_clusters": "clustering",
    "item_counts": "counting",
    "pair_counts": "counting",
    "Device": "device",
    "Limits": "device",
    "RefusalError": "device",
    "explain": "device",
    "new_secret": "device",
    "inspect": "fake_devices",
    "manipulation": "fake_devices",
    "cards": "guarantees",
    "Campaign": "messages",
    "Clusters": "messages",
    "MessageError": "messages",
    "Report": "messages",
    "Plan": "planner",
    "plan": "planner",
    "Receipt": "server",
    "Server": "server",
}
"""Module of each name."""
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
