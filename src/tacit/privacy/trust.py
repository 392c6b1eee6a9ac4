"""Who has to be trusted for a claim to mean anything."""

from __future__ import annotations

from enum import StrEnum


class Trust(StrEnum):
    """The party that sees raw data."""

    NOBODY = "nobody but one's own device"
    PLATFORM = "the platform, with everybody's ratings"
    OWN_VENDOR = "one's own vendor, not the others"
