"""Names of the policies of an experiment, as on the command line; network.py describes each."""

from __future__ import annotations

PUBLISHED = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")
"""The paper's policies, and "solo", which gives each vendor a CAP learner of its own."""
SOUND = ("sound-context", "sound-joint")
"""Policies with a proved guarantee at a finite epsilon."""
NAMES = (*PUBLISHED, *SOUND, "uniform")
"""All policies."""
WITH_EPSILON = ("p-dap", "gp-dap", *SOUND)
"""Policies that take the epsilon of a visit."""
