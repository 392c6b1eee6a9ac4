"""Entry of X-Map in the registry of designs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.design import Design, PaperResult, option
from tacit.design.people_needed import people_needed
from tacit.errors import ConfigError
from tacit.privacy import Guarantee


@dataclass(frozen=True)
class CardSettings:
    """Options of `tacit guarantee xmap`."""

    epsilon: float = option("Epsilon of a person's whole profile; inf: no privacy.")
    delta: float = option(
        "Probability by which any event may exceed the bound of epsilon.", default=1e-6
    )
    variant: str = option(
        "'sound'. The card of 'published' is made of a fitted model:  tacit guarantee FILE",
        default="sound",
    )


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Make the card of the sound variant before a fit.

    Raises:
        ConfigError: No model has this variant, epsilon and delta; or the variant is "published",
            whose card counts the images of a fitted model.
    """
    from tacit.designs.xmap.guarantees import card_of_sound, card_without_noise
    from tacit.designs.xmap.model import XMap

    epsilon = settings.epsilon
    delta = settings.delta
    variant: Any = settings.variant
    # Raises ConfigError if no model has these parameters.
    XMap(target="any", variant=variant, epsilon=epsilon, delta=delta)
    if variant == "published":
        raise ConfigError(
            "The card of the published variant counts what a fitted model has drawn. Run  "
            "tacit fit xmap RATINGS --target DOMAIN --variant published --epsilon "
            f"{epsilon:g} -o m.tacit  and then  tacit guarantee m.tacit"
        )
    if math.isinf(epsilon):
        return (card_without_noise("sound"),)
    return (card_of_sound(epsilon, delta),)


# Parts of the commands and reasons of several results
_EVALUATE = "tacit evaluate xmap two.csv --domain-column domain"
_SEED_AND_WORKERS = "--seed 1000 --workers 1"
_METHODS = (
    "--method nx-map-ib,nx-map-ub,x-map-ib,x-map-ub,item-average,remote-user,knn-single,knn-cross "
    "--variant published"
)
_OTHER_DATA = "MovieLens 100K cut in two by genre in place of Amazon's books and movies"


def _measured_result(
    item: str,
    options: str,
    printed: str,
    reason: str,
    shows: tuple[str, ...],
    quick_options: str,
    *,
    source: str = "D1",
    target: str = "D2",
) -> PaperResult:
    """Make the `PaperResult` of a chart or table whose numbers are measured on two domains.

    Args:
        item: What the paper calls the chart or table.
        options: Options of the command that measures its numbers.
        printed: The numbers that the paper prints.
        reason: What is compared, and how it differs from the paper.
        shows: Paths of the quantities in the command's JSON.
        quick_options: Options that make the command quick enough for a test.
        source: Domain that people have rated in.
        target: Domain to recommend from.
    """
    command = (
        f"{_EVALUATE} --source {source} --target {target} {_SEED_AND_WORKERS} {options} --json"
    )
    return PaperResult(item, "measured", command, reason, printed, shows, quick_options)


def _charts_of_both_directions(
    item: str,
    options: str,
    reason: str,
    shows: tuple[str, ...],
    quick_options: str,
    *,
    books_to_movies: str,
    movies_to_books: str,
) -> tuple[PaperResult, PaperResult]:
    """Make the entries of a chart that the paper has twice, one for each direction.

    Args:
        item: What the paper calls the chart.
        options: Options of the command that measures its numbers.
        reason: What is compared, and how it differs from the paper.
        shows: Paths of the quantities in the command's JSON.
        quick_options: Options that make the command quick enough for a test.
        books_to_movies: The numbers that the paper prints for books to movies.
        movies_to_books: The numbers that the paper prints for movies to books.
    """
    return (
        _measured_result(item, options, books_to_movies, reason, shows, quick_options),
        _measured_result(
            f"{item}, D2 to D1",
            options,
            movies_to_books,
            reason,
            shows,
            quick_options,
            source="D2",
            target="D1",
        ),
    )


PRINTED = (
    PaperResult(
        "Theorem 1",
        "refuted",
        "tacit audit xmap --json",
        "true for one draw from a fixed list; one person moves all images of a table, and the list "
        "itself depends on the data",
        "a replacement is epsilon-differentially private",
        ("audits[mechanism=prs-published].lower_bound", "audits[mechanism=alterego-published]"),
        "--samples 1000",
    ),
    PaperResult(
        "Theorem 2",
        "refuted",
        "tacit simulate xmap --json",
        "SS is exceeded on more than half of random pairs of centred items; it is a bound for "
        "positive stars if only people who rated both may be left out",
        "no person changes a similarity by more than SS",
        ("theorem_2[].exceeded", "theorem_2[].pairs"),
        "--k 5 --samples 20 --pairs 50",
    ),
    PaperResult(
        "Theorems 3 and 4",
        "refuted",
        "tacit simulate xmap --json",
        "both hold with one sensitivity, while w is below Sim_k and |v| is the number of "
        "candidates; as printed the minimum cuts w, |v| may be shorter and each pair has its own "
        "sensitivity. Each of the three alone makes Theorem 3 miss far more often than rho; the "
        "first and the last do so for Theorem 4",
        "misses in at most rho of all lists",
        (
            "theorems[theorem=3,case=as proved].exact",
            "theorems[theorem=4,case=as proved].exact",
            "theorems[theorem=3,case=w cut].exact",
            "theorems[theorem=4,case=w cut].exact",
            "theorems[theorem=3,case=v printed].exact",
            "theorems[theorem=4,case=v printed].exact",
            "theorems[theorem=3,case=SS printed].exact",
            "theorems[theorem=4,case=SS printed].exact",
        ),
        "--k 5 --samples 20 --pairs 50",
    ),
    *_charts_of_both_directions(
        "Figure: MAE by k",
        f"--k 10,50,100 --seeds 5 {_METHODS}",
        f"{_OTHER_DATA}; the order is reversed: there user-based methods err least and private "
        "ones less than item averages, here item-based NX-Map errs least and both private ones "
        "more than item averages",
        ("points[k=10].mae", "points[k=50].mae"),
        "--k 10,50 --seeds 1 --method nx-map-ib,nx-map-ub",
        books_to_movies="MAE at k = 10, 50, 100, book to movie: X-Map-ib .674, .670, .662; "
        "X-Map-ub .494, .500, .503; NX-Map-ib .632 at each; NX-Map-ub .486, .483, .484; item "
        "average .693",
        movies_to_books="MAE at k = 10, 50, 100, movie to book: X-Map-ib .701, .689, .675; "
        "X-Map-ub .682, .672, .651; NX-Map-ib .565, .570, .573; NX-Map-ub .541, .546, .550; "
        "item average about .705",
    ),
    *_charts_of_both_directions(
        "Figure: MAE by overlap",
        f"--k 50 --overlap 0.2,0.5,0.8 --seeds 5 {_METHODS}",
        f"{_OTHER_DATA}; private methods err more than item averages here, and less in the paper",
        ("points[overlap=0.2].mae", "points[overlap=0.8].mae"),
        "--overlap 0.2,0.8 --seeds 1 --method nx-map-ib",
        books_to_movies="MAE from overlap .2 to .8, book to movie: X-Map-ib .690 to .671, "
        "X-Map-ub .688 to .575, NX-Map-ib .596 to .584, NX-Map-ub .657 to .538, item average "
        ".699 to .691, remote user .688 to .657, item kNN .675 to .661",
        movies_to_books="MAE from overlap .2 to .8, movie to book: X-Map-ib .683 to .632, "
        "X-Map-ub .526 to .496, NX-Map-ib .581 to .540, NX-Map-ub .482 to .483, item average "
        ".703 to .695, remote user .673 to .666, item kNN .692 to .675",
    ),
    *_charts_of_both_directions(
        "Figure: MAE by profile size",
        f"--k 50 --profile-size 0,3,6 --seeds 5 {_METHODS}",
        f"{_OTHER_DATA}; the fall of NX-Map-ib by .139 is not found",
        ("points[profile_size=0].mae", "points[profile_size=6].mae"),
        "--profile-size 0,6 --seeds 1 --method nx-map-ib",
        books_to_movies="MAE from 0 to 6 items, book to movie: X-Map-ib .669 to .653, X-Map-ub "
        ".665 to .651, NX-Map-ib .574 to .435, NX-Map-ub .641 to .614, item kNN .696 to .691 "
        "(both domains) and .718 to .692 (target only)",
        movies_to_books="MAE from 0 to 6 items, movie to book: X-Map-ib .694 to .665, X-Map-ub "
        ".629 to .611, NX-Map-ib .574 to .435, the curve of book to movie, NX-Map-ub .603 to "
        ".589, item kNN .703 to .687 (both domains) and .723 to .696 (target only)",
    ),
    _measured_result(
        "Figure: temporal alpha",
        "--alpha 0,0.01,0.03,0.1 --k 50 --seeds 5 --method nx-map-ib,x-map-ib --variant published",
        "MAE without and with the best alpha: X-Map-ib .71083, .71071 movie to book and .68841, "
        ".68838 book to movie; NX-Map-ib .59021, .59009 and .56410, .56402",
        f"{_OTHER_DATA}; the printed gain is below 0.0002 stars, less than any interval here",
        ("comparisons[alpha=0.03].difference", "points[alpha=0.03].mae"),
        "--alpha 0,0.03 --seeds 1 --method nx-map-ib",
    ),
    *_charts_of_both_directions(
        "Figure: privacy surface",
        "--k 50 --surface 0.1,0.3,0.8 --seeds 5 --method x-map-ib,x-map-ub,item-average "
        "--variant published",
        f"{_OTHER_DATA}; no epsilon of these holds for a person",
        ("points[epsilon_prime=0.8].mae", "points[epsilon=0.1,epsilon_prime=0.1].mae"),
        "--surface 0.1,0.8 --seeds 1 --method x-map-ib",
        books_to_movies="MAE over epsilons up to .8, book to movie: X-Map-ib .667 to .654; "
        "X-Map-ub within .51 to .53",
        movies_to_books="MAE over epsilons up to .8, movie to book: X-Map-ib .70 to .645; "
        "X-Map-ub .556 to .532",
    ),
    _measured_result(
        "PNSA, in three readings",
        "--k 50 --pnsa printed,counted,positive --seeds 5 --method x-map-ib,x-map-ub,item-average "
        "--variant published",
        "no figure of its own: all figures of X-Map rest on PNSA",
        f"{_OTHER_DATA}; with all items as candidates, as printed, item-based X-Map errs more than "
        "with the positively similar ones alone; user-based it is a tie",
        ("points[pnsa=printed].mae", "points[pnsa=counted].mae", "points[pnsa=positive].mae"),
        "--seeds 1 --method x-map-ib",
    ),
    _measured_result(
        "Similarities found",
        "--overlap 0.01,0.03,0.1,1 --similarities --seeds 1 --method item-average",
        "0.35 million pairs by adjusted cosine, 4.53 million by X-Sim",
        f"{_OTHER_DATA}: X-Sim finds more pairs only where few people are in both",
        ("similarities[overlap=0.01].x_sim", "similarities[overlap=1].adjusted_cosine"),
        "",
    ),
    PaperResult(
        "Scalability with machines",
        "not reproduced",
        "",
        "it takes 20 machines",
        "speed with 20 machines over 5: X-Map 3.66, MLlib ALS 2.70",
    ),
    _measured_result(
        "Table: one domain beside ALS",
        "--k 50 --seeds 5 --method nx-map-ib,x-map-ib,mf --variant published",
        "MAE on MovieLens 20M by genres: NX-Map .6027, X-Map .6830, MLlib ALS .6729",
        "MovieLens 100K by genres in place of MovieLens 20M; mf is ALS",
        ("points[method=nx-map-ib].mae", "points[method=mf].mae"),
        "--seeds 1 --method nx-map-ib,mf",
    ),
)
"""The results that the paper prints, and PNSA in three readings. Each has the command that measures
or refutes it, or the reason why there is none."""

DESIGN = Design(
    name="xmap",
    title="X-Map",
    citation="Guerraoui and others: What you might like to read after watching Interstellar (2017)",
    models={"xmap": "XMap", "x-map": "XMap"},
    card_settings=CardSettings,
    cards=cards,
    after_cards="tacit audit xmap  looks for violations of it.",
    parts={
        "audit": "audit.bench:audit",
        "fit": "commands:FIT",
        "evaluate": "experiment.commands:EVALUATE",
        "plan": "commands:PLAN",
        "simulate": "commands:SIMULATE",
        "models": "serve:make_demo",
        "tour": "commands:tour",
        "compare": "experiment.evaluation:contenders",
        "reproduce": "design:PRINTED",
        "useful": "model:describe_usefulness",
    },
    works_from=people_needed("xmap").works_from,
)
