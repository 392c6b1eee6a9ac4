"""X-Map on the audit's bench: what the paper claims, and what this library claims.

Source   the published claims and why they fail: the variant's card. Whole fits of the shipped
         recommender are enumerated, and sampled with the weights that they draw with. The release
         of the sound variant is that of the design `private`, which has a bench of its own for each
         of its modes; here it is fitted by XMap, in the mode that so few people lead to, and
         replayed with and without one person.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import Bench, Check, Line
from tacit.data.ratings import Ratings
from tacit.designs.private.audit import faults, line, worlds
from tacit.designs.private.audit.faults import Planted
from tacit.designs.private.audit.worlds import DELTA, EPSILON
from tacit.designs.xmap import model
from tacit.designs.xmap.audit import tables
from tacit.designs.xmap.audit.fits import Drawer, Draws, choice_check, fits_check, noise_check
from tacit.designs.xmap.audit.fits import noise_delta as delta_of_noise
from tacit.designs.xmap.audit.tables import SOURCE, TARGET, Tables, only_link, turned
from tacit.designs.xmap.audit.tables import strong_among_mild as strong
from tacit.designs.xmap.model import XMap
from tacit.designs.xmap.private_neighbours import Plan
from tacit.designs.xmap.settings import Catalogue, Routes, catalogue

PRIME = 0.8
"""epsilon' of the lines about neighbours: the paper's for the item-based recommender."""
REPLACEMENT = 1.0
"""epsilon of the lines about images."""


def _published(of: Draws, row: int | None = None, **settings: float) -> Drawer:
    return Drawer({"variant": "published", "significance": 0, **settings}, of, row)


def _constant(plan: Plan, of: Draws = "both", row: int | None = None) -> Drawer:
    settings = {"k": plan.k, "epsilon": plan.epsilon, "delta": plan.delta, "significance": 0}
    return Drawer({"variant": "constant", **settings}, of, row)


def _plan(tables: Tables, k: int, each: float) -> Plan:
    """The total that leaves `each` nats for one image or one table; pure epsilon."""
    films = int((tables[0].item_metadata["domain"] == TARGET).sum())
    books = tables[0].n_items - films
    return Plan(books, films, k, each * (books + films), 0.0)


def place(tables: Tables, film: str) -> int:
    """Of a film among the films."""
    domains = tables[0].item_metadata["domain"]
    return int((domains == TARGET)[: tables[0].item_ids.tolist().index(film)].sum())


def one_image() -> Line:
    """Theorem 1: a replacement costs epsilon."""
    drawer = _published("images", k=1, epsilon=REPLACEMENT, epsilon_prime=math.inf)
    return Line(
        "prs-published",
        REPLACEMENT,
        (
            choice_check("candidates that do not change", drawer, turned(1, 4)),
            choice_check("the person is the book's only link", drawer, only_link()),
        ),
        published=True,
    )


def all_images() -> Line:
    """The same claim, read as one about AlterEgos: one person moves every image."""
    drawer = _published("images", k=1, epsilon=REPLACEMENT, epsilon_prime=math.inf)
    checks = (choice_check("three books, four films", drawer, turned(3, 4)),)
    return Line("alterego-published", REPLACEMENT, checks, published=True)


def published_selection() -> Line:
    """PNSA: drawing neighbours costs epsilon' / 2."""

    def check(people: int, k: int) -> Check:
        tables = strong(people)
        drawer = _published(
            "neighbours", place(tables, "i"), k=k, epsilon=math.inf, epsilon_prime=PRIME
        )
        name = f"5-5-1-1 among {people} and {people}, k = {k}"
        return choice_check(name, drawer, tables)

    return Line(
        "pnsa-published", PRIME / 2, (check(10, 1), check(60, 1), check(60, 2)), published=True
    )


def published_noise() -> Line:
    """PNCF: noise on the similarities of neighbours costs epsilon' / 2."""
    tables = strong(10)
    drawer = _published(
        "neighbours", place(tables, "i"), k=1, epsilon=math.inf, epsilon_prime=PRIME
    )
    given = place(tables, "one")
    delta = delta_of_noise(drawer, tables, given, PRIME / 2)
    name = f"5-5-1-1 among 10 and 10; delta {delta:.3f} at the claim"
    return Line(
        "pncf-published",
        PRIME / 2,
        (noise_check(name, drawer, tables, given=(given,)),),
        published=True,
    )


def published_fit() -> Line:
    """The shipped recommender, fitted again and again on both tables: epsilon + epsilon'."""
    tables, epsilon = strong(60), 0.3
    settings = {"variant": "published", "k": 1, "epsilon": epsilon, "epsilon_prime": PRIME}
    i, one = place(tables, "i"), place(tables, "one")
    check = fits_check(
        "5-5-1-1 among 60 and 60, k = 1: i's neighbour in the model",
        settings,
        tables,
        lambda released: released["0.neighbours"][i, 0] == one,
    )
    return Line("x-map-published", epsilon + PRIME, (check,), published=True)


def constant_images() -> Line:
    """PRS over all films: n images cost n times the nats of one."""
    tables = turned(3, 4)
    plan = _plan(tables, 1, REPLACEMENT)
    check = choice_check("three books, four films", _constant(plan, "images"), tables)
    leak = only_link()
    alone = choice_check(
        "the person is the book's only link", _constant(_plan(leak, 1, REPLACEMENT), "images"), leak
    )
    return Line("prs-constant", plan.images * plan.each, (check, alone))


def constant_selection() -> Line:
    """PNSA out of all films: k draws cost epsilon' / 2."""
    tables, mild = turned(0, 4, like=1), strong(60)

    def check(name: str, tables: Tables, film: str) -> Check:
        plan = _plan(tables, 2, PRIME)
        return choice_check(name, _constant(plan, "neighbours", place(tables, film)), tables)

    return Line(
        "pnsa-constant",
        PRIME / 2,
        (
            check("every similarity turned, k = 2", tables, "like 0"),
            check("5-5-1-1 among 60 and 60, k = 2", mild, "i"),
        ),
    )


def constant_noise() -> Line:
    """PNCF on all k similarities together costs epsilon' / 2."""
    tables = turned(0, 4, like=1)
    plan = _plan(tables, 2, PRIME)
    drawer = _constant(plan, "neighbours", place(tables, "like 0"))
    given = (place(tables, "film 0"), place(tables, "film 1"))
    name = "every similarity turned, k = 2"
    return Line("pncf-constant", PRIME / 2, (noise_check(name, drawer, tables, given=given),))


def constant_fit() -> Line:
    """A whole fit: images, neighbours and noise together cost the total."""
    tables = turned(2, 2, like=1)
    plan = _plan(tables, 1, 1.6)
    name = "two books, three films, all that is released"
    checks = (noise_check(name, _constant(plan), tables),)
    return Line("x-map-constant", plan.epsilon, checks)


def fit(epsilon: float) -> Callable[[Ratings], dict[str, NDArray[Any]]]:
    """The shipped recommender with stars; all that it released."""

    def fitted(table: Ratings) -> dict[str, NDArray[Any]]:
        made = XMap(source=SOURCE, target=TARGET, epsilon=epsilon, delta=DELTA, stars=True)
        lists = made.fit(table).sound_
        assert lists is not None
        return worlds.arrays_of(lists)

    return fitted


@dataclass(frozen=True)
class Sound(worlds.World):
    """The same as a world of the design `private`, so that its planted bugs can be used."""

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        return fit(EPSILON)(table)


WORLD = Sound("top-items", True, stars=True)


def sums() -> Line:
    """All sums of one fit together, as a reader of all of them sees them."""
    return replace(line(WORLD), mechanism="x-map-sound")


def rated_items_alone() -> faults.Steps:
    """Items that nobody rated leave the public catalogue."""

    def rated(ratings: Ratings, column: str, chosen: Routes) -> tuple[Any, Catalogue]:
        kept = np.bincount(ratings.items, minlength=ratings.n_items) > 0
        domains = ratings.item_metadata[column].copy()
        domains[~kept] = None
        metadata = {**ratings.item_metadata, column: domains}
        return catalogue(replace(ratings, item_metadata=metadata), column, chosen)

    return {model: {"catalogue": rated}}


BUGS = (
    Planted("items that nobody rated left out", rated_items_alone, "likes two rare items", WORLD),
    Planted("popular items by true counts", faults.head_by_true_counts, world=WORLD),
    Planted("each sum with the noise of the whole budget", faults.shares_forgotten, world=WORLD),
    Planted("likes above the mean of all", faults.liked_above_the_mean, world=WORLD),
)
"""Each fails on the shipped fit with one step replaced; it is compared with the shipped fit."""


BENCH: tuple[Callable[[], Line], ...] = (
    one_image,
    all_images,
    published_selection,
    published_noise,
    published_fit,
    constant_images,
    constant_selection,
    constant_noise,
    constant_fit,
    sums,
)
"""The published lines first."""


def audit() -> Bench:
    """The lines, and who was in the ratings, guessed."""
    return Bench(
        {"": BENCH},
        BUGS,
        studies=(tables.STUDY,),
        conclusion="The paper's claims are refuted. No violation of the library's was found, and "
        "that is no proof.",
        after="tacit guarantee xmap --epsilon 1  reads what each variant promises.",
    )
