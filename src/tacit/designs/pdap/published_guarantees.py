"""Cards of the published policies: their claims, and whether they hold, with computed figures."""

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
_VENDOR = "a user's own vendor, which sees context and click, and anyone who reads its memory"
_EXAMPLE = 0.1
"""epsilon' of the exact examples of one draw."""
DEEP_CASES = ((2e5, 1.0, 3.0), (2e5, 10.0, 2.0), (1e7, 1.0, 2.0))
"""T, A and p of the examples of GP-DAP's finest cells."""
NAMES = ("cap", "solo", "dup", "dap", "p-dap", "gp-dap")


def cards_of_policy(
    name: str, setting: Setting, epsilon: float = math.inf
) -> tuple[Guarantee, ...]:
    """Make the cards of a policy, for own users and for forwarded ones.

    Args:
        name: of the policy.
        setting: of the vendor.
        epsilon: claimed for one draw, and for one reward.
    """
    if name not in NAMES:
        raise ConfigError(f"There are cards of {', '.join(NAMES)}; got {name!r}.")
    if not name.endswith("p-dap") or math.isinf(epsilon):
        return (without_noise(name.upper()),)
    more = (_geometric(setting, epsilon),) if name == "gp-dap" else ()
    own = _own_users(name.upper(), setting, epsilon, more)
    if not setting.neighbours:
        return (own,)
    return own, _card_of_forwarded_users(name.upper(), setting, epsilon, more)


def cards_of_usual_setting(epsilon: float) -> tuple[Guarantee, ...]:
    """The cards of P-DAP and GP-DAP in a usual setting: see `design.CardSettings`."""
    setting = Setting(videos=20, neighbours=3, dimension=2, horizon=200_000)
    return (
        *cards_of_policy("p-dap", setting, epsilon),
        *cards_of_policy("gp-dap", setting, epsilon),
    )


def _without_epsilon(basis: Basis, **card: Any) -> Guarantee:
    return Guarantee(
        trust=Trust.OWN_VENDOR, basis=basis, epsilon=None, delta=None, assumptions=(), **card
    )


def _refute_claim(name: str, what: str, **card: Any) -> Guarantee:
    sentence = (
        f"The paper's claim is refuted: no epsilon holds for {what}. This policy is for "
        "reproduction, not for use."
    )
    return _without_epsilon(Basis.REFUTED, name=name, sentence=sentence, **card)


def without_noise(name: str) -> Guarantee:
    """CAP, solo, DUP, DAP; and any other learner of this folder at epsilon = inf."""
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


def _own_users(name: str, setting: Setting, epsilon: float, more: tuple[Claim, ...]) -> Guarantee:
    """ExP-DAP: what is shown to a vendor's own users. Theorem 4 of the paper."""
    return _refute_claim(
        f"{name} (published), own users (ExP-DAP)",
        "a person's context or visit",
        protects="nobody reliably: most decisions are made without noise",
        adjacency=Adjacency("attribute value", "replace"),
        against="anyone who sees what is shown to this user and to later users",
        lifetime="every visit is a new draw; nothing bounds their sum",
        not_covered=(
            _VENDOR,
            "a forwarded context, which the neighbour sees in the clear",
            "that the user visited, and when",
        ),
        sources=(
            _PAPER,
            "McSherry, Talwar: Mechanism design via differential privacy (2007)",
            "Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018)",
        ),
        claims=(
            _draw(setting, epsilon, geometric=bool(more)),
            _ALGORITHM_1,
            _claim_of_past_rewards(),
            _impossible(),
            *more,
        ),
    )


def _card_of_forwarded_users(
    name: str, setting: Setting, epsilon: float, more: tuple[Claim, ...]
) -> Guarantee:
    """LaP-DAP: what a vendor sends about users that others forward. Theorem 5 of the paper."""
    return _refute_claim(
        f"{name} (published), forwarded users (LaP-DAP)",
        "a video, nor for one reward",
        protects="nobody reliably: rewards are sent without noise while a video is explored",
        adjacency=Adjacency("reward", "replace"),
        against="the vendor that forwards, with all it was ever sent",
        lifetime="a video is chosen again and again: each reward is another one",
        not_covered=(
            "the video, which is delivered to the user whom the other vendor forwarded",
            "the forwarded context, in the clear",
            _VENDOR,
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
            _scales(setting, epsilon),
            _levels(),
            _ALGORITHM_2,
            *more,
        ),
    )


def _draw(setting: Setting, epsilon: float, *, geometric: bool) -> Claim:
    def losses(videos: int) -> str:
        exponents = ((level, theory.draw_exponent(_EXAMPLE, 1, 2, 1, level)) for level in (3, 5, 7))
        return ", ".join(
            f"{theory.selection_loss(a, videos):.4g} at level {level}" for level, a in exponents
        )

    deepest, m, alpha = _deepest(setting), setting.slices, setting.smoothness
    used = theory.epsilon_at(epsilon, m, alpha, deepest, geometric)
    ratio = theory.draw_exponent(used, setting.lipschitz, m, alpha, deepest)
    most = theory.selection_loss(ratio, setting.videos)
    return Claim(
        "Lemma 2 and Theorem 4: Delta u = L m^(-alpha l), so that a draw costs epsilon'",
        "false: that bounds a mean within a cell. Contexts in one cell have the same chances, and "
        "means of two cells differ by up to 1",
        (
            f"exact, epsilon' {_EXAMPLE:g}, L = 1, m = 2, alpha = 1, two means swap: {losses(2)}",
            f"the same with 1,000 videos: {losses(1000)}",
            (
                f"this setting's deepest cells, level {deepest} at most: up to {most:.4g} a visit, "
                f"{epsilon:g} claimed; N visits cost N times as much"
            ),
            f"with Delta u = 1: {theory.selection_loss(epsilon / 2, setting.videos):.3g} a draw",
        ),
    )


def _claim_of_past_rewards() -> Claim:
    losses = (
        f"{theory.past_reward_loss(0.5, 2.0**-level, n):.4g} after {n} draws at level {level}"
        for level, n in ((0, 10), (3, 6))
    )
    return Claim(
        "Theorem 4 covers all past users",
        "false: the draw does protect a past reward, but by the sum of epsilon / (2 Delta u N) "
        "over the draws that follow",
        (f"claimed 0.5, two videos explored once, exact: {'; '.join(losses)}",),
    )


def _impossible() -> Claim:
    wrong = ", ".join(
        f"{theory.least_error(epsilon):.4g} at epsilon {epsilon:g}" for epsilon in (0.01, 0.1, 1.0)
    )
    return Claim(
        "Theorem 4 and Corollary 2: private in the arriving context, and of sublinear regret",
        "cannot both hold: a choice that is private in its own context is wrong at least this "
        "often on one of two contexts with different best videos",
        (f"1 / (1 + e^epsilon): {wrong}, in every round",),
    )


def _geometric(setting: Setting, epsilon: float) -> Claim:
    def epsilon_of_case(case: tuple[float, float, float], power: float) -> float:
        return theory.epsilon_at(0.01, 2, power, theory.deepest_level(*case, 2), geometric=True)

    text = "; ".join(
        f"{epsilon_of_case(case, 1):.3g} at T = {case[0]:g}, A = {case[1]:g}, p = {case[2]:g}"
        for case in DEEP_CASES
    )
    together = ", ".join(f"{epsilon_of_case(case, 2):.6g}" for case in DEEP_CASES)
    deepest = _deepest(setting)
    here = theory.epsilon_at(epsilon, setting.slices, setting.smoothness, deepest, geometric=True)
    return Claim(
        "section VI: more people nearby, so a larger epsilon is enough",
        "an epsilon that depends on how many people came is no guarantee; at its largest it is "
        "epsilon_0 m^(alpha l_max), which grows without bound in T",
        (
            f"epsilon_0 = 0.01, m = 2, alpha = 1: {text}",
            f"with Delta u = L m^(-alpha l) as well, up to {together} for one visit",
            f"this setting, level {deepest}: {here:.4g}",
        ),
    )


def _scales(setting: Setting, epsilon: float) -> Claim:
    def loss(reading: str) -> str:
        horizon, vendors = setting.horizon, setting.neighbours + 1
        scale = theory.noise_scale(reading, horizon, vendors, setting.videos, epsilon)
        exact = 1 / scale if reading == "line 9" else theory.tree_loss(horizon, scale)
        return f"{reading}: scale {scale:.4g}, {exact:.4g} a reward"

    return Claim(
        "the noise is K log(T) / epsilon, Delta f / epsilon, th log(T) / epsilon, and epsilon over "
        "M - 1 for each tree",
        "four scales for one thing; a reward enters one tree, so neither K nor M - 1 belongs there",
        tuple(loss(reading) for reading in (*get_args(Reading), "line 9")),
    )


def _levels() -> Claim:
    def losses(levels: Callable[[int], float]) -> str:
        horizons = (2, 4, 8, 1024, 200_000)
        return ", ".join(f"{theory.tree_loss(T, levels(T)):.3g} at T = {T:,}" for T in horizons)

    return Claim(
        "a reward is in log(T) nodes of a tree",
        "it is in floor(log2 T) + 1: the root and the leaf both count",
        (
            f"claimed 1, noise log2(T) a node, exact: {losses(math.log2)}",
            f"with the natural logarithm: {losses(math.log)}",
            f"with floor(log2 T) + 1: {losses(theory.levels)}",
        ),
    )


def _deepest(setting: Setting) -> int:
    """The deepest level that contexts up to the horizon can reach."""
    if setting.first_split >= setting.horizon:
        return 0 if setting.first_split > setting.horizon else 1
    bound = theory.deepest_level(setting.horizon, setting.first_split, setting.p, setting.slices)
    return min(bound, setting.deepest)
