"""Results that the paper prints, each with the command that reproduces it.

docs/results.md has the figures that these commands print.
"""

from __future__ import annotations

from tacit.design import PaperResult

# Commands, and options of commands
_SIZES = "--objects 2 --rounds 1000 --peers 50 --voters 300"
_FEW_PEERS = "tacit plan prec --objects 2 --rounds 1000 --peers 12 --voters 306 --epsilon 1 --json"
_NO_GATE = "tacit simulate prec --rounds 2000 --voters 400 --peers 20 --method p-rec-no-gate"
_SMALL = "--rounds 60 --voters 80 --peers 20 --seeds 1 --workers 1"
PAPER_RESULTS = (
    PaperResult("Table 1", "no figure", "", "a table of notations"),
    PaperResult(
        "Theorems 1 and 2",
        "bound",
        f"tacit plan prec {_SIZES} --loss 8 --json",
        "the main result: the least epsilon that p-REC is proven to have for a loss (the same "
        "from its own loss bound up to that of uniform recommendations), beside the lower bounds; "
        "--report draws the curve",
        shows=("epsilon", "mode", "bounds[].epsilon", "decides", "gap", "loss_bound"),
    ),
    PaperResult(
        "Lemmas 3 to 5",
        "no figure",
        "",
        "inequalities of phi, steps of Lemmas 10, 12 and 13; tests check them on a grid",
    ),
    PaperResult(
        "Claim 1",
        "no figure",
        "",
        "a step of Lemma 8's proof; the world of one round plays its chain of voting patterns",
    ),
    PaperResult(
        "Theorem 6",
        "bound",
        f"tacit plan prec {_SIZES} --json",
        "lower bound of any algorithm's loss, with its constants, beside p-REC's own bound",
        shows=("loss_lower_bound", "loss_bound"),
    ),
    PaperResult(
        "Theorem 7, Lemma 8, Theorem 15",
        "bound",
        "tacit plan prec --objects 2 --rounds 1000000 --peers 50 --voters 300 --diversity 100 "
        "--loss 7.51 --json",
        "lower bounds of any algorithm's epsilon for a loss, with constants, beside p-REC's",
        shows=(
            "bounds[name=Lemma 8].epsilon",
            "bounds[name=Theorem 15].epsilon",
            "epsilon",
            "gap",
        ),
    ),
    PaperResult(
        "World of one round",
        "measured",
        "tacit simulate prec --world one-round --rounds 1000 --voters 100 --peers 50 --seeds 3 "
        "--method p-rec-no-gate",
        "the two patterns of Lemma 8: the exact log-ratio of what p-REC recommends, for each voter "
        "that is added, beside the proven epsilon and the lower bound",
        shows=("leaks[].worst", "leaks[].mean", "leaks[].per_step", "leaks[].proven"),
        small=_SMALL,
    ),
    PaperResult(
        "World of two patterns",
        "measured",
        "tacit simulate prec --world both-ways --rounds 1000 --voters 20 --peers 20 "
        "--diversity 30 --radius 12 --seeds 3 --method p-rec-no-gate",
        "both patterns of Theorem 15 are played; the log-ratio as for one round",
        shows=("rows[].loss", "leaks[].worst", "leaks[].mean", "leaks[].per_step"),
        small="--rounds 60 --seeds 1 --workers 1",
    ),
    PaperResult(
        "World of a search",
        "measured",
        "tacit simulate prec --world search --rounds 200 --voters 400 --peers 50 --seeds 3 "
        "--method p-rec-no-gate",
        "the first world of Theorem 6: losses, and the log-ratio with and without one peer",
        shows=("rows[].loss", "leaks[].played", "leaks[].per_step"),
        small=_SMALL,
    ),
    PaperResult(
        "World of a stubborn camp",
        "measured",
        "tacit simulate prec --world stubborn --rounds 12 --voters 40 --peers 24 --radius 3 "
        "--seeds 3 --method p-rec-no-gate",
        "the second world of Theorem 6: losses, and the log-ratio with and without one peer",
        shows=("rows[].loss", "leaks[].played", "leaks[].per_step"),
        small="--seeds 1 --workers 1",
    ),
    PaperResult(
        "Theorems 9 and 10",
        "measured",
        f"{_NO_GATE} --seeds 15",
        "mean loss below the bound on generated votes",
        shows=("rows[].loss", "rows[].loss_bound"),
        small=_SMALL,
    ),
    PaperResult(
        "Theorem 11",
        "refuted",
        "tacit audit prec --variant published",
        "holds under a promise that nothing checks; without a gate a client makes the leak grow",
        shows=(
            "audits[mechanism=p-rec-published].epsilon",
            "audits[mechanism=p-rec-published].exact",
            "audits[mechanism=p-rec-published].lower_bound",
        ),
        small="--samples 1000",
    ),
    PaperResult(
        "Lemmas 12 to 14",
        "bound",
        _FEW_PEERS,
        "a sharper form is computed; Lemma 14 needs P >= 6m, six peers for each object",
        shows=("epsilon_tight", "epsilon_proven.floor", "peers_needed.theorem"),
    ),
    PaperResult(
        "Theorem 16",
        "measured",
        f"{_NO_GATE} --diversity 10 --radius 5 --seeds 15",
        "mean loss below the bound with diversity and radius",
        shows=("rows[].loss", "rows[].loss_bound"),
        small=_SMALL,
    ),
    PaperResult(
        "Theorem 17",
        "refuted",
        "tacit simulate prec --world victim --clients 5 --seeds 3 --method p-rec "
        "--method p-rec-no-gate --json",
        "as Theorem 11; with the gate the exact leak is below the epsilon that was asked for",
        shows=("rows[method=p-rec].joint_loss", "rows[method=p-rec-no-gate].joint_loss"),
        small="--rounds 60 --voters 400 --peers 100 --seeds 1 --workers 1",
    ),
    PaperResult(
        "Lemmas 18 and 19",
        "exact",
        "tacit plan prec --objects 2 --rounds 100 --peers 12 --voters 16 --diversity 1 --json",
        "steps of Theorem 17; replaced by the exact worst case over credits",
        shows=("epsilon_tight", "epsilon_exact.floor"),
    ),
)
