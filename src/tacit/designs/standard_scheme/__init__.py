"""The standard scheme: hide an attribute from a recommender by what a person's device sends.

Source   US patent application "Privacy protection against curious recommenders"; Ioannidis,
         Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive analytics
         (SIGMETRICS 2014), where it is called the midpoint protocol.

The paper's symbols and their names here (docs/standard-scheme.md has all of them):

x0        value of an attribute
v_i0      offset of an item
L(v_i)    `Disclosure`
y_i       `Release`
p_i^{+-}  chances that an item is rated, from which equation 7 makes `keep`
alpha     `mix` of a `Rule`

Deviations of the sound variant, each with its reason in the docs: offsets are shrunk by
cross-validation, the shares of people who rate an item by empirical Bayes; counts are rounded
before tables are computed; chances to show an item are below 1; the scheme without rounding is
refused; item means are subtracted before the factorisation; each item is decided once; and after
the first day, devices send one letter (an encoded release) in each calendar epoch, such as a week.
Added to the paper: several attributes and attributes with more than two values, quantile coupling,
a differentially private disclosure.

Code that runs on a device needs the standard library alone. Names are imported on first use, so
that commands that only list designs stay fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.standard_scheme.device import Device
    from tacit.designs.standard_scheme.disclosure import RELEASES, Disclosure, Rule
    from tacit.designs.standard_scheme.memory import State
    from tacit.designs.standard_scheme.messages import Release, Scores
    from tacit.designs.standard_scheme.model import Exchange, StandardScheme
    from tacit.designs.standard_scheme.server import Profiles, Server

_MODULE_OF = {
    "Device": "device",
    "Disclosure": "disclosure",
    "Exchange": "model",
    "Profiles": "server",
    "RELEASES": "disclosure",
    "Release": "messages",
    "Rule": "disclosure",
    "Scores": "messages",
    "Server": "server",
    "StandardScheme": "model",
    "State": "memory",
}
"""Module of each name, in this package."""

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
    if name not in _MODULE_OF:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
