"""`import tacit` is cheap, and every public name leads somewhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tacit


def test_import_brings_nothing_heavy():
    """`import tacit` imports no other package, so that it costs a few milliseconds."""
    code = (
        "import sys; before = set(sys.modules); import tacit; "
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before} "
        "- set(sys.stdlib_module_names)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "['tacit']"


@pytest.mark.parametrize("name", tacit.__all__)
def test_public_name_exists(name):
    """Each name of `tacit.__all__` can be used, and `dir(tacit)` shows it."""
    assert getattr(tacit, name) is not None
    assert name in dir(tacit)


def test_unknown_name():
    """A name that is not there is an AttributeError like any module's."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tacit.nonsense
