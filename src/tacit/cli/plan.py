"""`tacit plan`: how many people a design needs, before anybody is asked anything."""

from __future__ import annotations

from tacit.cli.commands import group

app = group("plan", "Compute how many people a design needs.")
