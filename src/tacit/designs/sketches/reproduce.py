"""What the paper prints, and the command that makes it here; docs/results.md has the figures."""

from __future__ import annotations

from tacit.design import Printed

ITEMS = (
    Printed(
        "Propositions 2.2 to 2.4, Lemma 2.5",
        "exact",
        "tacit audit sketches",
        "composition and privacy of reports, by enumeration",
    ),
    Printed(
        "Lemma 3.1, Theorem 3.3",
        "bound",
        "tacit plan sketches --items 1682 --rated 50 --epsilon 1 --json",
        "least number of people",
    ),
    Printed(
        "Figure 1, Theorem 3.5",
        "measured",
        ("tacit simulate sketches --items 60 --rated 20 --people 10000,100000 --likes 0.9,0.1"),
        "pairwise preferences: labels right by population",
    ),
    Printed(
        "Lemmas 4.1 to 4.7, Theorem 4.3",
        "bound",
        "tacit plan sketches --items 1682 --rated 50 --epsilon 1 --json",
        "information of a report, sharper than printed",
    ),
    Printed(
        "Theorems 4.8 and 4.10",
        "bound",
        "tacit plan sketches --items 1682 --rated 50 --epsilon 1 --json",
        "one explicit bound implies both, at every w and epsilon",
    ),
    Printed(
        "Figure 2, Theorem 5.1",
        "measured",
        (
            "tacit simulate sketches --likes 0.9,0.1 --items 400,800,1600 --rated 20 "
            "--epsilon 4 --scaling"
        ),
        "MaxSense: fitted growth beside the printed one",
    ),
    Printed(
        "Figure 3, Theorem 5.3",
        "measured",
        (
            "tacit simulate sketches --likes 0.9,0.1 --items 200 --rated 20 --epsilon 6 "
            "--scaling --seeds 40 --method maxsense --method multi-maxsense"
        ),
        ("Multi-MaxSense needs fewer people; the printed number of questions is not the best"),
    ),
    Printed(
        "Lemmas 6.2 and 6.4, Theorem 6.1",
        "bound",
        "tacit plan sketches --items 1682 --rated 1 --epsilon 1 --json",
        "adaptive questions",
    ),
)
