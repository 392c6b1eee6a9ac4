"""Names of the policies of an experiment, as on the command line; `network` has what each does."""

from __future__ import annotations

PUBLISHED = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")
"""The paper's policies; and solo, CAP's learner for each vendor by itself."""
SOUND = ("sound-context", "sound-joint")
NAMES = (*PUBLISHED, *SOUND, "uniform")
WITH_EPSILON = ("p-dap", "gp-dap", *SOUND)
"""Policies that take the epsilon of a visit."""
