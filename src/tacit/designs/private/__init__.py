"""The design `private`: lists for everybody's data from four noisy sums over people.

The sums, the scores and the files are in `tacit.profile_sums`, which the sound X-Map shares. Here:

model.py        `Private`, the class that a user meets
next_fit.py     what a fit is: one by itself, or one of a plan
refits.py       fits that follow one another under one budget for life
plan.py         how many people lists take, and what fits share, before any data
device.py       lists on a person's own device
commands.py     `tacit fit|evaluate|plan private`
experiment/     `tacit compare`, `tacit demo`, and plans measured over time
serve.py        what the service's demonstration shows
audit/          the design on the audit's bench, and the game of who was in the rows

Names load on first use, so that a device needs the standard library alone.
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
