"""Find a recommender by a text: FILE.py:NAME, MODULE:NAME, a name of tacit, or a model file."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tacit.errors import ConfigError, DataError, TacitError
from tacit.recommenders.base import History
from tacit.recommenders.model_files import load_model, model_kinds, model_reader


def find_model(text: str, arguments: Mapping[str, Any]) -> Any:
    """Find the recommender that a text names, in a form that `adapt` accepts.

    Args:
        text: FILE.py:NAME, MODULE:NAME, the name of a recommender of tacit, or the file of a saved
            model. If there is a file of the whole text, that is meant.
        arguments: Keyword arguments to call the named class or function with.

    Returns:
        The named object itself if there are no arguments. With arguments, and for a class of tacit,
        a function that makes a new recommender. For a saved model, a function from a history to a
        list: it cannot be fitted again.

    Raises:
        ConfigError: There is no such recommender, it cannot be imported or made, or a saved model
            is given arguments or makes no list for a history.
        DataError: The file of Python code does not exist.
        ModelFileError: The file of a saved model cannot be read as one.
    """
    if Path(text).is_file():
        return read_saved_model(Path(text), arguments)
    module, colon, name = text.rpartition(":")
    if colon:
        maker = getattr(_import_module(module), name, None)
        hint = f"{module} has no '{name}'."
    else:
        maker = model_reader(text)
        hint = f"Known: {', '.join(model_kinds())}."
    if maker is None:
        raise ConfigError(f"--model {text}: no such recommender. {hint}")
    if not arguments and (colon or not isinstance(maker, type)):
        return maker
    try:
        maker(**arguments)
    except TacitError:
        raise
    except Exception as error:
        raise ConfigError(
            f"--model {text}: {error}. Arguments are given with --set NAME=VALUE."
        ) from None
    return lambda: maker(**arguments)


def read_saved_model(
    path: Path, arguments: Mapping[str, Any]
) -> Callable[[History], list[int | str]]:
    """Read a saved model as a function that lists all items it may recommend for a history.

    Args:
        path: The file.
        arguments: Must be empty: a saved model is made already.

    Raises:
        ConfigError: There are arguments, or the model makes no list for a history.
        ModelFileError: The file is no model.
    """
    if arguments:
        raise ConfigError(f"--model {path}: a saved model takes no --set; it is not fitted again.")
    model = load_model(path)
    if not hasattr(model, "recommend") or not hasattr(model, "item_ids_"):
        raise ConfigError(f"--model {path}: this model makes no list for a history.")
    n_items = len(model.item_ids_)

    def recommend(history: History) -> list[int | str]:
        """List all items that the model may recommend for a history, best first."""
        return list(model.recommend(history=history, n=n_items).item_ids)

    recommend.__name__ = path.stem
    return recommend


def digest_of_code(text: str) -> str:
    """Return the SHA-256 of the file that a model's text names; "" if it names no file.

    That is the file of a saved model, FILE.py, or the file of MODULE. The digest changes with this
    file, also where the text stays the same. It does not change with the code that the file
    imports, nor with that of tacit.

    Args:
        text: As in `find_model`.

    Raises:
        ConfigError: The text names a module that cannot be imported.
    """
    path = Path(text)
    if not path.is_file():
        module, colon, _ = text.rpartition(":")
        if not colon:
            return ""
        file: str | None = module
        if not module.endswith(".py"):
            file = getattr(_import_module(module), "__file__", None)
        path = Path(file or "")  # a built-in module has no file
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _import_module(source: str) -> ModuleType:
    """Import a module.

    Args:
        source: The module's name, or its file, which ends in ".py".

    Raises:
        DataError: There is no such file.
        ConfigError: The module cannot be imported.
    """
    if source.endswith(".py") and not Path(source).is_file():
        raise DataError("there is no such file", path=source)
    try:
        if not source.endswith(".py"):
            return importlib.import_module(source)
        path = Path(source).resolve()
        name = f"model_in_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(
            f"--model {source} cannot be imported ({type(error).__name__}: {error}). Correct it, "
            "or install what it needs."
        ) from error
    return module
