"""The circle contracts see direct, long and hidden circles, and lists that are out of date."""

from __future__ import annotations

import import_circles
import pytest


def circles(**files: str) -> list[list[str]]:
    """Circles of a package `p` with these modules, each given as its source."""
    modules = {"p": import_circles.list_imports("")}
    modules |= {f"p.{name}": import_circles.list_imports(text) for name, text in files.items()}
    return import_circles.find_circles(import_circles.import_graph(modules))


def test_two_files_that_import_each_other_are_a_circle():
    """Whatever the form of the import, and wherever in the file it stands."""
    first = "from p import b"
    second = "def f():\n    import p.a"
    assert circles(a=first, b=second, c="import p.a") == [["p.a", "p.b"]]
    handled = "try:\n    x = 1\nexcept OSError:\n    if x:\n        import p.a"
    assert circles(a=first, b=handled) == [["p.a", "p.b"]]
    matched = "match x:\n    case 1:\n        from p import a"
    assert circles(a=first, b=matched) == [["p.a", "p.b"]]


def test_a_circle_through_others_is_one_group():
    """Three files in a ring are one circle."""
    ring = circles(a="import p.b", b="from p.c import x", c="from p.a import y")
    assert ring == [["p.a", "p.b", "p.c"]]


def test_an_import_by_literal_name_counts():
    """`import_module` with a literal name closes a circle like any import."""
    hidden = 'import importlib\nimportlib.import_module("p.a")'
    assert circles(a="import p.b", b=hidden) == [["p.a", "p.b"]]


def test_one_way_is_no_circle():
    """A chain and a diamond have no circle."""
    assert circles(a="import p.b, p.c", b="import p.d", c="import p.d", d="import os") == []


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two files that import each other, one of them by `import_module`."""
    folder = tmp_path / "ring_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "a.py").write_text("import ring_package.b\n")
    hidden = 'from importlib import import_module\nimport_module("ring_package.a")\n'
    (folder / "b.py").write_text(hidden)
    monkeypatch.syspath_prepend(tmp_path)
    return "ring_package"


def checked(kind: type, package: str, **options: list[str]) -> dict[str, list[object]]:
    """Metadata of one contract on the package; `kept` is among it."""
    contract = kind("a name", {}, {"package": package, **options})
    check = contract.check(None, verbose=False)
    return {"kept": check.kept, **check.metadata}


def test_an_open_circle_is_allowed_while_it_is_listed(package):
    """A listed circle is kept; one that is not listed breaks the contract."""
    circle = ["ring_package.a", "ring_package.b"]
    kind = import_circles.NoCircles
    assert checked(kind, package)["new"] == [circle]
    assert checked(kind, package, open_circles=[" ".join(circle)])["kept"]


def test_a_closed_circle_leaves_the_list(package):
    """A line of the list that is no circle any more breaks the contract."""
    both = ["ring_package.a ring_package.b", "ring_package ring_package.a"]
    found = checked(import_circles.NoCircles, package, open_circles=both)
    assert not found["kept"]
    assert found["closed"] == [["ring_package", "ring_package.a"]]


def test_a_hidden_import_is_refused_unless_listed(package):
    """Also a line of the list that hides nothing any more."""
    kind = import_circles.NoHiddenImports
    hidden = "ring_package.b -> ring_package.a"
    assert checked(kind, package)["new"] == [hidden]
    assert checked(kind, package, still_hidden=[hidden])["kept"]
    assert checked(kind, package, still_hidden=[hidden, "x -> y"])["gone"] == ["x -> y"]
