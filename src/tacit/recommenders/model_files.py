"""Load model files: the kind in a file's header decides which class reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tacit import container
from tacit.design import design, model_class, names
from tacit.errors import UNUSABLE_CONTENT, ModelFileError


def load_model(path: str | Path) -> Any:
    """Load the fitted recommender from a model file; no code of the file is run.

    Raises:
        ModelFileError: The file cannot be read, or holds no recommender that this version knows.
    """
    header, arrays = container.read(path)
    return model_from_parts(header, arrays, path)


def model_from_parts(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str | Path
) -> Any:
    """Make the fitted recommender that a model file's header and arrays describe.

    Args:
        header: The file's header.
        arrays: The file's arrays, by name.
        path: The file, for messages.

    Raises:
        ModelFileError: The header's kind is unknown to this version, or header and arrays do not
            fit together.
    """
    kind = header.get("recommender")
    reader = model_reader(kind) if isinstance(kind, str) else None
    if reader is None:
        raise ModelFileError(f"{path}: holds a recommender this tacit does not know ({kind!r}).")
    try:
        return reader.from_parts(header, arrays)
    except UNUSABLE_CONTENT as error:
        problem = f"{path}: its content cannot be used ({error}). Fit it again."
        raise ModelFileError(problem) from None


def model_reader(kind: str) -> Any:
    """Return the class that reads model files of a kind; None if there is no such kind.

    Of the designs, only the one whose models have this kind is imported.
    """
    return _baselines().get(kind) or model_class(kind)


def model_kinds() -> tuple[str, ...]:
    """Return the kinds of model files that can be read."""
    kinds = list(_baselines())
    for name in names():
        kinds += design(name).models
    return tuple(kinds)


def _baselines() -> dict[str, Any]:
    """Return the class of each baseline by its kind."""
    from tacit.recommenders.baselines.registry import BASELINES  # imported here, since it is slow

    return {baseline.kind: baseline for baseline in BASELINES}
