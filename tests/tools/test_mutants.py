"""The mutation tool: a mutant is one step of a file changed, and a test that holds it kills it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import mutants

FILE = Path("src/tacit/accounting/base.py")


def test_each_mutant_is_another_program():
    """Every place gives a file that differs from the shipped one and can be read."""
    shipped = ast.unparse(ast.parse((mutants.ROOT / FILE).read_text()))
    made = [mutants.mutant(FILE, *place) for place in mutants.places(FILE)]
    assert len(made) > 5
    for one in made:
        assert one.text != shipped
        ast.parse(one.text)


def test_files_are_there_and_each_has_tests():
    """Patterns that match nothing, and tests that were moved, would pass for a full score."""
    found = dict.fromkeys(mutants.FORMULAS, False)
    for pattern, file in mutants.files_of_formulas():
        found[pattern] |= bool(mutants.tests_of_formula(pattern, file))
    assert all(found.values())


DESIGNS = ["pdap", "prec", "private", "sketches", "standard_scheme", "xmap"]


def test_every_design_has_files_and_tests():
    """Steps and experiments of all designs are changed; tests of commands belong to them."""
    files = mutants.files_of_designs()
    assert sorted({mutants.design_of(file) for file in files}) == DESIGNS
    experiments = {mutants.design_of(file) for file in files if "experiment" in str(file)}
    assert sorted(experiments) == DESIGNS
    for design in DESIGNS:
        tests = mutants.tests_of_design(design)
        assert any(test.startswith(f"tests/designs/{design}/") for test in tests)
    assert "tests/cli/test_simulate_pdap.py" in mutants.tests_of_design("pdap")
    assert "tests/cli/test_standard_scheme.py" in mutants.tests_of_design("standard_scheme")


def test_no_file_is_in_both_parts():
    """Declarations and services are in none."""
    formulas = {file for _, file in mutants.files_of_formulas()}
    designs = mutants.files_of_designs()
    assert len(designs) > 40
    assert formulas.isdisjoint(designs)
    assert not [file for file in designs if file.name == "design.py" or "serve" in file.parts]


def test_tests_of_a_mutant_call_its_function():
    """The cheapest first, up to a limit; any of the file where none is seen to call it."""
    file = Path("src/tacit/designs/prec/planner.py")
    calls = {
        "slow": [(str(file), 7)],
        "quick": [(str(file), 7), (str(file), 30)],
        "other": [("src/tacit/designs/prec/voters.py", 7)],
    }
    held = mutants.Held({"slow": 9.0, "quick": 1.0, "other": 0.5}, calls)
    changed = mutants.Mutant(file, "", "", within=7)
    assert held.of(changed) == {"quick": 1.0, "slow": 9.0}
    assert held.of(changed, most=5.0) == {"quick": 1.0}
    assert held.of(changed, most=0.1) == {"quick": 1.0}
    assert held.of(changed._replace(within=None)) == {"quick": 1.0, "slow": 9.0}
    assert held.of(changed._replace(file=Path("src/tacit/designs/prec/new.py"))) == held.seconds


def test_only_tests_that_call_the_function_are_run_file_by_file():
    """A changed constant, which no function holds, may be seen by any test of the file, and by one
    that reads it and calls nothing."""
    file = Path("src/tacit/designs/prec/planner.py")
    calls = {"a::b": [(str(file), 7)], "a::c": [(str(file), 30)], "a::d": []}
    held = mutants.Held({"a::b": 2.0, "a::c": 1.0, "a::d": 0.1}, calls)
    changed = mutants.Mutant(file, "", "", within=7)
    assert held.calling(changed) == {"a::b": 2.0}
    assert held.calling(changed._replace(within=8)) == {}
    assert [*held.calling(changed._replace(within=None))] == ["a::d", "a::c", "a::b"]


def test_test_files_are_tried_by_nearness():
    """The one that is named after the changed file, then others that import it; a survivor's are
    then the rest of the design, and commands, those that run every design at last."""
    file = Path("src/tacit/designs/prec/planner.py")
    first = mutants.by_nearness(file, again=False)
    own = mutants.own_tests("prec")
    assert first[0] == "tests/designs/prec/test_planner.py"
    importing = {test for test in own if mutants.imports_file(mutants.ROOT / test, file)}
    assert 1 < len(importing) < len(own)
    assert set(first) == importing
    again = mutants.by_nearness(file, again=True)
    assert again[: len(first)] == first
    assert sorted(again) == sorted(mutants.tests_of_design("prec"))
    last = {Path(test).name for test in again[-len(mutants.LAST) :]}
    assert last == set(mutants.LAST)


def test_where_no_test_file_is_named_after_a_file_those_that_import_it_are_tried():
    """A world of theorems has its tests beside those of the theorems."""
    file = Path("src/tacit/designs/standard_scheme/experiment/linear_world.py")
    tests = mutants.by_nearness(file, again=False)
    assert tests == ["tests/designs/standard_scheme/experiment/test_theorem.py"]


def test_a_file_that_no_test_imports_survives_at_first():
    """All tests of its design, which reach it through others, are for survivors."""
    file = Path("src/tacit/designs/pdap/experiment/commands.py")
    assert not [
        test for test in mutants.own_tests("pdap") if mutants.imports_file(Path(test), file)
    ]
    assert mutants.by_nearness(file, again=False) == []
    assert len(mutants.by_nearness(file, again=True)) > 20


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


def test_costs_are_kept_for_the_next_run(tmp_path: Path):
    """What is written is read again, with the same types."""
    kept = tmp_path / "costs.json"
    assert mutants.read_costs(kept) == mutants.read_costs(None) == {}
    costs = {"a": mutants.Held({"a::b": 1.5}, {"a::b": [("src/c.py", 7)]})}
    mutants.write_costs(kept, costs)
    assert mutants.read_costs(kept) == costs


_RUN = """
import sys, mutants
one = mutants.Mutant(mutants.Path("src/tacit/designs/prec/new.py"), "new.py:1:0: 1 -> 2", "", None)
mutants._chosen = lambda *asked: iter([(one, mutants.DESIGNS)])
mutants._Runs.verdict_of = lambda self, one, pattern: VERDICT
sys.argv = ["mutants.py", "--done", DONE, *MORE]
print(mutants.main())
"""


def test_a_run_goes_on_and_survivors_are_run_again_when_asked(tmp_path: Path):
    """A verdict in the file is not made again; `--again` makes that of a survivor."""
    kept = tmp_path / "verdicts.txt"

    def run(verdict: str, *more: str) -> list[str]:
        text = _RUN.replace("VERDICT", repr(verdict)).replace("DONE", repr(str(kept)))
        done = subprocess.run(
            [sys.executable, "-c", text.replace("*MORE", "*" + repr([*more]))],
            cwd=mutants.ROOT,
            env={**os.environ, "PYTHONPATH": str(mutants.ROOT / "tools")},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    assert run("survived")[0] == "survived   new.py:1:0: 1 -> 2"
    assert run("killed")[0].startswith('{"survived": 1')
    assert run("killed", "--again")[0] == "killed     new.py:1:0: 1 -> 2"
    assert run("survived", "--again")[-2].startswith('{"killed": 1')
    assert run("survived")[-1] == "0"


def test_places_are_named_and_each_equivalent_is_one_of_them():
    """No two mutants share a name, and no reason stands for a mutant that is gone."""
    made = [mutants.mutant(FILE, *place).place for place in mutants.places(FILE)]
    assert made == [*mutants.named(FILE)]
    files = [file for _, file in mutants.files_of_formulas()] + mutants.files_of_designs()
    named = []
    for file in files:
        named += mutants.named(file)
    assert len(named) == len(set(named)) > 5000
    assert set(mutants.equivalent()) <= set(named)


def test_tests_of_a_file_import_it():
    """By its module, or by what its package hands on; others of the same folder are left out."""
    tests = mutants.tests_of_formula("accounting/*.py", FILE)
    assert "tests/accounting/test_privacy_filter.py" in tests
    assert "tests/accounting/test_schema.py" not in tests


_VERDICTS = """
import mutants, pathlib
file = pathlib.Path({file!r})
tests = ["tests/accounting/test_rounding.py"]
known = mutants.held(tests, file)
one = mutants.mutant(file, *mutants.places(file)[0])
file, called = next(filter(None, known.calls.values()))[0]
print(len(known.of(one._replace(within=called))) < len(known.seconds))
known = known.of(one)
for text in ("raise RuntimeError", one.file.read_text()):
    print(mutants._is_killed(one._replace(text=text), tests, known))
"""


def test_a_test_that_holds_a_line_kills_its_mutant():
    """A file that cannot be imported is killed; the shipped one in the place of a mutant is not,
    and stays as it is on the disk. Tests that do not call the changed function are left out."""
    shipped = (mutants.ROOT / FILE).read_text()
    done = subprocess.run(
        [sys.executable, "-c", _VERDICTS.format(file=str(FILE))],
        cwd=mutants.ROOT,
        env={**os.environ, "PYTHONPATH": str(mutants.ROOT / "tools")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "True", "False"]
    assert (mutants.ROOT / FILE).read_text() == shipped


_ENDLESS = """
import itertools, mutants
print(mutants.forked(lambda: {"last": max(itertools.repeat(1))}, most=1))
print(mutants.forked(lambda: {"code": 0}, most=1))
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
whole = workshop.run([test], None, [file], 60)
name = test + "::test_nearest_sums_would_be_below"
print(whole["code"], len(whole["seconds"]) > 5, len(whole["calls"][name]) > 0)
made = [mutants.mutant(file, *place) for place in mutants.places(file)]
constant = next(one for one in made if "120 -> 121" in one.place)
first = "numbers = list(parts)"
failing = constant._replace(text=file.read_text().replace(first, "raise RuntimeError"))
endless = constant._replace(text=file.read_text().replace(first, "while True: pass"))
for one in (constant, failing, endless):
    found = workshop.run([name], one, [], 2)
    print(found and found["code"])
print(workshop.run([name], None, [], 60)["code"])
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
    assert lines == ["0 True True", str(mutants.NEEDS_MORE_TESTS), "1", "None", "0"]
