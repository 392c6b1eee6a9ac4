"""Write all settings of tacit.toml as a page of the docs.

`python tools/settings_page.py` writes docs/settings.md from the classes that read the file; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

from tracked import ROOT

from tacit.design import served_sections
from tacit.service.served_models import ServedModel
from tacit.service.setting_tables import setting_types
from tacit.service.settings import Settings
from tacit.service.splits import Split

PAGE = ROOT / "docs" / "settings.md"
HEAD = """# Settings: every line of `tacit.toml`

This page is generated from the classes that read the file (`python tools/settings_page.py`); a test
compares the two.

A setting that is not on this page, a value of another type, and a value in the column *refused*
stop the service at its start, with one sentence that names the section and the setting. Whole
numbers below 0 are refused everywhere. A *file* is named relative to the folder, and lies in it.
How things are set up: [the service](service.md), [campaigns, disclosures and
rounds](served-designs.md), [vendors](vendors.md).

The file begins with `tenant = "shop"`: whose people and budgets these are. A tenant, and each
`NAME` below, consists of `a-z`, `0-9`, `_` and `-`, at most 64.

## `[service]`

A setting is taken from the command-line option, else from the environment (`TACIT_PER_SECOND`),
else from this section.
"""
TYPES = {str: "text", bool: "true or false", int: "whole number", float: "number"} | {
    list: "list of texts",
    dict: "tables",
}
ABOUT = {
    "models": "A fitted model, for lists.",
    "splits": "Private lists [compared](service.md#two-lists-compared) with popular items.",
    "campaigns": "A public question of the [sketches](sketches.md).",
    "disclosures": "The [standard scheme](standard-scheme.md).",
    "rounds": "A run of [p-REC](prec.md).",
    "vendors": "A vendor of [P-DAP](pdap.md).",
}


def page() -> str:
    """Return the text of the page."""
    served: dict[str, Any] = {"models": ServedModel, "splits": Split}
    for noun, (design, served_section) in served_sections().items():
        served[noun] = design.load(served_section.kind)
    parts = [HEAD, *table(Settings)]
    for noun in sorted(served, key=lambda noun: (noun != "models", noun)):
        about = f"\n{ABOUT[noun]}\n" if noun in ABOUT else ""
        parts += section(f"{noun}.NAME", served[noun].SETTINGS, about)
    return "\n".join(parts) + "\n"


def section(name: str, settings: type[Any], about: str = "") -> Iterator[str]:
    """Yield the lines about a section of the file, and about the sections below it.

    Args:
        name: Name of the section, without brackets.
        settings: The class that reads it.
        about: A sentence about it; "" for none.
    """
    yield f"\n## `[{name}]`\n{about}"
    yield from table(settings)
    for setting in fields(settings):
        settings_below = setting.metadata["table"]
        if settings_below is not None:
            yield from section(f"{name}.{setting.name}.NAME", settings_below)


def table(settings: type[Any]) -> Iterator[str]:
    """Yield the lines of a section's table: its heading, and a row for each setting."""
    yield "| setting | type | default | unit | meaning | refused |"
    yield "|---|---|---|---|---|---|"
    types = setting_types(settings)
    for setting in fields(settings):
        if setting.name in types:
            cells = (
                f"`{setting.name}`",
                TYPES[types[setting.name]],
                default(setting),
                setting.metadata["unit"],
                setting.metadata["meaning"],
                refused(setting),
            )
            yield f"| {' | '.join(cells)} |"


def default(setting: Field[Any]) -> str:
    """Return a setting's default as the file writes it, or a sentence about it."""
    if setting.metadata["default_text"]:
        return str(setting.metadata["default_text"])
    if setting.default is MISSING:
        return "none: required"
    if isinstance(setting.default, bool):
        return f"`{str(setting.default).lower()}`"
    if isinstance(setting.default, str):
        return f'`"{setting.default}"`'
    return f"`{setting.default}`"


def refused(setting: Field[Any]) -> str:
    """Describe the values of the right type that are refused; "" for none."""
    above = setting.metadata["above"]
    return f"{above} or less" if above is not None else setting.metadata["refused"]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
