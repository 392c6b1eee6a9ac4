"""The standard scheme: hide an attribute from a recommender by what one's device sends.

Source   US patent application "Privacy protection against curious recommenders"; Ioannidis,
         Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive analytics
         (SIGMETRICS 2014), where it is called the midpoint protocol.

x0 of the paper is an attribute's value here, v_i0 an item's offset, L(v_i) a `Disclosure`, y_i a
`Release`, p^{+-} of equation 7 `keep`, alpha the `mix` of a `Rule`: docs/standard-scheme.md.

Deviations of the sound variant, each with its reason in the docs: offsets are shrunk by
cross-validation, shown sets by empirical Bayes, counts are rounded first, chances to show an item
end below 1, unrounded whole stars are refused, item means are taken out before factorising, each
item is decided once, and devices speak by the calendar.
Added to the paper: several attributes and attributes with more than two values, quantile coupling,
a differentially private disclosure.

What runs on a device needs the standard library alone; the other names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.designs.standard_scheme.device import Device
from tacit.designs.standard_scheme.disclosure import RELEASES, Disclosure, Rule
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import Release, Scores

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.model import Exchange, StandardScheme
    from tacit.designs.standard_scheme.server import Profiles, Server

_HOME = {
    "Exchange": "model",
    "Profiles": "server",
    "Server": "server",
    "StandardScheme": "model",
}
"""Module of each name that loads on first use."""

__all__ = [
    "RELEASES",
    "Device",
    "Disclosure",
    "Exchange",
    "Profiles",
    "Release",
    "Rule",
    "Scores",
    "Server",
    "StandardScheme",
    "State",
]


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
