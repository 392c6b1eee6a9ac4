"""`tacit replay`: run a design on recorded data."""

from __future__ import annotations

from tacit.cli.commands import group

app = group("replay", "Run a design on recorded data.")
