"""`tacit simulate`: a design on generated people, before real ones are asked."""

from __future__ import annotations

from tacit.cli.commands import group

app = group("simulate", "Try a design on generated people.")
