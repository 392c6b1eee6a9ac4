"""p-REC: recommend from other people's votes, round after round, without revealing any voter.

Source   Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
         (2015).

paper                       here                                   where
T, m, n, P, D, R            PRecSettings                           settings.py
phi, gamma, lambda, rho     OutputDistribution                     output_distribution.py
p-REC_sim, p-REC            PRec, Curator                          model.py, curator.py
creditD, creditR, weight    Block                                  round.py
promise of P peers          gate (sound), assumed (published)      gate.py, clients.py
epsilon                     Plan, cards                            settings.py, guarantees.py

Deviations, each with its proof in the docs: the sound variant keeps the number of survivors above a
floor by a private gate instead of being promised it; a client's silence counts as a dislike;
rounds may have fewer objects; voters may abstain, join and leave. The published variant has no gate
and its card is conditional; with epsilon = inf both are the paper's algorithm, promising nothing.
"""

from tacit.designs.prec.clients import Entry, Transcript
from tacit.designs.prec.guarantees import cards
from tacit.designs.prec.model import PRec
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.designs.prec.replay import Round, replay
from tacit.designs.prec.settings import Plan, PRecSettings

__all__ = [
    "Entry",
    "OutputDistribution",
    "PRec",
    "PRecSettings",
    "Plan",
    "Round",
    "Transcript",
    "cards",
    "replay",
]
