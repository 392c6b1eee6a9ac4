"""Replay of a log of visits: the sound learner learns its beginning, and is judged on the rest."""

from __future__ import annotations

import numpy as np

from tacit.data.visits import LoggedVisits
from tacit.designs.pdap.experiment import off_policy
from tacit.designs.pdap.experiment.off_policy import Estimate, Floats
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.randomness import secure


def propensities_of(visits: LoggedVisits) -> tuple[Floats, str]:
    """Return the chance with which each visit's arm was shown (n,), and in words where it is from.

    Without a column of propensities, each arm's share of the log is used. This is right only if the
    log's policy did not look at contexts and did not change.
    """
    if visits.propensities is not None:
        return visits.propensities, "logged"
    shares = np.bincount(visits.arms, minlength=len(visits.names)) / len(visits)
    return shares[visits.arms], "shares of the log"


def learn_from(visits: LoggedVisits, learned: int, epsilon: float) -> JointLearner:
    """Let a new learner learn the first `learned` visits of a log, in one release."""
    policy = JointLearner(make_setting(visits, learned, epsilon), randomness=secure())
    arms = visits.arms[:learned].tolist()
    policy.learn_log(arms, visits.contexts[:learned], visits.clicks[:learned].tolist())
    policy.epochs.end_now()
    policy.release_if_due()
    return policy


def estimate_policy(
    policy: JointLearner, visits: LoggedVisits, learned: int, propensities: Floats
) -> tuple[list[Estimate], dict[str, float]]:
    """Estimate how often a policy would be clicked, on visits that it has not learned.

    Args:
        policy: that learned the first visits of the log.
        visits: the whole log.
        learned: number of visits that it learned.
        propensities: (n,) of the whole log.

    Returns:
        The estimates, and facts about the importance weights, by JSON key.
    """
    contexts = visits.contexts[learned:]
    clicks = visits.clicks[learned:]
    arms = visits.arms[learned:]
    shares = policy.shares(contexts)
    means, _ = policy.estimate(contexts)
    means = np.clip(means, 0.0, 1.0)
    rows = np.arange(len(arms))
    weights = off_policy.importance_weights(shares[rows, arms], propensities[learned:])
    mean_of_shown = means[rows, arms]
    mean_of_policy = (shares * means).sum(axis=1)
    estimates = [
        off_policy.estimate_ips(weights, clicks),
        off_policy.estimate_snips(weights, clicks),
        off_policy.estimate_doubly_robust(
            weights, clicks, model_of_shown=mean_of_shown, model_of_policy=mean_of_policy
        ),
    ]
    weight_facts = {
        "effective_visits": off_policy.effective_visits(weights),
        "largest_weight": float(weights.max()),
        "mean_weight": float(weights.mean()),
    }
    return estimates, weight_facts


def make_setting(visits: LoggedVisits, learned: int, epsilon: float) -> JointSetting:
    """Make the setting of a learner for a log of which `learned` visits are learned."""
    return JointSetting(
        videos=len(visits.names),
        neighbours=0,
        dimension=len(visits.features),
        horizon=max(2, learned),
        epsilon=epsilon,
    )
