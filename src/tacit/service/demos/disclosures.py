"""A disclosure that hides the generated people's gender."""

from __future__ import annotations

from pathlib import Path

from tacit.recommenders.standard_scheme import StandardScheme
from tacit.service.demos.films import population


def make_demo(folder: Path) -> str:
    """Writes the model."""
    model = StandardScheme(attributes=("gender",), service_sees_items=False)
    model.fit(population()).save(folder / "gender.tacit")
    return '[disclosures.gender]\nfile = "gender.tacit"\n'
