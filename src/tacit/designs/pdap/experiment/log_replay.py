"""Replay of a log: the joint learner learns the log's first visits; the rest is for estimates."""

from __future__ import annotations

import numpy as np

from tacit.data.visits import LoggedVisits
from tacit.designs.pdap.experiment import off_policy
from tacit.designs.pdap.experiment.off_policy import Estimate, Floats
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.randomness import secure


def propensities_of(visits: LoggedVisits) -> tuple[Floats, str]:
    """Return the chance with which the log's policy showed each visit's arm.

    Without a column of propensities, each arm's share of the log is used. This is right only if the
    log's policy did not look at contexts and did not change.

    Returns:
        (n,) the chances, and their source: "logged" or "shares of the log".
    """
    if visits.propensities is not None:
        return visits.propensities, "logged"
    shares = np.bincount(visits.arms, minlength=len(visits.names)) / len(visits)
    return shares[visits.arms], "shares of the log"


def learn_from(visits: LoggedVisits, n_learned: int, epsilon: float) -> JointLearner:
    """Let a new learner learn the first `n_learned` visits of a log, in one release."""
    policy = JointLearner(make_setting(visits, n_learned, epsilon), randomness=secure())
    arms = visits.arms[:n_learned].tolist()
    policy.learn_log(arms, visits.contexts[:n_learned], visits.clicks[:n_learned].tolist())
    policy.epochs.end_now()
    policy.release_if_due()
    return policy


def estimate_policy(
    policy: JointLearner, visits: LoggedVisits, n_learned: int, propensities: Floats
) -> tuple[list[Estimate], dict[str, float]]:
    """Estimate the clicks that a policy would get, on visits that it has not learned.

    Args:
        policy: the policy, which learned the first visits of the log.
        visits: the whole log.
        n_learned: number of visits that the policy learned.
        propensities: (n,) chance with which the log's policy showed each visit's arm.

    Returns:
        The estimates, and facts about the importance weights, by JSON key.
    """
    contexts = visits.contexts[n_learned:]
    clicks = visits.clicks[n_learned:]
    arms = visits.arms[n_learned:]
    shares = policy.shares(contexts)  # (visits, arms)
    means, _ = policy.estimate(contexts)  # (visits, arms)
    means = np.clip(means, 0.0, 1.0)
    visit_numbers = np.arange(len(arms))
    share_of_shown = shares[visit_numbers, arms]
    weights = off_policy.importance_weights(share_of_shown, propensities[n_learned:])
    mean_of_shown = means[visit_numbers, arms]
    mean_of_policy = (shares * means).sum(axis=1)
    estimates = [
        off_policy.estimate_ips(weights, clicks),
        off_policy.estimate_snips(weights, clicks),
        off_policy.estimate_doubly_robust(
            weights, clicks, predicted_shown=mean_of_shown, predicted_policy=mean_of_policy
        ),
    ]
    weight_facts = {
        "effective_visits": off_policy.effective_visits(weights),
        "largest_weight": float(weights.max()),
        "mean_weight": float(weights.mean()),
    }
    return estimates, weight_facts


def make_setting(visits: LoggedVisits, n_learned: int, epsilon: float) -> JointSetting:
    """Make the setting of a learner for a log of which `n_learned` visits are learned."""
    return JointSetting(
        videos=len(visits.names),
        neighbours=0,
        dimension=len(visits.features),
        horizon=max(2, n_learned),
        epsilon=epsilon,
    )
