"""The design `private`: personal lists from four noisy sums over the ratings of all people.

The sums, the scores and the model files are in `tacit.profile_sums`, which the sound variant of
X-Map uses as well. This folder has:

model.py        `Private`, the recommender that a user fits
next_fit.py     a fit before it is made: a single fit, or one fit of a plan
refits.py       several fits of the same people under one budget, which a ledger can keep
folder_fits.py  `tacit refit`: the fits of a service's folder, one after the other
plan.py         estimates before any data: how many people lists need, what each fit may cost
device.py       lists on a person's own device
commands.py     `tacit fit|evaluate|plan private`
experiment/     `tacit compare`, `tacit demo`, and plans measured while people arrive
serve.py        the model of the service's demonstration
audit/          `tacit audit private`: replays of whole fits, and a game of membership inference

Names are imported on first use, so that `device.py` can run on a device that has nothing but the
standard library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.designs.private.model import Private
    from tacit.designs.private.plan import plan_releases, plan_weeks
    from tacit.designs.private.refits import Account
    from tacit.profile_sums.events import events
    from tacit.profile_sums.scoring import Reason
    from tacit.profile_sums.settings import Settings

_MODULES = {
    "Account": "tacit.designs.private.refits",
    "Private": "tacit.designs.private.model",
    "Reason": "tacit.profile_sums.scoring",
    "Settings": "tacit.profile_sums.settings",
    "events": "tacit.profile_sums.events",
    "plan_releases": "tacit.designs.private.plan",
    "plan_weeks": "tacit.designs.private.plan",
}
__all__ = ["Account", "Private", "Reason", "Settings", "events", "plan_releases", "plan_weeks"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_MODULES[name]), name)
