"""Records of the results: they agree with the page, and hold when they are measured again."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
import results
from results import (
    Definitions,
    RecordDefinition,
    ResultsError,
    RowDefinition,
    TableDefinition,
)

DEFINITIONS = results.read_definitions()
SEED = int(os.environ.get("TACIT_SAMPLE", "1"))
"""Which records are drawn; another value of TACIT_SAMPLE draws others."""
SAMPLE, BUDGET = 4, 20.0
"""Records that are measured again, and their seconds of processor in all."""
RECORD = {
    "name": "walk",
    "command": "tacit walk --json",
    "prepare": [],
    "data": "Generated",
    "date": "2026-11-28",
    "versions": {"Python": "3.11.7", "tacit": "0.1.0"},
    "cpu_seconds": 1.2,
    "values": {
        "rows": [
            {"policy": "dap", "mean": 0.5, "low": 0.4, "high": 0.6},
            {"policy": "cap", "mean": -1.25, "low": -1.5, "high": -1.0},
        ],
        "people": 1200,
    },
}
DEFINITION = RecordDefinition("walk", "tacit walk --json", "Generated", keep=("rows", "people"))
TABLE = TableDefinition(
    "walks",
    ("policy", "mean"),
    (RowDefinition(("{policy}", "{mean|.2f} [{low|.1f}, {high|.1f}]"), each="walk: rows[]"),),
    names={"dap": "DAP"},
)
PAGE = "# Title\n\n<!-- table walks -->\n<!-- end -->\n\nText.\n"


def with_record(folder, record=RECORD):
    """Write a record into a folder, and return the folder."""
    results.write_record(record, folder)
    return folder


def definitions(record=DEFINITION, table=TABLE):
    """Define one record and one table."""
    return Definitions({record.name: record}, {table.name: table})


def drawn_records():
    """Draw fast records whose commands print the same each time, within the budget."""
    names = sorted(DEFINITIONS.records)
    random.Random(SEED).shuffle(names)  # noqa: S311
    drawn: list[str] = []
    left = BUDGET
    for name in names:
        record = results.read_record(name)
        definition = DEFINITIONS.records[name]
        if len(drawn) == SAMPLE or definition.intervals or definition.at_least:
            continue
        if results.is_fast(record) and record["cpu_seconds"] <= left:
            drawn.append(name)
            left -= record["cpu_seconds"]
    return drawn


def test_page_and_records_agree():
    """Each table of the page is what its records give; each record is of its definition."""
    assert DEFINITIONS.records
    pages = results.read_pages()
    assert results.FIRST_PAGE in pages
    assert results.check(results.PAGE_BREAK.join(pages.values()), DEFINITIONS) == []


@pytest.mark.parametrize("name", drawn_records())
def test_a_record_holds(name, request):
    """Measured again, a fast record of a sample has the same values."""
    definition = DEFINITIONS.records[name]
    if definition.needs_real_data:
        request.getfixturevalue("ml_100k")
    again = results.measure(definition)
    assert results.differences(definition, results.read_record(name), again) == []


def test_a_table_is_made_of_a_record(tmp_path):
    """Command, one row for each entry, names, formats, a true minus, when it was measured."""
    assert results.render_table(TABLE, with_record(tmp_path)).splitlines() == [
        "```console",
        "tacit walk --json",
        "```",
        "",
        "| policy | mean |",
        "|---|---|",
        "| DAP | 0.50 [0.4, 0.6] |",
        "| cap | −1.25 [−1.5, −1.0] |",
        "",
        "*Generated. Measured 2026-11-28 with Python 3.11, tacit 0.1.0; 1 s of processor.*",
    ]


def test_a_table_of_speeds_names_the_processor(tmp_path):
    """The line below a table says on what its records were measured, if they say it."""
    folder = with_record(tmp_path, RECORD | {"processor": "Abacus 9"})
    assert "Measured 2026-11-28 on Abacus 9 with" in results.render_table(TABLE, folder)


def test_rows_are_made_over_words(tmp_path):
    """`@` stands for each word; cells name their record."""
    row = RowDefinition(("@", "{walk: rows[policy=@].mean|.1%}"), over=("dap", "cap"))
    table = replace(TABLE, rows=(row,), commands=False)
    lines = results.render_table(table, with_record(tmp_path)).splitlines()
    assert lines[2:4] == ["| DAP | 50.0% |", "| cap | −125.0% |"]


def test_a_quantity_that_may_lack_leaves_its_cell_empty(tmp_path):
    """Only with a question mark."""
    folder = with_record(tmp_path)
    optional = RowDefinition(("x", "{walk: regret?|.2f}"))
    assert "| x |  |" in results.render_table(replace(TABLE, rows=(optional,)), folder)
    required = RowDefinition(("x", "{walk: regret|.2f}"))
    with pytest.raises(ResultsError, match="names 0 quantities"):
        results.render_table(replace(TABLE, rows=(required,)), folder)


def test_a_cell_shows_one_quantity(tmp_path):
    """A path that names several is refused."""
    row = RowDefinition(("x", "{walk: rows[].mean|.2f}"))
    with pytest.raises(ResultsError, match="names 2 quantities"):
        results.render_table(replace(TABLE, rows=(row,)), with_record(tmp_path))


def test_a_page_that_was_made_is_in_order(tmp_path):
    """Made once it agrees, made twice it stays."""
    folder = with_record(tmp_path)
    page = results.render_page(PAGE, definitions(), folder)
    assert results.check(page, definitions(), folder) == []
    assert results.render_page(page, definitions(), folder) == page
    assert page.endswith("<!-- end -->\n\nText.\n")


def test_a_typed_figure_is_found(tmp_path):
    """A number changed on the page disagrees with its record."""
    folder = with_record(tmp_path)
    page = results.render_page(PAGE, definitions(), folder).replace("0.50", "0.55")
    assert results.check(page, definitions(), folder) == [
        "The page is out of date. Run: python tools/results.py page"
    ]


TYPED = "| a | b |\n|---|---|\n| 1 | 2 |\n"


@pytest.mark.parametrize(
    "below",
    [
        "",
        "\nText.\n",
        "\n*No record: `tacit walk`.*\n",
        "\n\n*No record: `tacit walk`, 2026-11-28.*\n",
    ],
)
def test_a_typed_table_says_its_command_and_date(tmp_path, below):
    """Right below it, in one line; a table between marks needs none."""
    folder = with_record(tmp_path)
    page = results.render_page(PAGE, definitions(), folder)
    marked = f"{page}\n{TYPED}\n*No record: `tacit walk --fast`, 2026-11-28.*\n"
    assert results.check(marked, definitions(), folder) == []
    (problem,) = results.check(f"{page}\n{TYPED}{below}", definitions(), folder)
    assert "| a | b |" in problem


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("no mark", "marks the table 'walks' 0 times"),
        (PAGE + PAGE, "marks the table 'walks' 2 times"),
        (PAGE.replace("walks", "runs"), "'runs' that no definition has"),
        (PAGE.replace("<!-- end -->", ""), "has no '<!-- end -->'"),
    ],
)
def test_marks_and_tables_belong_together(tmp_path, page, said):
    """Each table is marked once, each mark has a table and an end."""
    (problem,) = results.check(page, definitions(), with_record(tmp_path))
    assert said in problem


def test_a_changed_command_needs_a_new_record(tmp_path):
    """A record is of the command that its definition has now."""
    folder = with_record(tmp_path)
    changed = definitions(replace(DEFINITION, command="tacit walk --seeds 9 --json"))
    assert results.check(PAGE, changed, folder) == [
        "walk: the definition changed after the record was measured."
    ]


def test_records_that_nothing_shows_or_defines_are_found(tmp_path):
    """Every record is defined and shown."""
    folder = with_record(tmp_path)
    without = replace(TABLE, rows=(RowDefinition(("a", "b")),))
    assert results.check(PAGE, definitions(table=without), folder) == ["walk: no table shows it"]
    assert "walk: a record without definition" in results.check("", Definitions({}, {}), folder)


def test_a_missing_record_is_named(tmp_path):
    """With what measures it."""
    (problem,) = results.check(PAGE, definitions(), tmp_path)
    assert "results.py measure walk" in problem


def changed(mean):
    """Measure the record again, with another first mean."""
    first, second = RECORD["values"]["rows"]
    return RECORD | {"values": {"rows": [first | {"mean": mean}, second], "people": 1200}}


def test_equal_values_hold_but_for_rounding():
    """Two machines may differ in the last digits, and in no more."""
    assert results.differences(DEFINITION, RECORD, changed(0.5 + 1e-9)) == []
    assert results.differences(DEFINITION, RECORD, changed(0.501)) == [
        "rows[0].mean: 0.5 was recorded, now 0.501"
    ]


def test_costs_of_a_run_are_not_compared():
    """Seconds are kept and shown, and differ each time; what was computed is compared."""
    definition = replace(DEFINITION, costs=("people",))
    longer = RECORD | {"values": RECORD["values"] | {"people": 999}}
    assert results.differences(definition, RECORD, longer) == []
    assert results.differences(DEFINITION, RECORD, longer) != []
    assert results.differences(definition, RECORD, changed(0.501)) != []


def test_a_lost_entry_is_a_difference():
    """Lists of other lengths are unequal."""
    again = RECORD | {"values": {"rows": RECORD["values"]["rows"][:1], "people": 1200}}
    assert len(results.differences(DEFINITION, RECORD, again)) == 1


def test_drawn_values_hold_within_their_intervals():
    """A value of fresh noise is held against the interval that was recorded."""
    noisy = replace(DEFINITION, intervals=(("rows[].mean", "rows[].low", "rows[].high"),))
    assert results.differences(noisy, RECORD, changed(0.59)) == []
    assert results.differences(noisy, RECORD, changed(0.61)) == [
        "rows[0].mean: 0.61 lies outside of 0.4 to 0.6"
    ]
    renamed = replace(noisy, intervals=(("rows[].average", "rows[].low", "rows[].high"),))
    assert results.differences(renamed, RECORD, RECORD) == [
        "rows[].average: 0 values, 2 recorded intervals"
    ]


def test_a_speed_holds_down_to_its_claim():
    """Another ratio above the least one holds, one below it does not; nothing else is compared."""
    definition = replace(DEFINITION, at_least={"ratio": 3.0})
    record = RECORD | {"values": {"ratio": 4.0, "seconds": 1.0}}
    slower = RECORD | {"values": {"ratio": 3.1, "seconds": 9.0}}
    slow = RECORD | {"values": {"ratio": 2.9, "seconds": 1.0}}
    assert results.differences(definition, record, slower) == []
    assert results.differences(definition, record, slow) == ["ratio: 2.9 is below 3.0"]


def test_only_named_quantities_are_kept():
    """Lists close up; a path that names nothing is refused."""
    document = {"rows": [{"a": 1, "b": 2}, {"a": 3, "b": 4}], "seconds": 9.5}
    kept = results.keep_quantities(document, ("rows[a=3].b", "rows[a=3].a"))
    assert kept == {"rows": [{"a": 3, "b": 4}]}
    with pytest.raises(ResultsError, match="prints no regret"):
        results.keep_quantities(document, ("regret",))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[records.a]\ncommand = "x"\ndata = "y"\nkeep = []', "give command, data and keep"),
        ('[records.a]\ncommand = "x"\ndata = "y"\nkeep = ["z"]\nseeds = 3', "seeds"),
        ('[tables.t]\ncolumns = ["a", "b"]\nrows = [{cells = ["c"]}]', "1 cells for 2 columns"),
        ("[figures]\na = 1", "only \\[records.NAME\\]"),
    ],
)
def test_a_wrong_definition_is_refused(tmp_path, content, said):
    """With its name and what is wrong."""
    (tmp_path / "definitions").mkdir()
    (tmp_path / "definitions" / "x.toml").write_text(content)
    with pytest.raises(ResultsError, match=said):
        results.read_definitions(tmp_path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("tacit nothing --json", "exit code 2"),
        ("rm -r folder", "neither 'tacit' nor 'python'"),
        ("python -c pass", "prints no JSON"),
    ],
)
def test_a_line_that_gives_no_figure_is_refused(command, said):
    """It fails, is no line of this project, or prints no object."""
    with pytest.raises(ResultsError, match=said):
        results.measure(replace(DEFINITION, command=command))


def test_lines_before_the_command_share_its_folder():
    """A file that the first line writes is read by the next."""
    definition = RecordDefinition(
        "two",
        "python -c \"print(open('made.json').read())\"",
        "None",
        keep=("a",),
        prepare=("python -c \"open('made.json', 'w').write('{\\\"a\\\": 7}')\"",),
    )
    assert results.measure(definition)["values"] == {"a": 7}
