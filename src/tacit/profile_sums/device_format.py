"""Name and version of the file from which devices make lists. Standard library only."""

from __future__ import annotations

MESSAGE = "private-lists"
VERSION = 1
