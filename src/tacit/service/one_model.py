"""A folder that serves one model file, for those who have no deployment yet."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.errors import ConfigError
from tacit.recommenders import load_model
from tacit.service.keys import Role, add_key
from tacit.service.settings import FILE
from tacit.writing import write_whole

TENANT = "local"


def serve_model(model: Path) -> tuple[Path, dict[str, str]]:
    """The folder beside a model file, and the keys made for it, which are known here alone.

    It is made the first time. Later the model is copied again, and nothing else is changed.
    """
    load_model(model)  # what is no model is refused before a folder is made
    name = re.sub(r"[^a-z0-9_-]+", "-", model.stem.lower()).strip("-_") or "model"
    folder = model.with_name(f"{model.stem}-service")
    settings = folder / FILE
    if folder.exists() and not settings.is_file():
        raise ConfigError(f"{folder}: is there and holds no {FILE}. Rename it, or the model.")
    content = model.read_bytes()
    if settings.is_file():
        write_whole(folder / "model.tacit", content)
        return folder, {}
    folder.mkdir()
    write_whole(folder / "model.tacit", content)
    key = add_key(folder / "keys.json", "operator", Role.OPERATOR, TENANT)
    write_whole(
        settings,
        f"""# What is served. See docs/service.md.
tenant = "{TENANT}"

[models.{name}]
file = "model.tacit"
""".encode(),
    )
    return folder, {Role.OPERATOR.value: key}
