"""Entry of the standard scheme in the registry of designs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, PaperResult, ServedSection, option
from tacit.design.people_needed import people_needed
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """Options of `tacit guarantee standard-scheme`."""

    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")
    release: str = option("What devices send.", default="scheme+selection+rounding")


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Make the two cards of a model with these settings, before it is fitted.

    One is for people who hide an attribute, the other for consenting people.
    """
    from tacit.designs.standard_scheme import guarantees
    from tacit.designs.standard_scheme.settings import Settings

    model_settings = Settings(variant=settings.variant, release=settings.release)  # type: ignore[arg-type]  # checked by the class
    return guarantees.cards(model_settings, measurements=(), assumed_public=())


LEAST_PEOPLE = people_needed("standard-scheme").people
"""Number of training people from which on lists were measured to beat popularity: docs/results.md.
"""


def describe_usefulness(model: Any) -> str:
    """Say whether a model's lists are expected to beat popularity, by the number of its people.

    If selection lets its devices show only few items, the number of these items is stated instead,
    because lists were not measured with so few items.
    """
    from tacit.designs.standard_scheme.training.fitting import describe_showable

    people = model.fitted_.n_consenting
    if model.disclosure_.rule.selection and model.fitted_.shows_few_items:
        lists = (
            f"{describe_showable(model.fitted_)} With so few, a list of popular items may be "
            "better, and a person's ratings are hidden among fewer items."
        )
    elif people < LEAST_PEOPLE:
        lists = (
            f"About {LEAST_PEOPLE - people:,} are missing: with so few, a list of popular items "
            "may be better."
        )
    else:
        lists = "With this many, lists were measured to beat popular items."
    return f"{people:,} people train it. {lists}"


_THEOREM = "tacit simulate standard-scheme --json"
_PATENT_ATTACKS = "--attack naive-bayes --attack logistic-regression --attack svm --attack lda"
_PATENT_PROTOCOL = f"{_PATENT_ATTACKS} --per-item 20 --per-user 20 --folds 10 --json"
_PATENT_RELEASES = (
    "--release none --release selection --release scheme --release scheme+rounding "
    "--release scheme+selection --release scheme+selection+rounding"
)
_BASELINES = (
    "--release none --release scheme --release movie-average --release movie-average+selection "
    "--release attribute-average --release attribute-average+selection"
)
_ON_ML_100K = "tacit evaluate standard-scheme FOLDER/ml-100k"
_SMALL = "--folds 3 --attack lda --release scheme --release movie-average"
_DRAWINGS_LOST = (
    "the text has lost the drawings and their captions; one sentence of it describes the curve: "
    "see the row 'Curve of alpha'"
)

PRINTED = (
    PaperResult(
        "Equation (4): risk of the estimator",
        "exact",
        _THEOREM,
        "the trace formula beside the risk of a small world, enumerated outcome by outcome",
        "sigma^2 tr[(sum v v^T)^-1], for both values of the attribute",
        ("enumerated.formula", "enumerated.risk_plus", "enumerated.risk_minus"),
        "--draws 200",
    ),
    PaperResult(
        "Theorem 1, part 1: privacy",
        "exact",
        _THEOREM,
        "true under the linear model alone: the laws of the release are equal; whole stars, which "
        "break its premises, tell the attribute (the card of the published variant)",
        "epsilon = 0",
        ("privacy.distance_of_releases", "privacy.distance_of_true_ratings"),
        "--draws 200",
    ),
    PaperResult(
        "Theorem 1, part 2: accuracy",
        "exact",
        _THEOREM,
        "the risk with the attribute known, estimated and ignored, by formula and by simulation",
        "no private scheme is strictly more accurate",
        ("risk.formula", "risk.simulated_plus.mean", "risk.attribute_estimated"),
        "--draws 200",
    ),
    PaperResult(
        "Theorem 1, part 3: minimal disclosure",
        "exact",
        _THEOREM,
        "the risk where gaps are withheld, and where two gaps are not distinguished",
        "less disclosure is strictly less accurate; the loss can be unbounded",
        ("disclosure[].withheld", "coarse_disclosure.risks[].risk_at_least"),
        "--draws 200",
    ),
    PaperResult(
        "Lemma 1: least squares is minimax",
        "exact",
        _THEOREM,
        "the risk of the best estimator under a wider and wider prior, which bounds every "
        "estimator's worst risk and tends to that of least squares",
        "no estimator has a smaller worst risk",
        ("lemma_1.least_squares", "lemma_1.bounds[].risk_at_least"),
        "--draws 200",
    ),
    PaperResult(
        "Lemma 2: shifted laws",
        "exact",
        _THEOREM,
        "the laws of Z_+(s) and Z_-(s - 2 v_0), enumerated, with and without the shift",
        "they are equal",
        ("lemma_2.distance", "lemma_2.distance_without_shift"),
        "--draws 200",
    ),
    PaperResult(
        "Table 1",
        "measured",
        f"{_ON_ML_100K} --variant published {_PATENT_RELEASES} {_PATENT_PROTOCOL}",
        "the table is missing from the text; its claims in words are compared, by the patent's "
        "protocol, on MovieLens 100K",
        "in words: AUC of four attackers about .5 with scheme+selection; RMSE at most 1.5 % higher",
        (
            "rows[view=union,release=scheme+selection].auc_of_folds",
            "accuracy[release=scheme+selection].rmse",
        ),
        _SMALL.replace("movie-average", "scheme+selection"),
    ),
    PaperResult(
        "Table 1, baselines: movie average and gender average",
        "measured",
        f"{_ON_ML_100K} --variant published {_BASELINES} {_PATENT_PROTOCOL}",
        "as printed the claim fails: both baselines have a smaller error than the scheme; it holds "
        "for the scheme of the sound variant (the next row)",
        "in words: AUC like the scheme's, and a higher RMSE",
        (
            "rows[view=union,release=movie-average].auc_of_folds",
            "accuracy[release=movie-average].rmse",
        ),
        _SMALL,
    ),
    PaperResult(
        "Table 1 and baselines, with sound estimates",
        "measured",
        f"{_ON_ML_100K} --variant sound --release selection --release scheme+rounding "
        f"--release scheme+selection --release scheme+selection+rounding {_BASELINES} "
        f"{_PATENT_PROTOCOL}",
        "the same table with shrunk gaps, item means taken out first and a ridge of 10",
        "in words: AUC like the scheme's, and a higher RMSE",
        (
            "rows[view=union,release=movie-average].auc_of_folds",
            "accuracy[release=movie-average].rmse",
        ),
        _SMALL,
    ),
    PaperResult(
        "Profiles of explicit features",
        "measured",
        f"{_ON_ML_100K} --profiles latent+features --release none --release scheme+rounding "
        "--attack lda --json",
        "the patent names them and prints no figure: genres and years as profiles, alone "
        "(--profiles features) and beside latent factors, in both variants",
        shows=("accuracy[release=scheme+rounding].rmse",),
        small="--folds 3",
    ),
    PaperResult(
        "Age as the private feature",
        "measured",
        f"{_ON_ML_100K} --attribute age --release none --release scheme+selection+rounding "
        f"{_PATENT_ATTACKS} --json",
        "the patent's example beside gender, with no figure; cut into three bins at public edges",
        shows=("values", "rows[view=union,release=scheme+selection+rounding].auc_of_folds"),
        small="--folds 3 --attack lda",
    ),
    PaperResult(
        "Curve of alpha",
        "measured",
        f"{_ON_ML_100K} --folds 5 --release none --release scheme+selection+rounding --json",
        "errors and attacks for each alpha (`mix`): `tradeoff` of the output",
        shows=("tradeoff[].rmse", "tradeoff[].aucs.lda"),
        small="--folds 3 --attack lda",
    ),
    PaperResult("Drawing: how obfuscation affects inference", "no figure", "", _DRAWINGS_LOST),
    PaperResult("Drawing: trade-off of privacy and accuracy", "no figure", "", _DRAWINGS_LOST),
    PaperResult(
        "Drawings of the method and of the apparatus",
        "no figure",
        "",
        "the text has lost the drawings and their captions; docs/standard-scheme.md has the "
        "protocol's steps as a table",
    ),
)
"""Every result that the paper prints, with the command that reproduces it, except for drawings that
are lost; docs/results.md has the figures."""

DESIGN = Design(
    name="standard-scheme",
    title="Standard scheme",
    citation="US patent application: Privacy protection against curious recommenders",
    models={"standard-scheme": "StandardScheme"},
    card_settings=CardSettings,
    cards=cards,
    after_cards="tacit audit standard-scheme  looks for violations of it.",
    parts={
        "audit": "audit:audit",
        "fit": "commands:FIT",
        "evaluate": "experiment.commands:EVALUATE",
        "attack": "experiment.commands:ATTACK",
        "simulate": "commands:SIMULATE",
        "tour": "commands:tour",
        "compare": "commands:contenders",
        "reproduce": "design:PRINTED",
        "useful": "design:describe_usefulness",
    },
    works_from=people_needed("standard-scheme").works_from,
    served=(
        ServedSection(
            "disclosures",
            "serve.disclosure:ServedDisclosure",
            "serve.router:router",
            "serve.operator:make_demo",
        ),
    ),
)
