"""X-Map: recommend in a domain where a person has never rated, from what they rated elsewhere.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017), and its technical report.

paper                 here                                   where
Baseliner             baseline                               extender.py
s_ac(i, j)            Engine.neighbours                      engine
BB, NB, NN            Layers.bridge, near, far               extender.py
S_ij, F_ij            agreements, shares                     extender.py
s_p, c_p, X-SIM       Engine.paths, similarities             engine, extender.py; theory.x_sim
PRS(epsilon)          drawn_as_published                     generator.py
AlterEgo              alter_egos, Profiles                   generator.py
tau, Pred[i](t)       ItemNeighbours, PeopleNeighbours       recommender.py
a (alpha)             recency                                recommender.py
SS, PNSA, PNCF        candidates, drawn_neighbours           private_neighbours.py
w                     truncation                             theory.py

The sound variant (settings.py) is the design `private` and shares no mechanism with the paper: the
published claims are refuted, with numbers, on the card of variant="published". The constant variant
has the paper's mechanisms with a sensitivity that holds. Each file's top names its deviations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.xmap.model import Reason, XMap

__all__ = ["Reason", "XMap"]


def __getattr__(name: str) -> Any:
    """The names load on first use: commands that list designs need none of them."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.model"), name)
