"""The mutation tool: a mutant is one step of a file changed, and a test that holds it kills it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import mutants
import pytest

FILE = Path("src/tacit/accounting/base.py")


def test_each_mutant_is_another_program():
    """Every place gives a file that differs from the shipped one and can be read."""
    shipped = ast.unparse(ast.parse((mutants.ROOT / FILE).read_text()))
    made = [mutants.make_mutant(FILE, *place) for place in mutants.list_mutants(FILE)]
    assert len(made) > 5
    for one in made:
        assert one.text != shipped
        ast.parse(one.text)


def test_every_pattern_of_formulas_names_files_that_have_tests():
    """Patterns that match nothing, and tests that were moved, would pass for a full score."""
    having = [
        file for file in mutants.files_of_formulas() if mutants.tests_by_nearness(file, again=False)
    ]
    for pattern in mutants.FORMULAS:
        assert any(file.match(f"src/tacit/{pattern}") for file in having)


DESIGNS = ["pdap", "prec", "private", "sketches", "standard_scheme", "xmap"]


def test_every_design_has_files_and_tests():
    """Steps and experiments of all designs are changed; tests of commands belong to them."""
    files = mutants.files_of_designs()
    assert sorted({mutants.folder_of_tests(file).name for file in files}) == DESIGNS
    experiments = [file for file in files if "experiment" in str(file)]
    assert sorted({mutants.folder_of_tests(file).name for file in experiments}) == DESIGNS
    for design in DESIGNS:
        assert mutants.tests_of(Path("tests/designs") / design)
    assert "tests/cli/test_simulate_pdap.py" in mutants.tests_of_survivors(
        Path("tests/designs/pdap")
    )
    scheme = mutants.tests_of_survivors(Path("tests/designs/standard_scheme"))
    assert {"tests/cli/test_standard_scheme.py", "tests/evaluation/test_page.py"} <= set(scheme)


def test_no_file_is_in_both_parts():
    """Declarations and services are in none."""
    formulas = set(mutants.files_of_formulas())
    designs = mutants.files_of_designs()
    assert len(designs) > 40
    assert formulas.isdisjoint(designs)
    assert not [file for file in designs if file.name == "design.py" or "serve" in file.parts]


def test_tests_of_a_package_lie_in_its_folder():
    """Tests of a design in that of the design, however deep its file lies."""
    assert mutants.folder_of_tests(FILE) == Path("tests/accounting")
    world = Path("src/tacit/designs/pdap/experiment/world.py")
    assert mutants.folder_of_tests(world) == Path("tests/designs/pdap")


def test_test_files_are_tried_by_nearness():
    """The one that is named after the changed file, then others that import it; a survivor's are
    then the rest of the design, and commands, those that run every design at last."""
    file = Path("src/tacit/designs/prec/planner.py")
    first = mutants.tests_by_nearness(file, again=False)
    own = mutants.tests_of(Path("tests/designs/prec"))
    assert first[0] == "tests/designs/prec/test_planner.py"
    importing = {test for test in own if mutants.imports_file(mutants.ROOT / test, file)}
    assert 1 < len(importing) < len(own)
    assert set(first) == importing
    again = mutants.tests_by_nearness(file, again=True)
    assert again[: len(first)] == first
    assert sorted(again) == sorted(mutants.tests_of_survivors(Path("tests/designs/prec")))
    last = {Path(test).name for test in again[-len(mutants.LAST) :]}
    assert last == set(mutants.LAST)


def test_where_no_test_file_is_named_after_a_file_those_that_import_it_are_tried():
    """A world of theorems has its tests beside those of the theorems."""
    file = Path("src/tacit/designs/standard_scheme/experiment/linear_world.py")
    tests = mutants.tests_by_nearness(file, again=False)
    assert tests == ["tests/designs/standard_scheme/experiment/test_theorem.py"]


def test_where_no_test_file_imports_a_file_those_beside_it_are_tried():
    """They reach it through others; those of deeper folders are for survivors."""
    file = Path("src/tacit/designs/standard_scheme/selection.py")
    folder = Path("tests/designs/standard_scheme")
    assert not [
        test for test in mutants.tests_of(folder) if mutants.imports_file(mutants.ROOT / test, file)
    ]
    first = mutants.tests_by_nearness(file, again=False)
    assert "tests/designs/standard_scheme/test_device.py" in first
    assert {Path(test).parent for test in first} == {folder}
    assert mutants.tests_by_nearness(file, again=True)[: len(first)] == first


def test_verdicts_are_read_where_a_run_ended(tmp_path: Path):
    """The last verdict of a place counts: one that survived may have been run again."""
    kept = tmp_path / "verdicts.txt"
    assert mutants.read_verdicts(kept) == {}
    kept.write_text("survived   a.py:1:2: 3 -> 4\nkilled     b.py:1:2: x + 1 -> x - 1\n")
    with kept.open("a") as out:
        print("killed     a.py:1:2: 3 -> 4", file=out)
    assert mutants.read_verdicts(kept) == {
        "a.py:1:2: 3 -> 4": "killed",
        "b.py:1:2: x + 1 -> x - 1": "killed",
    }


def test_a_run_goes_on_and_survivors_are_run_again_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verdict in the file is not made again; `--again` makes that of a survivor."""
    one = mutants.Mutant(Path("src/tacit/designs/prec/new.py"), "new.py:1:0: 1 -> 2", "")
    monkeypatch.setattr(mutants, "chosen_mutants", lambda *_asked: iter([one]))
    monkeypatch.chdir(mutants.ROOT)  # `main` goes there
    kept = str(tmp_path / "verdicts.txt")

    def run(verdict: str, *more: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(mutants.Runs, "verdict_of", lambda _runs, _mutant: (verdict, ""))
        monkeypatch.setattr(sys, "argv", ["mutants.py", "--done", kept, *more])
        code = mutants.main()
        return code, capsys.readouterr().out.splitlines()

    assert run("survived")[1][0] == "survived   new.py:1:0: 1 -> 2"
    assert run("killed")[1][0].startswith('{"survived": 1')
    assert run("killed", "--again")[1][0] == "killed     new.py:1:0: 1 -> 2"
    assert run("survived", "--again")[1][-1].startswith('{"killed": 1')
    assert run("survived")[0] == 0


_KILLED = """
import mutants, pathlib
file = pathlib.Path("src/tacit/designs/prec/gate.py")
shipped = file.read_text()
runs = mutants.Runs(2.0, again=False)
one = mutants.make_mutant(file, *mutants.list_mutants(file)[0])
changed = shipped.replace("return ", "return None and ")
slow_once = shipped + pathlib.Path("tests/support/slow_once.py").read_text()
for text in (changed, shipped + "SCALE = 1", "raise RuntimeError", shipped, slow_once):
    print(*runs.verdict_of(one._replace(text=text, place="a place")))
runs.end()
"""


def test_the_verdict_names_the_test_that_kills(tmp_path):
    """Of a changed function, and of a module that cannot be imported. A module that does what the
    shipped one does survives, as it is, with a constant that nobody reads, and where only its first
    use takes long, as with machine code that must be compiled."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED],
        cwd=mutants.ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(mutants.ROOT / "tools"),
            "SLOW_ONCE": str(tmp_path / "used"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    functions, constant, module, shipped, slow_once = done.stdout.splitlines()
    assert functions.startswith("killed tests/designs/prec/test_gate.py::test_")
    assert module.startswith("killed tests/designs/prec/test_gate.py")
    assert constant.split() == shipped.split() == slow_once.split() == ["survived"]
    assert (tmp_path / "used").exists()


_LIMITED = """
import mutants
file = "tests/support/slow_examples.py"
dear, slow, quick = [f"{file}::test_{name}" for name in ("dear", "slow", "quick")]
workshop = mutants.Workshop([file])
for asked in (
    mutants.RunRequest([file], slowest=0.3),
    mutants.RunRequest([dear], slowest=0.3),
    mutants.RunRequest([slow], slowest=0.3),
    mutants.RunRequest([file]),
    mutants.RunRequest([file], without=[slow]),
    mutants.RunRequest([file], first=[quick, slow], most=0.3),
    mutants.RunRequest([file], first=[slow, quick], most=0.3),
):
    found = workshop.run(asked)
    print(*[name.split("_")[-1] for name in found["seconds"]], found["code"], len(found["slow"]))
workshop.end()
"""


def test_tests_that_take_too_long_are_stopped_and_others_are_not_begun():
    """Whether the test is slow or what it is given. Tests come in the order asked for."""
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED],
        cwd=mutants.ROOT,
        env={**os.environ, "PYTHONPATH": str(mutants.ROOT / "tools")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "quick slow dear dearer 1 3",
        "dear 1 1",
        "slow 1 1",
        "quick slow dear dearer 0 0",
        "quick dear dearer 0 0",
        "quick slow 0 0",
        "slow 0 0",
    ]


def test_places_are_named_and_each_equivalent_is_one_of_them():
    """No two mutants share a name, and no reason stands for a mutant that is gone."""
    made = [mutants.make_mutant(FILE, *place).place for place in mutants.list_mutants(FILE)]
    assert made == [*mutants.list_places(FILE)]
    files = mutants.files_of_formulas() + mutants.files_of_designs()
    named = []
    for file in files:
        named += mutants.list_places(file)
    assert len(named) == len(set(named)) > 5000
    assert set(mutants.read_equivalent()) <= set(named)


def test_a_sample_keeps_its_mutants_when_code_changes():
    """Lines that move change no rank, and another change beside them none of the others. A change
    that is there twice has two ranks; another seed draws others."""
    before = ["a.py:3:0: 1 -> 2", "a.py:9:4: x < y -> x <= y", "a.py:9:9: 1 -> 2"]
    after = ["a.py:4:0: 1 -> 2", "a.py:7:1: 0 -> 1", "a.py:12:4: x < y -> x <= y"]
    first, second, third = mutants.ranks(before, seed=1)
    assert first != third
    moved, added, same = mutants.ranks(after, seed=1)
    assert (moved, same) == (first, second)
    assert added not in (first, second, third)
    assert set(mutants.ranks(before, seed=2)).isdisjoint([first, second, third])


def test_a_sample_is_drawn_of_all_files():
    """Each once, and a larger sample begins with the smaller one."""
    drawn = [one.place for one in mutants.chosen_mutants("all", 40, 3, "")]
    assert len(set(drawn)) == 40
    assert len({place.split(":")[0] for place in drawn}) > 20
    smaller = [one.place for one in mutants.chosen_mutants("all", 10, 3, "")]
    assert smaller == drawn[:10]


def test_tests_of_a_file_import_it():
    """By its module, or by what its package hands on; others of the same folder are left out."""
    tests = mutants.tests_by_nearness(FILE, again=False)
    assert "tests/accounting/test_privacy_filter.py" in tests
    assert "tests/accounting/test_schema.py" not in tests


_VERDICTS = """
import mutants, pathlib
file = pathlib.Path({file!r})
tests = ["tests/accounting/test_rounding.py"]
one = mutants.make_mutant(file, *mutants.list_mutants(file)[0])
for text in ("raise RuntimeError", one.file.read_text()):
    print(mutants.run_importing(one._replace(text=text), mutants.RunRequest(tests))["code"])
"""


def test_a_test_that_holds_a_line_kills_its_mutant():
    """A file that cannot be imported is killed; the shipped one in the place of a mutant is not,
    and stays as it is on the disk."""
    shipped = (mutants.ROOT / FILE).read_text()
    done = subprocess.run(
        [sys.executable, "-c", _VERDICTS.format(file=str(FILE))],
        cwd=mutants.ROOT,
        env={**os.environ, "PYTHONPATH": str(mutants.ROOT / "tools")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(mutants.NO_IMPORT), "0"]
    assert (mutants.ROOT / FILE).read_text() == shipped


_ENDLESS = """
import itertools, mutants
print(mutants.run_forked(lambda: {"last": max(itertools.repeat(1))}, most=1))
print(mutants.run_forked(lambda: {"code": 0}, most=1))
"""


def test_a_mutant_that_does_not_end_is_stopped():
    """By what it takes of the processor: on a busy machine nothing is taken for endless."""
    environment = {**os.environ, "PYTHONPATH": str(mutants.ROOT / "tools")}
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["None", "{'code': 0}"]


_WORKSHOP = """
import ast, mutants, pathlib
file = pathlib.Path("src/tacit/accounting/rounding.py")
test = "tests/accounting/test_rounding.py"
workshop = mutants.Workshop([test])
other = mutants.Workshop(["tests/accounting/test_gdp.py"])
whole = workshop.run(mutants.RunRequest([test]))
name = test + "::test_nearest_sums_would_be_below"
print(whole["code"], len(whole["seconds"]) > 5)
made = [mutants.make_mutant(file, *place) for place in mutants.list_mutants(file)]
constant = next(one for one in made if "120 -> 121" in one.place)
first = "numbers = list(parts)"
failing = constant._replace(text=file.read_text().replace(first, "raise RuntimeError"))
endless = constant._replace(text=file.read_text().replace(first, "while True: pass"))
for one in (constant, failing, endless):
    found = workshop.run(mutants.RunRequest([name], slowest=2.0), one)
    print(found and found["code"])
print(workshop.run(mutants.RunRequest([name]))["code"])
workshop.end()
other.end()
"""


def test_imported_functions_get_the_code_of_a_mutant():
    """Tests that call them fail, and pass again on the shipped file; a changed constant is left to
    tests that import the mutant; what does not end is stopped. Two such processes end."""
    done = subprocess.run(
        [sys.executable, "-c", _WORKSHOP],
        cwd=mutants.ROOT,
        env={**os.environ, "PYTHONPATH": str(mutants.ROOT / "tools")},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    lines = done.stdout.splitlines()
    assert lines == ["0 True", str(mutants.NEEDS_MORE_TESTS), "1", "1", "0"]
