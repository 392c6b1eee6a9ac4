"""Results that the paper prints, with the command that computes each.

Proofs alone have no command. docs/results.md lists the numbers.
"""

from __future__ import annotations

from tacit.design import PaperResult

_PLAN = "tacit plan sketches --items 1682 --rated 50 --epsilon 1 --json"
_ONE_RATED = "tacit plan sketches --items 1682 --rated 1 --epsilon 1 --json"
_ONE_CLASS = "tacit plan sketches --items 60 --rated 60 --epsilon 1 --likes 0.9,0.1 --json"
_SMALL_SIMULATION = "--items 20 --rated 5 --people 200,400 --seeds 1"
PAPER_RESULTS = (
    PaperResult(
        "Propositions 2.2 to 2.4",
        "exact",
        "tacit audit sketches",
        "composition and privacy of reports: every outcome of the device's coins is enumerated",
        shows=("audits[].exact", "audits[].epsilon", "audits[].lower_bound"),
    ),
    PaperResult(
        "Lemmas 2.5 and 3.1, Theorem 3.3",
        "bound",
        _PLAN,
        "lower bound of the number of people for any learner, and what a report tells about its "
        "person, compared with the lemma's bound; a sharper form is used, eps tanh(eps / 2) in the "
        "place of eps",
        shows=(
            "lower_bounds.ldp",
            "information[].about_person",
            "information[].lemma_3_1",
            "information[].sharper",
        ),
    ),
    PaperResult(
        "Figure 1, Theorem 3.5",
        "measured",
        "tacit simulate sketches --items 60 --rated 20 --people 10000,100000,1000000 "
        "--likes 0.9,0.1 --method pairwise-preference,pairwise-rated",
        "labels right by population; ratings private, and rated items public",
        shows=(
            "rows[method=pairwise-preference].accuracy",
            "rows[method=pairwise-rated].accuracy",
        ),
        small=_SMALL_SIMULATION,
    ),
    PaperResult(
        "Theorem B.1",
        "exact",
        _ONE_CLASS,
        "conditions of Theorem 3.5: eigenvalues of the matrix of chances with the offset of the "
        "noise, whether they are distinct and none is 0, whether the rows of eigenvectors differ",
        shows=(
            "methods[method=pairwise-preference].spectrum.eigenvalues",
            "methods[method=pairwise-preference].spectrum.distinct_eigenvalues",
            "methods[method=pairwise-preference].spectrum.distinct_rows",
            "methods[method=pairwise-preference].users_clt",
        ),
    ),
    PaperResult(
        "Appendix B: identical preference",
        "measured",
        "tacit simulate sketches --items 60 --rated 60 --people 5000,10000,20000,50000 "
        "--likes 0.9,0.1 --method pairwise-preference,pairwise-identical",
        "the appendix names the chance of identical preference where Figure 1 asks whether both "
        "items are liked: both questions are simulated",
        shows=(
            "rows[method=pairwise-preference].accuracy",
            "rows[method=pairwise-identical].accuracy",
        ),
        small=_SMALL_SIMULATION,
    ),
    PaperResult(
        "Appendix A, Theorem A.5",
        "bound",
        f"{_PLAN} --wrong 0.1",
        "lower bound of the number of people where a share of the labels may be wrong",
        shows=("wrong", "lower_bounds.ldp"),
    ),
    PaperResult(
        "Lemmas 4.1, 4.5 and 4.7",
        "exact",
        _PLAN,
        "what a report tells about the labels, compared with the right side of Lemma 4.1 for that "
        "report; how far it moves a belief, compared with the bounds of Lemma 4.5; how often two "
        "people share no item",
        shows=(
            "information[].about_labels",
            "information[].lemma_4_1",
            "information[].lemma_4_5",
            "information[].shifts",
            "information[].allowed_shifts",
            "shared_items.exact",
            "shared_items.lemma_4_7",
        ),
    ),
    PaperResult(
        "Theorem 4.3",
        "bound",
        _ONE_RATED,
        "lower bound of the number of people if each rated one item and answers one fixed yes/no "
        "question, at any epsilon: [(1 - eta) N - 1] N ln 2",
        shows=(
            "lower_bounds.one_bit",
            "information[method=one-bit-question].about_labels",
            "information[method=one-bit-question].theorem_4_3",
        ),
    ),
    PaperResult(
        "Theorem 4.3: the contrast of section 1.1",
        "measured",
        "tacit simulate sketches --items 60 --rated 1 --epsilon inf --likes 1,0 "
        "--people 500,1000,2000,4000,8000,16000,32000 "
        "--method one-bit-question,one-bit-on-average",
        "one bit from each person takes order N^2 ln N people, one bit on average N ln N log2 2N; "
        "neither is private, and the second is one scheme and no bound",
        shows=(
            "rows[method=one-bit-question].accuracy",
            "rows[method=one-bit-on-average].accuracy",
        ),
        small="--items 20 --people 200,400 --seeds 1",
    ),
    PaperResult(
        "Theorems 4.8 and 4.10",
        "bound",
        _PLAN,
        "one explicit bound implies both, at every w and epsilon",
        shows=("lower_bounds.scarce",),
    ),
    PaperResult(
        "Figure 2, Theorem 5.1",
        "measured",
        "tacit simulate sketches --likes 0.9,0.1 --items 100,200 --rated 20 --epsilon 1 "
        "--people 25000,50000,100000,200000",
        "MaxSense: labels right by population; twice the items take four times the people",
        shows=("rows[method=maxsense].accuracy",),
        small=_SMALL_SIMULATION,
    ),
    PaperResult(
        "Figure 3, Theorem 5.3",
        "measured",
        "tacit simulate sketches --likes 0.9,0.1 --items 200 --rated 20 --epsilon 6 "
        "--people 4000,8000,16000 --method maxsense,multi-maxsense",
        "labels right by population: Multi-MaxSense needs fewer people",
        shows=("rows[method=maxsense].accuracy", "rows[method=multi-maxsense].accuracy"),
        small=_SMALL_SIMULATION,
    ),
    PaperResult(
        "Lemmas 6.2 and 6.4, Theorem 6.1",
        "bound",
        _ONE_RATED,
        "lower bound of the number of people for questions that depend on answers; ours is of "
        "order N^2 / w^2, above the theorem's N log N, and the lemmas are steps of its proof",
        shows=("lower_bounds.adaptive",),
    ),
    PaperResult(
        "Appendices C and D",
        "no figure",
        "",
        "proofs: Lemma C.3, Theorem C.5 and Lemma D.1 are Lemma 4.7, Theorem 4.10 and Lemma 6.4 "
        "again; Lemmas C.1, C.7, D.2, D.4 and D.6 are steps of them",
    ),
)
