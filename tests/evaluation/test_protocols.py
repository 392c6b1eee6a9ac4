"""Protocols: each holds out what it says, judges whom it says, and lets in what it says."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, DataError
from tacit.evaluation.lists import list_trial
from tacit.evaluation.protocols import SPLITS, Protocol
from tacit.recommenders.baselines import Popularity


@pytest.fixture(scope="module")
def ratings():
    made = tacit.generate(users=80, items=50, ratings=1600, seed=3)
    times = np.random.default_rng(1).integers(1, 400, size=len(made))
    users, items = made.user_ids[made.users], made.item_ids[made.items]
    return Ratings.from_arrays(users, items, made.values, timestamps=times)


def rows(ratings, user):
    where = slice(ratings.offsets[user], ratings.offsets[user + 1])
    return dict(zip(ratings.items[where].tolist(), ratings.timestamps[where].tolist(), strict=True))


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("sampled", [None, 15])
def test_nothing_held_out_is_learned_from_or_listed_as_seen(ratings, split, sampled):
    """Halves are disjoint, each test person has a held-out like, and no list holds a seen item."""
    protocol = Protocol(split, sampled=sampled)
    trial = protocol.make_trial(ratings, seed=4)
    likes = np.asarray(trial.relevant.sum(axis=1)).ravel()
    assert (likes > 0).all()
    lists = trial.make_lists(Popularity(likes=True).fit(trial.train))
    for row, person in enumerate(trial.people.tolist()):
        train, test = rows(trial.train, person), rows(trial.test, person)
        assert not set(train) & set(test)
        listed = {int(item) for item in lists[row] if item >= 0}
        assert not listed & set(train)
        if trial.histories is not None:
            known = {ratings.item_ids[item] for item in listed}
            assert not known & set(trial.histories[row])
        if sampled is not None:
            hidden = set(ratings.item_ids[list(test)].tolist())
            assert len(trial.drawn[row]) <= sampled + len(hidden)
            assert {ratings.item_ids[item] for item in listed} <= set(trial.drawn[row])


def test_random_is_the_split_of_single_commands(ratings):
    """The same people and the same held-out rows."""
    ours, theirs = Protocol().make_trial(ratings, seed=2), list_trial(ratings, seed=2)
    assert ours.train.digest == theirs.train.digest
    assert ours.people.tolist() == theirs.people.tolist()


def test_time_holds_out_the_latest_share(ratings):
    """Nothing that is learned from is later than what is held out."""
    trial = Protocol("time", share=0.3).make_trial(ratings, seed=0)
    assert trial.train.timestamps.max() < trial.test.timestamps.min()
    assert len(trial.test) == pytest.approx(0.3 * len(ratings), rel=0.1)


def test_last_holds_out_one_like_and_nothing_later_is_learned(ratings):
    """Each test person's one held-out row is a like, the latest of their likes."""
    trial = Protocol("last").make_trial(ratings, seed=0)
    for person in trial.people.tolist():
        ((item, moment),) = rows(trial.test, person).items()
        assert all(time <= moment for time in rows(trial.train, person).values())
        everything = rows(ratings, person)
        where = slice(ratings.offsets[person], ratings.offsets[person + 1])
        liked = ratings.items[where][ratings.likes[where]].tolist()
        assert item in liked
        assert moment == max(everything[each] for each in liked)


def test_cold_people_are_not_learned_from(ratings):
    """A fifth of people have no row in training; their histories and hidden likes are disjoint."""
    trial = Protocol("people").make_trial(ratings, seed=0)
    assert len(trial.people) == pytest.approx(0.2 * ratings.n_users, abs=2)
    for row, person in enumerate(trial.people.tolist()):
        assert not rows(trial.train, person)
        hidden = set(ratings.item_ids[list(rows(trial.test, person))].tolist())
        assert hidden
        assert not hidden & set(trial.histories[row])


def test_every_like_is_held_out_in_one_fold(ratings):
    """Of people with two likes or more, over the seeds of one drawing; another drawing differs."""
    protocol = Protocol("folds", folds=4)
    trials = [protocol.make_trial(ratings, seed=seed) for seed in range(4)]
    held = [set(zip(each.test.users, each.test.items, strict=True)) for each in trials]
    assert sum(map(len, held)) == len(set.union(*held))
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    assert sum(map(len, held)) == likes[likes > 1].sum()
    again = protocol.make_trial(ratings, seed=4)
    assert set(zip(again.test.users, again.test.items, strict=True)) != held[0]


def test_the_share_is_kept(ratings):
    """Half of each person's likes, to one."""
    trial = Protocol(share=0.5).make_trial(ratings, seed=0)
    likes = np.bincount(ratings.users[ratings.likes], minlength=ratings.n_users)
    held = np.bincount(trial.test.users, minlength=ratings.n_users)
    several = likes > 1
    assert (np.abs(held[several] - likes[several] / 2) <= 1).all()


@pytest.mark.parametrize("split", ["time", "last"])
def test_no_times_are_said_so(ratings, split):
    """A sentence that names the option."""
    made = tacit.generate(users=30, items=20, ratings=300, seed=3)
    users, items = made.user_ids[made.users], made.item_ids[made.items]
    without = Ratings.from_arrays(users, items, made.values)
    with pytest.raises(DataError, match="no times to split by"):
        Protocol(split).make_trial(without, seed=0)


@pytest.mark.parametrize(
    "settings", [{"split": "weekly"}, {"share": 1.5}, {"folds": 1}, {"sampled": 3}]
)
def test_settings_that_are_none_are_refused(settings):
    """Each with a sentence."""
    with pytest.raises(ConfigError):
        Protocol(**settings)


@pytest.mark.parametrize("sampled", [None, 15])
def test_candidates_between_domains_are_called_items_of_the_target(sampled: int | None) -> None:
    """Between domains the description says that candidates are items of the target domain."""
    protocol = Protocol(sampled=sampled)
    assert "items of the target domain that a person has not" in protocol.describe(domains=True)
    assert "target domain" not in protocol.describe(domains=False)
