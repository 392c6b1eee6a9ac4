"""Item profiles: the patent's and the sound numbers, features, and what they predict."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.standard_scheme.messages import MICRO
from tacit.designs.standard_scheme.training.profiles import (
    PUBLISHED,
    SOUND,
    Penalties,
    ProfileSettings,
    factorize_beside,
    item_means,
    train_profiles,
)
from tacit.designs.standard_scheme.training.tables import Tables
from tacit.engine.ridge import alternating_ridge

PEOPLE, ITEMS, FACTORS = 40, 8, 2


def rated(seed=0, share=0.6, people=PEOPLE, items=ITEMS):
    """(people, items) CSR of whole levels 0 to 4; every item has 10 raters or more."""
    generator = np.random.default_rng(seed)
    mask = generator.random((people, items)) < share
    mask[:12] = True
    rows, columns = np.nonzero(mask)
    levels = generator.integers(0, 5, len(rows)).astype(float)
    return sparse.csr_array((levels, (rows, columns)), shape=(people, items))


def no_gaps(items=ITEMS):
    """Tables of an attribute without any effect."""
    zeros = np.zeros((2, items), dtype=np.int64)
    return Tables(("F", "M"), zeros, zeros + MICRO, zeros, None, np.zeros(items, dtype=np.int64))


def train(levels, *, kind="latent", published=False, features=None, n_levels=5, tables=None):
    """Profiles of these levels, whose lowest star is 1."""
    labels = np.arange(levels.shape[0])[:, None] % 2
    settings = ProfileSettings(kind, FACTORS, published=published, seed=3)
    return train_profiles(
        levels,
        labels,
        [tables or no_gaps()],
        n_levels,
        lowest=1.0,
        settings=settings,
        features=features,
    )


def naive_profiles(centred, mask, features, penalty, sweeps, *, per_rating):
    """The same factorisation, one person and one item after the other."""
    people, items = centred.shape
    latent = np.random.default_rng(3).normal(0.0, 0.1, (items, FACTORS))
    width = features.shape[1]
    for _ in range(sweeps):
        profiles = np.hstack([features, latent])
        weights = np.zeros((people, width + FACTORS))
        for person in range(people):
            own = profiles[mask[person]]
            scale = max(1, len(own)) if per_rating else 1
            gram = own.T @ own + penalty * scale * np.eye(width + FACTORS)
            weights[person] = np.linalg.solve(gram, own.T @ centred[person, mask[person]])
        for item in range(items):
            tastes = weights[mask[:, item]]
            scale = max(1, len(tastes)) if per_rating else 1
            left = centred[mask[:, item], item] - tastes[:, :width] @ features[item]
            gram = tastes[:, width:].T @ tastes[:, width:] + penalty * scale * np.eye(FACTORS)
            latent[item] = np.linalg.solve(gram, tastes[:, width:].T @ left)
    return np.hstack([features, latent])


def test_numbers_of_the_patent():
    """Regularization .02 paid for each rating, 20 rounds, ridge .1: as printed."""
    assert Penalties(factors=0.02, per_rating=True, sweeps=20, ridge=0.1) == PUBLISHED
    assert Penalties(factors=10.0, per_rating=False, sweeps=10, ridge=10.0) == SOUND


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("kind", ["latent", "latent+features"])
def test_profiles_are_those_of_the_formula(published, kind):
    """Penalties, rounds and features enter as documented: a naive factorisation agrees to 1e-8."""
    levels = rated()
    mask = levels.astype(bool).toarray() | (levels.toarray() != 0)
    mask[:12] = True
    mask = np.zeros(levels.shape, bool)
    mask[np.repeat(np.arange(PEOPLE), np.diff(levels.indptr)), levels.indices] = True
    known = np.random.default_rng(1).integers(0, 2, (ITEMS, 3)).astype(float)
    features = known if "features" in kind else np.zeros((ITEMS, 0))
    made = train(levels, kind=kind, published=published, features=known)
    numbers = PUBLISHED if published else SOUND
    centred = levels.toarray() - made.intercepts
    expected = naive_profiles(
        centred, mask, features, numbers.factors, numbers.sweeps, per_rating=numbers.per_rating
    )
    np.testing.assert_allclose(made.factors, expected, rtol=1e-6, atol=1e-8)
    assert made.ridge == numbers.ridge


def test_profiles_of_features_alone():
    """Nothing is fitted: profiles are the features, and the variant's ridge estimates tastes."""
    known = np.eye(ITEMS)[:, :3]
    made = train(rated(), kind="features", features=known)
    np.testing.assert_array_equal(made.factors, known)
    assert made.ridge == SOUND.ridge
    assert train(rated(), kind="features", features=known, published=True).ridge == PUBLISHED.ridge


def test_penalties_grow_with_the_scale_in_the_sound_variant_alone():
    """On nine levels a rating is twice as large: the penalty doubles, features grow by its root."""
    known = np.eye(ITEMS)[:, :3]
    sound = train(rated(), kind="features", features=known, n_levels=9)
    published = train(rated(), kind="features", features=known, n_levels=9, published=True)
    assert sound.ridge == pytest.approx(20.0)
    np.testing.assert_allclose(sound.factors, np.sqrt(2) * known)
    assert published.ridge == PUBLISHED.ridge
    np.testing.assert_array_equal(published.factors, known)


def test_published_profiles_take_stars_as_they_are():
    """As printed there is no item mean: a person without taste is predicted 0 stars."""
    made = train(rated(), published=True)
    np.testing.assert_array_equal(made.intercepts, np.full(ITEMS, -1.0))


def test_without_features_it_is_alternating_ridge():
    """Beside no features, the factorisation is the engine's, to the bit."""
    levels = rated()
    settings = {"factors": FACTORS, "penalty": 0.5, "sweeps": 4, "seed": 2}
    for per_rating in (True, False):
        made = factorize_beside(levels, np.zeros((ITEMS, 0)), per_rating=per_rating, **settings)
        _, expected = alternating_ridge(levels, per_rating=per_rating, **settings)
        np.testing.assert_array_equal(made, expected)


def test_item_means_by_hand():
    """Ten ratings of 4 beside five pseudo-ratings of the overall mean; rare items share a mean."""
    items = np.array([0] * 10 + [1] * 10 + [2] * 2)
    residuals = np.array([4.0] * 10 + [1.0] * 10 + [2.5] * 2)
    means, common = item_means(items, residuals, 4)
    overall = residuals.mean()
    assert means[0] == pytest.approx((40 + 5 * overall) / 15)
    assert means[1] == pytest.approx((10 + 5 * overall) / 15)
    assert means[2] == means[3] == pytest.approx((5 + 5 * overall) / 7)
    assert common.tolist() == [True, True, False, False]


def test_offsets_are_subtracted_before_profiles_are_fitted():
    """r - x0 v0 is factorised: planted gaps leave the intercepts where they are without gaps."""
    levels, gap = rated(), 0.5
    tables = no_gaps()
    tables.offsets[0] += round(gap * MICRO)
    tables.offsets[1] -= round(gap * MICRO)
    people = np.repeat(np.arange(PEOPLE), np.diff(levels.indptr))
    with_gap = levels.copy()
    with_gap.data = with_gap.data + np.where(people % 2 == 0, gap, -gap)
    made, plain = train(with_gap, tables=tables), train(levels)
    np.testing.assert_allclose(made.intercepts, plain.intercepts)
    np.testing.assert_allclose(made.factors, plain.factors, atol=1e-9)


def test_rare_items_have_features_and_no_factors():
    """Features are public, so an item with few raters keeps them; factors would be its rater's."""
    levels = rated().tolil()
    levels[5:, 0] = 0
    sparse_levels = sparse.csr_array(levels.tocsr())
    sparse_levels.eliminate_zeros()
    known = np.ones((ITEMS, 1))
    made = train(sparse_levels, kind="latent+features", features=known)
    assert made.factors[0, 0] == 1.0
    assert not made.factors[0, 1:].any()
    assert made.factors[1, 1:].any()


def test_features_predict_where_they_decide():
    """People who like one genre and not the other: features predict unseen items of a genre."""
    generator = np.random.default_rng(4)
    genre = np.repeat([0, 1], 20)
    likes = generator.integers(0, 2, 200)
    true = np.where(likes[:, None] == genre[None, :], 4.0, 0.0)
    mask = generator.random(true.shape) < 0.5
    rows, columns = np.nonzero(mask)
    levels = sparse.csr_array((true[mask], (rows, columns)), shape=true.shape)
    features = np.column_stack([np.ones(40), genre == 0, genre == 1]).astype(float)
    errors = {}
    for kind in ("features", "latent+features"):
        made = train(levels, kind=kind, features=features, tables=no_gaps(40))
        predicted = made.predict_levels(levels)
        errors[kind] = np.sqrt(np.mean((predicted - true)[~mask] ** 2))
    flat = np.sqrt(np.mean((true.mean() - true)[~mask] ** 2))
    assert max(errors.values()) < 0.6 * flat
