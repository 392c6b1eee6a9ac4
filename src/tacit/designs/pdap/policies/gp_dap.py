"""GP-DAP: P-DAP with less noise in smaller cells.

Source  Zhou, Zhou, Wu, Jin (2015), section VI, where epsilon grows with the density of visitors.
        Section VII says that it grows as density falls; section VI is followed. Symbols as in
        theory.py.
"""

from __future__ import annotations

from tacit.designs.pdap.policies.p_dap import PDap


class GPDap(PDap):
    """P-DAP with epsilon_0 m^(alpha l) and Gamma m^(-alpha l) in cells of level l.

    epsilon_0 and Gamma are the arguments `epsilon` and `gamma` of `PDap`.
    """

    geometric = True
