"""Cards over HTTP are those of what is served, in full, for anybody."""

from __future__ import annotations

import pytest

from tacit.service.resources.guarantees import NO_PROMISE
from tests.support.seen import require_any


def test_every_card_is_told(shared_shop):
    """Everything that is served has its cards, word for word, and the first one's sentence."""
    told = shared_shop.get(None, "/api/guarantees").json()["guarantees"]
    served = shared_shop.service.deployment.served
    assert [f"{one['noun']}/{one['name']}" for one in told] == [*served]
    for one, thing in zip(told, served.values(), strict=True):
        cards = thing.guarantees()
        assert one["cards"] == [card.to_dict() for card in cards]
        assert one["sentence"] == (cards[0].sentence if cards else NO_PROMISE)


def test_the_model_is_proved(shared_shop):
    """The demonstration's model states a proved epsilon: its catalogue and scale were given."""
    (card,) = shared_shop.get(None, "/api/guarantees/models/films").json()["cards"]
    assert (card["basis"], card["epsilon"], card["delta"]) == ("proved", 4.0, 1e-6)


def test_one_is_as_in_the_list(shared_shop):
    """One guarantee by its address is the one of the list."""
    listed = shared_shop.get(None, "/api/guarantees").json()["guarantees"]
    for one in require_any(listed):
        path = f"/api/guarantees/{one['noun']}/{one['name']}"
        assert shared_shop.get(None, path).json() == one


def test_without_a_card_it_says_so(demo, folder, shops):
    """What promises nothing says: nothing."""
    from tacit.data.synthetic import generate
    from tacit.recommenders.baselines import Popularity

    made = generate(users=30, items=20, ratings=200, seed=0)
    Popularity().fit(made).save(folder / "all.tacit")
    with (folder / "tacit.toml").open("a") as file:
        file.write(
            '\n[models.all]\nfile = "all.tacit"\nscale = "1:5:1"\nwithout_guarantee = true\n'
        )
    with shops(demo, folder) as shop:
        told = shop.get(None, "/api/guarantees/models/all").json()
        assert (told["sentence"], told["cards"]) == (NO_PROMISE, [])
        (bound,) = (
            one
            for one in shop.delete("subject", "/api/users/ann").json()["bounded_by"]
            if one["of"] == "models/all"
        )
        assert (bound["sentence"], bound["epsilon"], bound["unit"]) == (NO_PROMISE, None, None)


@pytest.mark.parametrize(
    ("path", "status"),
    [("models/books", 404), ("wonders/films", 404), ("models/F", 422), ("M/films", 422)],
)
def test_what_is_not_served_has_none(shared_shop, path, status):
    """Unknown names are nothing at this address."""
    assert shared_shop.get(None, f"/api/guarantees/{path}").status_code == status
