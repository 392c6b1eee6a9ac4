"""CAP: one centralised learner in cells that split, without neighbours.

Source  Xu, Deng, Demiryurek, Shahabi, van der Schaar: Mining the situation: spatiotemporal traffic
        prediction with big data (2015), reference [33] of the P-DAP paper.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.designs.pdap.policies.controls import controls_by_level
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.settings import Setting


class Cap(Dap):
    """DAP without neighbours, and with ln t in place of ln T in G1 (controls.py).

    In the paper, one such learner has the videos and visitors of all vendors. The experiment's
    policy "solo" gives each vendor a learner of its own.
    """

    def __init__(self, setting: Setting) -> None:
        controls = controls_by_level(setting)
        super().__init__(
            setting,
            neighbours=0,
            controls=replace(controls, explore_own=controls.explore_forwarded),
        )
