"""What the paper prints, and the command that makes it here; docs/results.md has the figures."""

from __future__ import annotations

from tacit.design import Printed

ITEMS = (
    Printed(
        "Table 1",
        "no figure",
        "",
        "a table of notations",
    ),
    Printed(
        "Theorems 1 and 2, Lemmas 3 to 5",
        "exact",
        "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300 --json",
        "steps of the proofs; what they lead to is computed exactly",
    ),
    Printed(
        "Theorem 6",
        "bound",
        "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300 --json",
        "least loss of any algorithm, with its constants",
    ),
    Printed(
        "Theorem 7",
        "bound",
        "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300 --json",
        "printed next to what the method loses",
    ),
    Printed(
        "Lemma 8",
        "bound",
        "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300 --json",
        "least epsilon at a loss",
    ),
    Printed(
        "Theorems 9 and 10",
        "measured",
        (
            "tacit simulate prec --rounds 2000 --voters 400 --peers 20 --method p-rec-no-"
            "gate --seeds 15"
        ),
        "mean loss below the bound on generated votes",
    ),
    Printed(
        "Theorem 11",
        "refuted",
        "tacit audit prec --planted",
        ("holds under a promise that nothing checks; without a gate a client makes the leak grow"),
    ),
    Printed(
        "Lemmas 12 to 14",
        "bound",
        ("tacit plan prec --objects 2 --rounds 1000 --peers 12 --voters 306 --epsilon 1 --json"),
        "a sharper form is computed; Lemma 14 needs six peers or more",
    ),
    Printed(
        "Theorem 15",
        "bound",
        "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300 --json",
        "with an explicit constant",
    ),
    Printed(
        "Theorem 16",
        "measured",
        (
            "tacit simulate prec --rounds 2000 --voters 400 --peers 20 --diversity 10 "
            "--radius 5 --method p-rec-no-gate --seeds 15"
        ),
        "mean loss below the bound with diversity and radius",
    ),
    Printed(
        "Theorem 17",
        "refuted",
        (
            "tacit simulate prec --world victim --clients 5 --seeds 3 --method p-rec "
            "--method p-rec-no-gate --json"
        ),
        ("as Theorem 11; with the gate the exact leak is below the epsilon that was asked for"),
    ),
    Printed(
        "Lemmas 18 and 19",
        "exact",
        ("tacit plan prec --objects 2 --rounds 1000 --peers 12 --voters 306 --epsilon 1 --json"),
        "steps of Theorem 17; replaced by the exact chain",
    ),
)
