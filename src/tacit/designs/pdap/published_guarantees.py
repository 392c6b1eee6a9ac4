"""Cards of the published policies: the paper's claims of privacy, and why they do not hold.

`card_without_noise` is also the card of the sound learners at epsilon = inf. Symbols as in
theory.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.forwarded_users import Reading
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Claim, Guarantee, Trust

_PAPER = (
    "Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video "
    "recommendation with multimedia big data in social networks (2015)"
)
_OWN_VENDOR = "a user's own vendor, which sees context and click, and anyone who reads its memory"
_EXAMPLE_EPSILON = 0.1
"""epsilon' of the exact examples of one draw, on the cards."""
DEEP_CASES = ((2e5, 1.0, 3.0), (2e5, 10.0, 2.0), (1e7, 1.0, 2.0))
"""(T, A, p) of each example of GP-DAP's finest cells."""
NAMES = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")
"""The published policies, by their names on the command line."""


def cards_of_policy(
    name: str, setting: Setting, epsilon: float = math.inf
) -> tuple[Guarantee, ...]:
    """Make the cards of a policy, for own users and for forwarded ones.

    Args:
        name: Name of the policy, one of NAMES.
        setting: Setting of the vendor.
        epsilon: Epsilon claimed for one draw, and for one reward; inf for a policy without noise.

    Returns:
        One card for a policy without noise, and for a vendor without neighbours; otherwise one card
        for own users and one for forwarded users.

    Raises:
        ConfigError: There is no policy of this name.
    """
    if name not in NAMES:
        raise ConfigError(f"There are cards of {', '.join(NAMES)}; got {name!r}.")
    has_noise = name in ("p-dap", "gp-dap") and not math.isinf(epsilon)
    if not has_noise:
        return (card_without_noise(name.upper()),)
    gp_dap_claims: tuple[Claim, ...] = ()
    if name == "gp-dap":
        gp_dap_claims = (_claim_of_growing_epsilon(setting, epsilon),)
    own = _card_of_own_users(name.upper(), setting, epsilon, gp_dap_claims)
    if not setting.neighbours:
        return (own,)
    forwarded = _card_of_forwarded_users(name.upper(), setting, epsilon, gp_dap_claims)
    return own, forwarded


def example_cards(epsilon: float) -> tuple[Guarantee, ...]:
    """Return the cards of P-DAP and GP-DAP, for the sizes of `design.CardSettings`."""
    setting = Setting(videos=20, neighbours=3, dimension=2, horizon=200_000)
    return (
        *cards_of_policy("p-dap", setting, epsilon),
        *cards_of_policy("gp-dap", setting, epsilon),
    )


def _without_epsilon(basis: Basis, **card: Any) -> Guarantee:
    """Make a card without an epsilon; `card` are the other fields of `Guarantee`."""
    return Guarantee(
        trust=Trust.OWN_VENDOR, basis=basis, epsilon=None, delta=None, assumptions=(), **card
    )


def _card_of_refuted_claim(name: str, unit: str, **card: Any) -> Guarantee:
    """Make the card of a refuted claim.

    Args:
        name: Name of the card.
        unit: What the claim says is protected, for the sentence of the card.
        card: The other fields of `Guarantee`.
    """
    sentence = (
        f"The paper's claim is refuted: no epsilon holds for {unit}. This policy is for "
        "reproduction, not for use."
    )
    return _without_epsilon(Basis.REFUTED, name=name, sentence=sentence, **card)


def card_without_noise(name: str) -> Guarantee:
    """Make the card of a learner without noise: CAP, solo, DUP, DAP, or any at epsilon = inf."""
    return _without_epsilon(
        Basis.NONE,
        name=f"{name} without noise",
        sentence=(
            "Nobody is protected: what is shown, learned and sent is computed from contexts and "
            "clicks without noise."
        ),
        protects="nobody",
        adjacency=Adjacency("visit", "add or remove"),
        against="everyone who sees what is shown or sent, and vendors that users are forwarded to",
        lifetime="every visit reveals more",
        not_covered=(
            "everything: this is a baseline for comparison",
            "a forwarded context, which the neighbour sees in the clear",
        ),
        sources=(_PAPER,),
    )


_ALGORITHM_1 = Claim(
    "Theorem 4: Algorithm 1 is epsilon-differentially private in the context",
    "false: all but the draw follows from the cell without noise",
    (
        "one cell still needs video 1, another video 2: the video reveals it (epsilon infinite)",
        "own videos beat all neighbours in one cell only: forwarding reveals it (epsilon infinite)",
        "a visit that splits its cell makes later visitors explore (epsilon infinite for presence)",
    ),
)
_ALGORITHM_2 = Claim(
    "Theorem 5: Algorithm 2 is epsilon-differentially private in the rewards",
    "false: most of it uses rewards without noise",
    (
        "the reward of a video that is explored is sent without noise (epsilon infinite)",
        "the largest mean is of true rewards: at a tie one reward decides (epsilon infinite)",
        "counts and splits are exact: for the presence of a visit, epsilon is infinite",
    ),
)


def _card_of_own_users(
    name: str, setting: Setting, epsilon: float, gp_dap_claims: tuple[Claim, ...]
) -> Guarantee:
    """Make the card of ExP-DAP, which chooses for own users: the claims of Theorem 4.

    Args:
        name: Name of the policy.
        setting: Setting of the vendor.
        epsilon: Epsilon claimed for one draw.
        gp_dap_claims: Claims that are added for GP-DAP; empty for P-DAP.
    """
    return _card_of_refuted_claim(
        f"{name} (published), own users (ExP-DAP)",
        "a person's context or visit",
        protects="nobody reliably: most decisions are made without noise",
        adjacency=Adjacency("attribute value", "replace"),
        against="anyone who sees what is shown to this user and to later users",
        lifetime="every visit is a new draw; nothing bounds their sum",
        not_covered=(
            _OWN_VENDOR,
            "a forwarded context, which the neighbour sees in the clear",
            "that the user visited, and when",
        ),
        sources=(
            _PAPER,
            "McSherry, Talwar: Mechanism design via differential privacy (2007)",
            "Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018)",
        ),
        claims=(
            _claim_of_draws(setting, epsilon, geometric=len(gp_dap_claims) > 0),
            _ALGORITHM_1,
            _claim_of_past_rewards(),
            _claim_of_small_regret(),
            *gp_dap_claims,
        ),
    )


def _card_of_forwarded_users(
    name: str, setting: Setting, epsilon: float, gp_dap_claims: tuple[Claim, ...]
) -> Guarantee:
    """Make the card of LaP-DAP, which reports rewards of forwarded users. Theorem 5 of the paper.

    Args are those of `_card_of_own_users`, with the epsilon claimed for one reward.
    """
    return _card_of_refuted_claim(
        f"{name} (published), forwarded users (LaP-DAP)",
        "a video, nor for one reward",
        protects="nobody reliably: rewards are sent without noise while a video is explored",
        adjacency=Adjacency("reward", "replace"),
        against="the vendor that forwards, with all it was ever sent",
        lifetime="a video is chosen again and again: each reward is another one",
        not_covered=(
            "the video, which is delivered to the user whom the other vendor forwarded",
            "the forwarded context, in the clear",
            _OWN_VENDOR,
        ),
        sources=(
            _PAPER,
            "Chan, Shi, Song: Private and continual release of statistics (TISSEC 2011)",
            "Dwork et al.: Differential privacy under continual observation (STOC 2010)",
        ),
        claims=(
            Claim(
                "Theorem 5: a vendor's videos are hidden from its neighbours",
                "it is about ONE reward. Another video changes all its rewards, and the video "
                "itself is delivered to the neighbour's user",
                (f"a video shown 100 times: {100 * epsilon:.4g} for the claimed {epsilon:g}",),
            ),
            _claim_of_noise_scales(setting, epsilon),
            _claim_of_tree_levels(),
            _ALGORITHM_2,
            *gp_dap_claims,
        ),
    )


def _claim_of_draws(setting: Setting, epsilon: float, *, geometric: bool) -> Claim:
    """Refute the claimed cost of one draw, which rests on too small a Delta u, by exact losses."""

    def losses(videos: int) -> str:
        """List the exact losses of one draw among `videos` videos at some levels."""
        examples: list[str] = []
        for level in (3, 5, 7):
            exponent = theory.draw_exponent(_EXAMPLE_EPSILON, L=1, m=2, al=1, level=level)
            examples.append(f"{theory.selection_loss(exponent, videos):.4g} at level {level}")
        return ", ".join(examples)

    deepest = _deepest_level_reached(setting)
    m = setting.slices
    alpha = setting.smoothness
    epsilon_of_cell = theory.epsilon_at(epsilon, m, alpha, deepest, geometric)
    exponent = theory.draw_exponent(epsilon_of_cell, setting.lipschitz, m, alpha, deepest)
    largest_loss = theory.selection_loss(exponent, setting.videos)
    return Claim(
        "Lemma 2 and Theorem 4: Delta u = L m^(-alpha l), so that a draw costs epsilon'",
        "false: that bounds a mean within a cell. Contexts in one cell have the same chances, and "
        "means of two cells differ by up to 1",
        (
            (
                f"exact, epsilon' {_EXAMPLE_EPSILON:g}, L = 1, m = 2, alpha = 1, two means swap: "
                f"{losses(2)}"
            ),
            f"the same with 1,000 videos: {losses(1000)}",
            (
                f"this setting's deepest cells, level {deepest} at most: up to {largest_loss:.4g} "
                f"a visit, {epsilon:g} claimed; N visits cost N times as much"
            ),
            f"with Delta u = 1: {theory.selection_loss(epsilon / 2, setting.videos):.3g} a draw",
        ),
    )


def _claim_of_past_rewards() -> Claim:
    """Refute that a past reward costs the epsilon of one draw: the draws that follow add up."""
    losses: list[str] = []
    for level, draws in ((0, 10), (3, 6)):
        loss = theory.past_reward_loss(0.5, 2.0**-level, draws)
        losses.append(f"{loss:.4g} after {draws} draws at level {level}")
    return Claim(
        "Theorem 4 covers all past users",
        "false: the draw does protect a past reward, but by the sum of epsilon / (2 Delta u N) "
        "over the draws that follow",
        (f"claimed 0.5, two videos explored once, exact: {'; '.join(losses)}",),
    )


def _claim_of_small_regret() -> Claim:
    """Refute that choices can be private in their own context and have sublinear regret."""
    errors = ", ".join(
        f"{theory.least_error(epsilon):.4g} at epsilon {epsilon:g}" for epsilon in (0.01, 0.1, 1.0)
    )
    return Claim(
        "Theorem 4 and Corollary 2: private in the arriving context, and of sublinear regret",
        "cannot both hold: a choice that is private in its own context is wrong at least this "
        "often on one of two contexts with different best videos",
        (f"1 / (1 + e^epsilon): {errors}, in every round",),
    )


def _claim_of_growing_epsilon(setting: Setting, epsilon: float) -> Claim:
    """Refute GP-DAP's epsilon, which grows with the level of the cell, by its largest values."""
    examples: list[str] = []
    examples_with_small_spread: list[str] = []
    epsilon_0 = 0.01
    m = 2
    for rounds, first_split, growth in DEEP_CASES:
        deepest = theory.deepest_level(rounds, first_split, growth, m)
        # epsilon_0 m^(alpha l) with alpha = 1
        largest = theory.epsilon_at(epsilon_0, m, 1, deepest, geometric=True)
        examples.append(f"{largest:.3g} at T = {rounds:g}, A = {first_split:g}, p = {growth:g}")
        # Delta u = L m^(-alpha l) contributes the factor m^(alpha l) once more: m^(2 l) in all.
        largest_with_small_spread = theory.epsilon_at(epsilon_0, m, 2, deepest, geometric=True)
        examples_with_small_spread.append(f"{largest_with_small_spread:.6g}")
    text = "; ".join(examples)
    with_small_spread = ", ".join(examples_with_small_spread)
    deepest = _deepest_level_reached(setting)
    largest_here = theory.epsilon_at(
        epsilon, setting.slices, setting.smoothness, deepest, geometric=True
    )
    return Claim(
        "section VI: more people nearby, so a larger epsilon is enough",
        "an epsilon that depends on how many people came is no guarantee; at its largest it is "
        "epsilon_0 m^(alpha l_max), which grows without bound in T",
        (
            f"epsilon_0 = {epsilon_0:g}, m = {m}, alpha = 1: {text}",
            f"with Delta u = L m^(-alpha l) as well, up to {with_small_spread} for one visit",
            f"this setting, level {deepest}: {largest_here:.4g}",
        ),
    )


def _claim_of_noise_scales(setting: Setting, epsilon: float) -> Claim:
    """Compare the noise scales that the paper states for a tree, with the exact loss of each."""
    horizon = setting.horizon
    vendors = setting.neighbours + 1
    losses: list[str] = []
    for reading in (*get_args(Reading), "line 9"):
        scale = theory.noise_scale(reading, horizon, vendors, setting.videos, epsilon)
        # In line 9 the noise is on each reward, and no tree is involved.
        loss = 1 / scale if reading == "line 9" else theory.tree_loss(horizon, scale)
        losses.append(f"{reading}: scale {scale:.4g}, {loss:.4g} a reward")
    return Claim(
        "the noise is K log(T) / epsilon, Delta f / epsilon, th log(T) / epsilon, and epsilon over "
        "M - 1 for each tree",
        "four scales for one thing; a reward enters one tree, so neither K nor M - 1 belongs there",
        tuple(losses),
    )


def _claim_of_tree_levels() -> Claim:
    """Correct the number of a tree's nodes that hold a reward, with exact losses."""

    def losses(scale_of: Callable[[int], float]) -> str:
        """List the losses at some horizons T, with noise of the scale `scale_of(T)` on a node."""
        horizons = (2, 4, 8, 1024, 200_000)
        return ", ".join(f"{theory.tree_loss(T, scale_of(T)):.3g} at T = {T:,}" for T in horizons)

    return Claim(
        "a reward is in log(T) nodes of a tree",
        "it is in floor(log2 T) + 1: the root and the leaf both count",
        (
            f"claimed 1, noise log2(T) a node, exact: {losses(math.log2)}",
            f"with the natural logarithm: {losses(math.log)}",
            f"with floor(log2 T) + 1: {losses(theory.levels)}",
        ),
    )


def _deepest_level_reached(setting: Setting) -> int:
    """Bound the level of the deepest cell after T contexts, where T is the setting's horizon."""
    if setting.first_split > setting.horizon:
        return 0
    if setting.first_split == setting.horizon:
        return 1
    bound = theory.deepest_level(setting.horizon, setting.first_split, setting.p, setting.slices)
    return min(bound, setting.deepest)
