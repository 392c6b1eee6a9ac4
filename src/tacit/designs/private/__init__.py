"""The design `private`: lists for everybody's data from four noisy sums over people."""

from tacit.designs.private.model import Private, Reason
from tacit.designs.private.settings import Settings, events

__all__ = ["Private", "Reason", "Settings", "events"]
