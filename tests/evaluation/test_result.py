"""A result: its rows in the forms that people put into papers and notebooks."""

from __future__ import annotations

import pytest

from tacit.evaluation import Interval, Result, Table

RESULT = Result({"rows": [{"model": "a_b", "ndcg": Interval(0.2, 0.1, 0.3)}, {"model": "<c>"}]})


def test_an_interval_is_three_columns():
    """The mean under its own name, the ends beside it; what a row lacks is None."""
    assert RESULT.rows == [
        {"model": "a_b", "ndcg": 0.2, "ndcg_low": 0.1, "ndcg_high": 0.3},
        {"model": "<c>", "ndcg": None, "ndcg_low": None, "ndcg_high": None},
    ]


@pytest.mark.parametrize("frame", ["to_polars", "to_pandas"])
def test_rows_are_a_frame(frame):
    """The same columns and values in polars and in pandas."""
    made = getattr(RESULT, frame)()
    assert list(made.columns) == ["model", "ndcg", "ndcg_low", "ndcg_high"]
    assert made["ndcg"][0] == 0.2


def test_rows_are_text():
    """CSV and LaTeX, the latter with its signs escaped. An interval is three columns."""
    assert RESULT.to_csv().splitlines()[1] == "a_b,0.2,0.1,0.3"
    assert "a\\_b & 0.200 & 0.100 & 0.300 \\\\" in RESULT.to_latex()


def test_html_is_escaped():
    """A name in the data is no markup."""
    assert "&lt;c&gt;" in RESULT._repr_html_()
    assert "<c>" not in RESULT._repr_html_()


def test_a_repr_says_how_large_it_is():
    """Rows and columns, no values; without rows as well."""
    assert repr(RESULT) == "Result(2 rows of model, ndcg, ndcg_low, ndcg_high)"
    assert repr(Result({})) == "Result(0 rows of no columns)"


def test_a_table_reads_its_cells_off_the_rows():
    """Headings with what stands below them."""
    table = Table.from_rows("t", {"n": lambda row: row * 2}, [1, 2])
    assert (table.columns, table.rows) == (("n",), [[2], [4]])
