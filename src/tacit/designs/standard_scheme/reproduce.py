"""What the paper prints, and the command that makes it here; docs/results.md has the figures."""

from __future__ import annotations

from tacit.design import Printed

ITEMS = (
    Printed(
        "Theorem 1, Lemmas 1 and 2",
        "exact",
        "tacit guarantee standard-scheme --variant published",
        "true under the linear model alone; real ratings break its premises",
    ),
    Printed(
        "Table 1",
        "measured",
        (
            "tacit evaluate standard-scheme FOLDER/ml-100k --variant published --release "
            "none --release selection --release scheme --release scheme+rounding --release "
            "scheme+selection --folds 10 --json"
        ),
        ("the table is missing from the text; its claims in words are compared, on MovieLens 100K"),
    ),
    Printed(
        "Curve of alpha",
        "measured",
        (
            "tacit evaluate standard-scheme FOLDER/ml-100k --folds 5 --release none "
            "--release scheme+selection+rounding --json"
        ),
        "the mixing knob, `tradeoff` of the output",
    ),
)
