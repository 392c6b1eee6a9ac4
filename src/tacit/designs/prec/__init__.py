"""p-REC: recommend from other people's votes, round after round, without revealing any voter.

Source   Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
         (2015).

paper                       here                                   where
T, m, n, P, D, R            PRecSettings                           settings.py
phi, gamma, lambda, rho     OutputDistribution                     output_distribution.py, theory.py
p-REC_sim, p-REC            PRec, Curator                          model.py, curator.py
creditD, creditR, weight    Block                                  round.py
promise of P peers          gate (sound), assumption (published)   gate.py, guarantees.py
epsilon                     Plan, cards                            settings.py, guarantees.py

Deviations, each with its proof in the docs: the paper takes a promise that the client has P peers,
which are voters of nearly the same taste; in its place the sound variant has a private gate, which
shuts once too few voters still count for the client. A missing answer counts as a dislike; m is
only the most objects of a round; voters may abstain, join and leave. The published variant has no
gate and its card is conditional. With epsilon = inf both variants run without a gate and guarantee
nothing.

Names are imported on first use, so that commands that only list designs stay fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.prec.clients import Entry as Entry
    from tacit.designs.prec.clients import Transcript as Transcript
    from tacit.designs.prec.guarantees import cards as cards
    from tacit.designs.prec.model import PRec as PRec
    from tacit.designs.prec.output_distribution import OutputDistribution as OutputDistribution
    from tacit.designs.prec.replay import Round as Round
    from tacit.designs.prec.settings import Plan as Plan
    from tacit.designs.prec.settings import PRecSettings as PRecSettings

_MODULES = {
    "Entry": "tacit.designs.prec.clients",
    "OutputDistribution": "tacit.designs.prec.output_distribution",
    "PRec": "tacit.designs.prec.model",
    "PRecSettings": "tacit.designs.prec.settings",
    "Plan": "tacit.designs.prec.settings",
    "Round": "tacit.designs.prec.replay",
    "Transcript": "tacit.designs.prec.clients",
    "cards": "tacit.designs.prec.guarantees",
}
__all__ = [
    "Entry",
    "OutputDistribution",
    "PRec",
    "PRecSettings",
    "Plan",
    "Round",
    "Transcript",
    "cards",
]


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first used; raise AttributeError for any other name."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_MODULES[name]), name)
