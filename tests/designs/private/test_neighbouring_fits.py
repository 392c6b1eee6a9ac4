"""Repeated fits in one process: nothing about their count tells whether ratings have changed.

In one world the ratings of two fits are equal in every row; in the neighbouring world one person
has come in between. Epsilons on cards, the fits in model files, charges of a ledger, refusals and
the noise of plans have to be the same in both.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit import Private, XMap, container
from tacit.data.ratings import Ratings
from tacit.designs.private import Account
from tacit.errors import PrivacyError
from tacit.ledger import open_ledger
from tests.support.profile_worlds import make_world


def make_ratings(*, with_newcomer: bool) -> Ratings:
    """Make ratings on a public catalogue; the newcomer rated one item."""
    ratings = make_world(domains=True)
    users = [*ratings.user_ids[ratings.users].tolist()]
    items = [*ratings.item_ids[ratings.items].tolist()]
    stars = [*ratings.values.tolist()]
    if with_newcomer:
        users.append(999)
        items.append(3)
        stars.append(5.0)
    metadata = {
        name: dict(zip(ratings.item_ids.tolist(), column.tolist(), strict=True))
        for name, column in ratings.item_metadata.items()
    }
    rebuilt = Ratings.from_arrays(users, items, stars, scale=ratings.scale, item_metadata=metadata)
    return replace(rebuilt, catalogue_given=True)


def describe_spending(model: Private | XMap, folder: Path) -> dict[str, Any]:
    """Return all that card and model file say of fits, without their random names.

    The rest of two files cannot be compared, because it was drawn with noise.
    """
    (card,) = model.guarantees()
    path = folder / "model.tacit"
    model.save(path)
    header, _ = container.unpack(path.read_bytes())
    releases = json.dumps(header.get("lists", header)["releases"])
    return {
        "basis": card.basis,
        "epsilon": card.epsilon,
        "lifetime": card.lifetime,
        "assumptions": card.assumptions,
        "not covered": card.not_covered,
        "says together": "fits together" in card.sentence,
        "releases": re.sub('"[0-9a-f]{16}"', '"name"', releases),
        "length": len(releases),
    }


def xmap() -> XMap:
    return XMap(source="s", target="t")


def private() -> Private:
    return Private(1.0)


def plan() -> Private:
    return Private(lifetime=3.0, fits=4)


def private_with_lifetime() -> Private:
    return Private(1.0, lifetime=3.0)


@pytest.mark.parametrize("make", [private, private_with_lifetime, plan, xmap])
def test_cards_and_files_of_later_models_do_not_tell_whether_ratings_changed(make, tmp_path):
    """Three models in a row, the last two of them to equal or to neighbouring ratings."""
    spending = []
    for with_newcomer in (False, True):
        make().fit(make_ratings(with_newcomer=False))
        later = [make().fit(make_ratings(with_newcomer=with_newcomer)) for _ in range(2)]
        spending.append([describe_spending(model, tmp_path) for model in later])
    assert spending[0] == spending[1]


@pytest.mark.parametrize("make", [private, private_with_lifetime, xmap])
def test_further_fits_of_one_model_count_alike(make, tmp_path):
    """One model is fitted again: it counts its own fits, to whichever ratings."""
    spending = []
    for with_newcomer in (False, True):
        model = make().fit(make_ratings(with_newcomer=False))
        model.fit(make_ratings(with_newcomer=with_newcomer))
        spending.append(describe_spending(model, tmp_path))
    assert spending[0] == spending[1]
    assert spending[0]["says together"]


@pytest.mark.parametrize("names_previous", [False, True])
def test_refusals_do_not_tell_whether_ratings_changed(names_previous):
    """A lifetime of 1.2 after a fit of epsilon 1: room or refusal, by `previous` alone."""
    outcomes = []
    for with_newcomer in (False, True):
        first = Private(1.0, lifetime=1.2).fit(make_ratings(with_newcomer=False))
        previous = first if names_previous else None
        model = Private(1.0, lifetime=1.2, previous=previous)
        try:
            model.fit(make_ratings(with_newcomer=with_newcomer))
            outcomes.append("fitted")
        except PrivacyError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0] == "fitted") is not names_previous


def test_charges_do_not_tell_whether_ratings_changed(tmp_path):
    """Of a fit without a ledger, then two with one, then a refused one, and one of a plan."""
    observed = []
    for with_newcomer in (False, True):
        Private(1.0).fit(make_ratings(with_newcomer=False))
        ratings = make_ratings(with_newcomer=with_newcomer)
        rows = []
        with open_ledger(tmp_path / f"{with_newcomer}.db") as ledger:
            account = Account(ledger)
            first = Private(1.0, lifetime=1.6).fit(ratings, account=account)
            rows.append((ledger.balance(account.holder).spent, describe_spending(first, tmp_path)))
            second = Private(1.0, lifetime=1.6, previous=first)
            second.fit(make_ratings(with_newcomer=with_newcomer), account=account)
            rows.append((ledger.balance(account.holder).spent, describe_spending(second, tmp_path)))
            with pytest.raises(PrivacyError) as refusal:
                Private(1.0, previous=second).fit(ratings, account=account)
            rows.append((ledger.balance(account.holder).spent, str(refusal.value)))
        observed.append(rows)
    assert observed[0] == observed[1]


def test_the_noise_of_a_plan_does_not_tell_whether_ratings_changed():
    """A plan after a fit that nothing names has the whole lifetime; after `previous`, the rest."""
    noises = []
    for with_newcomer in (False, True):
        first = Private(1.0).fit(make_ratings(with_newcomer=False))
        ratings = make_ratings(with_newcomer=with_newcomer)
        alone = Private(lifetime=3.0, fits=4).fit(ratings)
        again = make_ratings(with_newcomer=with_newcomer)
        rest = Private(lifetime=3.0, fits=4, previous=first).fit(again)
        noises.append([model.releases_[-1].noises for model in (alone, rest)])
    assert noises[0] == noises[1]
    alone, rest = noises[0]
    assert rest[0] > alone[0]
