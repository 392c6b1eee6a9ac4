"""The attacker in examples/ is found by its entry point and joins the panel."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
from scipy import sparse

from tacit import extensions
from tacit.auditing.attacks import Panel, Releases, panel_names

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "an_attacker"


def test_the_example_attacker_joins_the_full_panel(monkeypatch):
    """As its pyproject.toml registers it; it tells people who show many items from others."""
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    ((name, value),) = declared[extensions.ATTACKERS].items()
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    entry = EntryPoint(name, value, extensions.ATTACKERS)
    monkeypatch.setattr(extensions, "entry_points", lambda group: [entry])
    assert name in panel_names("full")
    labels = np.arange(40) % 2
    shown = np.zeros((40, 10))
    shown[:, :3] = 1
    shown[labels == 1, 3:6] = 1
    seen = Releases.from_ratings(sparse.csr_array(shown))
    scores = Panel([name]).fit(seen, labels).scores(seen)[name]
    assert scores[labels == 1].min() > scores[labels == 0].max()
