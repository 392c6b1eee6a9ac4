"""Texts that name recommenders, and the digests of their files."""

from __future__ import annotations

import hashlib
import sys

import pytest

import tacit
from tacit.auditing.attacks.any_model.named_models import digest_of_code, find_model


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder of modules that can be imported, and are forgotten after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def digest(path):
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_of_a_module_changes_with_its_file(package):
    """MODULE:NAME has the digest of the module's file, as FILE.py:NAME has."""
    (package / "shop").mkdir()
    module = package / "shop" / "models.py"
    module.write_text("class Mine: pass\n")
    assert digest_of_code("shop.models:Mine") == digest_of_code(f"{module}:Mine") == digest(module)
    module.write_text("class Mine: edited = True\n")
    assert digest_of_code("shop.models:Mine") == digest(module)


@pytest.mark.parametrize("text", ["private", "builtins:dict", "shop:Mine"])
def test_a_text_that_names_no_file_has_no_digest(package, text):
    """A recommender of tacit, a module of the interpreter, and a folder of modules."""
    (package / "shop").mkdir()
    assert digest_of_code(text) == ""


def test_a_saved_model_may_have_a_colon_in_its_path(tmp_path):
    """A text that is the path of a file is no MODULE:NAME; its digest is that of the file."""
    path = tmp_path / "monday: lists.tacit"
    ratings = tacit.generate(users=20, items=10, ratings=100, seed=1)
    tacit.Popularity().fit(ratings).save(path)
    listed = find_model(str(path), {})({})
    assert sorted(listed) == sorted(ratings.item_ids.tolist())
    assert digest_of_code(str(path)) == digest(path)
