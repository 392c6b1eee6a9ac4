"""A disclosure that hides the generated people's gender.

No generated person minds: the item table is published, so that lists are made at home at once.
"""

from __future__ import annotations

from pathlib import Path

from tacit.designs.standard_scheme import StandardScheme
from tacit.service.demos.films import population


def make_demo(folder: Path) -> str:
    """Writes the model."""
    model = StandardScheme(attributes=("gender",), service_sees_items=False, item_table=True)
    model.fit(population()).save(folder / "gender.tacit")
    return """[disclosures.gender]
file = "gender.tacit"
service_sees_items = false  # nobody but the device learns what a person rated
item_table = true           # lists at home work at once; the first letter is due after 30 minutes
"""
