"""The registry of model files: which class reads a file, by the name in its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tacit import container
from tacit.design import design, model_class, names
from tacit.errors import UNUSABLE_CONTENT, ModelFileError


def load_model(path: str | Path) -> Any:
    """Load the fitted recommender in a model file, of which no code is run.

    Raises:
        ModelFileError: the file cannot be read, or holds no model that is known here.
    """
    header, arrays = container.read(path)
    return model_from_parts(header, arrays, path)


def model_from_parts(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str | Path
) -> Any:
    """Make the fitted recommender of a model file's header and arrays.

    Args:
        header: Of a checked file.
        arrays: Of the same file.
        path: The name that an error calls it by.

    Raises:
        ModelFileError: they hold no model that is known here.
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
    """Find the class that reads files of this name; None if there is none. No other is loaded."""
    return _baselines().get(kind) or model_class(kind)


def model_kinds() -> tuple[str, ...]:
    """List the names in model files that can be read."""
    kinds = list(_baselines())
    for name in names():
        kinds += design(name).models
    return tuple(kinds)


def _baselines() -> dict[str, Any]:
    """List the class of each baseline, by its name in a model file."""
    from tacit.recommenders.baselines.registry import BASELINES  # heavy: loaded when needed

    return {baseline.kind: baseline for baseline in BASELINES}
