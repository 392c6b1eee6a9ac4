"""GP-DAP: P-DAP with less noise in smaller cells.

Source  Zhou, Zhou, Wu, Jin (2015), section VI. Section VII says the reverse of it, that epsilon
        grows as density falls; section VI is taken.
"""

from __future__ import annotations

from tacit.designs.pdap.policies.p_dap import PDap


class GPDap(PDap):
    """P-DAP whose epsilon grows with the level, to epsilon_0 m^(alpha l); Gamma shrinks as much."""

    geometric = True
