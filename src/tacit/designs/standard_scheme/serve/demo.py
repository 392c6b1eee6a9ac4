"""A disclosure that hides the generated people's gender.

No real people are concerned: the item table is published, so devices make lists at once.
"""

from __future__ import annotations

from pathlib import Path

from tacit.designs.standard_scheme import StandardScheme
from tacit.service.demo_data import population


def make_demo(folder: Path) -> str:
    """Writes the model."""
    model = StandardScheme(attributes=("gender",), service_sees_items=False, item_table=True)
    model.fit(population()).save(folder / "gender.tacit")
    return """[disclosures.gender]
file = "gender.tacit"
service_sees_items = false  # nobody but the device learns what a person rated
item_table = true           # devices make lists at once; the first letter is due after 30 minutes
"""
