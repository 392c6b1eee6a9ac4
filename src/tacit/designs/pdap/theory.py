"""Closed formulas of the paper, of what becomes of its claims, and of a draw that holds. Pure.

Notation   T rounds, K videos of a vendor, M vendors, d features, m slices of a side at a split,
           l level of a cell, al and L of the Hölder condition, cells split at A m^(p l) contexts.
           Logarithms are natural except the depth of a tree.
Source     Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
           recommendation with multimedia big data in social networks (2015), numbered as there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.accounting.rounding import round_up
from tacit.errors import ConfigError

BASEL = math.pi**2 / 3
"""Twice the sum of 1 / t^2: estimates of an arm that are too high, or of the best that are too low,
each with a chance of 1 / t^2 at round t."""


def exploration(m: float, al: float, level: int, log_rounds: float) -> float:
    """m^(2 al l) ln T: G1 with ln T, what G3 is meant to be with ln t. Visits to each video."""
    return float(m ** (2 * al * level)) * log_rounds


def gamma(T: int, M: int, epsilon: float, sigma: float) -> float:
    """Lemma 5: th log2(T)^2 ln(th T log2(T) / sigma) / epsilon with th = M - 1; 0 at inf."""
    th, depth = M - 1, math.log2(T)
    if th == 0:
        return 0.0
    return th * depth**2 * math.log(th * T * depth / sigma) / epsilon


def neighbour_exploration(
    m: float, al: float, level: int, log_rounds: float, Gamma: float
) -> float:
    """G2: m^(2 al l) ln t + (Gamma / 4) m^(al l), visits to each neighbour with its reward."""
    return exploration(m, al, level, log_rounds) + Gamma / 4 * float(m ** (al * level))


def spread(L: float, m: float, al: float, level: int) -> float:
    """Delta u as printed, L m^(-al l): how much a mean varies within a cell of side m^-l."""
    return L * float(m ** (-al * level))


def epsilon_at(epsilon: float, m: float, al: float, level: int, geometric: bool) -> float:
    """GP-DAP: epsilon_0 m^(al l) in a cell of level l; the same everywhere without `geometric`."""
    return epsilon * float(m ** (al * level)) if geometric else epsilon


def levels(T: int) -> int:
    """Nodes of a binary tree over T rewards that hold one of them: floor(log2 T) + 1."""
    return T.bit_length()


def noise_scale(reading: str, T: int, M: int, K: int, epsilon: float) -> float:
    """Scale of the Laplace noise of one node of a tree over T rewards, as each passage has it.

    tree        (floor(log2 T) + 1) / epsilon: the binary mechanism; a reward enters ONE tree
    theorem 5   the same at epsilon / (M - 1), its budget per tree
    lemma 5     (M - 1) log2(T) / epsilon
    text        K log2(T) / epsilon
    line 9      1 / epsilon, and on rewards, not on nodes
    A vendor without neighbours is taken to have one.
    """
    others = max(1, M - 1)
    scales = {
        "tree": levels(T),
        "theorem 5": others * levels(T),
        "lemma 5": others * math.log2(T),
        "text": K * math.log2(T),
        "line 9": 1,
    }
    return scales[reading] / epsilon


def tree_loss(T: int, scale: float) -> float:
    """Exact loss of one reward in a tree over T of them with Laplace noise of `scale` per node."""
    return levels(T) / scale


def deepest_level(T: float, A: float, p: float, m: float) -> int:
    """Lemma 7, l_max = ceil(log_m(T / A) / p) + 1: no cell is deeper, wherever contexts come."""
    return math.ceil(math.log(T / A, m) / p - 1e-12) + 1


def most_cells(T: float, A: float, p: float, m: float, d: int) -> list[int]:
    """H_l at most, level by level: a cell exists once its parent has had A m^(p (l - 1)) visits."""
    found = [1]
    for level in range(1, deepest_level(max(T, A), A, p, m) + 1):
        split = math.floor(T / (A * float(m ** (p * (level - 1)))))
        found.append(int(min(m ** (d * level), m**d * split)))
    return found


def draw_shortfall(sensitivity: float, epsilon: float, arms: int, best: int, t: float) -> float:
    """Theorem 1: (2 Delta u / epsilon) (ln(|R| / |R_OPT|) + t).

    The exponential mechanism draws an arm whose score is this much below the best score, or more,
    with a chance of at most e^-t. It is a theorem of McSherry and Talwar, and holds.

    Args:
        sensitivity: Delta u, the same unit as the scores.
        epsilon: nats of one draw.
        arms: |R|, arms that may be drawn.
        best: |R_OPT|, arms with the best score.
        t: minus the logarithm of the chance.
    """
    return 2 * sensitivity / epsilon * (math.log(arms / best) + t)


def suboptimal_regret(m: float, al: float, level: int, log_rounds: float) -> float:
    """Lemma 1: m^(2 al l) ln T + pi^2 / 3, regret of one own video in one cell of level l."""
    return exploration(m, al, level, log_rounds) + BASEL


def draw_regret_as_printed(spread: float, epsilon: float, K: int, T: float) -> float:
    """Lemma 3: (2 L m^(-al l) / epsilon) (ln K + ln T), regret of T draws in one cell. REFUTED.

    The proof bounds the loss of a draw by this much with a chance of 1 - 1/T, and then multiplies
    it with 1/T, the chance that it is larger, in each of T rounds. `draw_regret` is what follows.

    Args:
        spread: Delta u = L m^(-al l).
        epsilon: nats of one draw; inf for no noise.
        K: own videos.
        T: rounds.
    """
    return 2 * spread / epsilon * (math.log(K) + math.log(T))


def draw_regret(spread: float, epsilon: float, K: int, draws: float) -> float:
    """Lemma 3, corrected: draws times (2 L m^(-al l) / epsilon) (ln K + 1).

    By Theorem 1 the expected loss of one draw is at most the integral over t >= 0 of
    min(1, K e^-t), times 2 Delta u / epsilon: ln K + 1. It grows with the draws, not with ln T.
    """
    return draws * 2 * spread / epsilon * (math.log(K) + 1)


def neighbour_regret_as_printed(
    version: str, m: float, al: float, level: int, T: float, K: int, Gamma: float
) -> float:
    """Lemma 4: regret of one neighbour in one cell of level l, as each passage has it.

    statement  2 m^(2 al l) ln T + (Gamma / 4) m^(al l) + (pi^2 / 3) (1 + K / a) ln T
    proof      2 m^(2 al l) ln T + (Gamma / 4) m^(al l) ln Gamma + (pi^2 / 3) e^K (1 + K / a) ln T
    theorem 3  2 m^(2 al l) ln T + (Gamma / 4) m^(al l) + (pi^2 / 3) e^K (1 + (K / a) ln T)

    with a = m^(al l) ln T. Without noise Gamma is 0, and so is its term.
    """
    log_rounds = math.log(T)
    tried = 2 * exploration(m, al, level, log_rounds)
    noise = Gamma / 4 * float(m ** (al * level))
    ratio = K / (float(m ** (al * level)) * log_rounds)
    if version == "statement":
        return tried + noise + BASEL * (1 + ratio) * log_rounds
    if version == "proof":
        drowned = noise * math.log(Gamma) if Gamma > 0 else 0.0
        return tried + drowned + BASEL * _power_of_e(K) * (1 + ratio) * log_rounds
    if version == "theorem 3":
        return tried + noise + BASEL * _power_of_e(K) * (1 + ratio * log_rounds)
    raise ConfigError(f"Lemma 4 has no version {version!r}: statement, proof or theorem 3.")


def neighbour_regret(m: float, al: float, level: int, T: float, K: int, Gamma: float) -> float:
    """Lemma 4, corrected: (K + 1) m^(2 al l) ln T + (Gamma / 4) m^(al l) + (pi^2 / 3) K.

    Training takes K m^(2 al l) ln T visits, so that each of the neighbour's K videos is tried often
    enough, and exploration m^(2 al l) ln T + (Gamma / 4) m^(al l). Each of K estimates is then
    wrong with a chance of 2 / t^2. Presumed: the neighbour's cell is not split earlier than ours.
    """
    visits = (K + 1) * exploration(m, al, level, math.log(T))
    return visits + Gamma / 4 * float(m ** (al * level)) + BASEL * K


def suboptimal_gap(L: float, d: int, al: float) -> float:
    """B = 2 L sqrt(d)^al + 4: an arm is suboptimal in a cell where it is B m^(-al l) worse."""
    return 2 * L * float(math.sqrt(d) ** al) + 4


def near_optimal_regret(A: float, B: float, p: float, m: float, al: float, level: int) -> float:
    """Lemma 6: A B m^(l (p - al)), regret of near-optimal arms in one cell of level l."""
    return A * B * float(m ** (level * (p - al)))


@dataclass(frozen=True, kw_only=True)
class UniformWorld:
    """The symbols of Corollary 2 and Theorem 6, where contexts are uniform on the cube.

    Attributes:
        T: visits.
        A: contexts in the whole cube before it splits.
        p: growth of that number with the level.
        m: slices of each side of a cell that splits.
        al: alpha of the Hölder condition.
        d: features of a context.
        K: videos of each vendor.
        M: vendors.
        L: of the Hölder condition.
        epsilon: claimed for one draw; epsilon_0 of GP-DAP.
        Gamma: visits that a neighbour's noise costs.
    """

    T: float
    A: float
    p: float
    m: float
    al: float
    d: int
    K: int
    M: int
    L: float
    epsilon: float
    Gamma: float

    def finest_side(self, visits: float) -> float:
        """(visits / A)^(1 / (d + p)) m: slices per dimension at the deepest level."""
        return float((visits / self.A) ** (1 / (self.d + self.p))) * self.m


def uniform_regret_as_printed(world: UniformWorld) -> float:
    """Corollary 2: P-DAP's regret if contexts are uniform on the cube. REFUTED with Lemma 3.

    With x = (T / A)^(1 / (d + p)) m, the sum of
    x^(d + 2 al) ln T (K + M - 1),  x^(d + al) A B,  x^(d + p - al) Gamma / 4,
    x^d (pi^2 / 3) (K + (M - 1) e^K),
    x^(d - al) [(2 K L / epsilon) (ln K + ln T) + (pi^2 / 3) (M - 1) e^K ln T].
    The paper has T / 4 for T / A in the last term, which is read as a slip of the pen.
    """
    w = world
    d, al, p = w.d, w.al, w.p
    K, M = w.K, w.M
    x = w.finest_side(w.T)
    logs = math.log(w.T)
    wrong = (M - 1) * _power_of_e(K) if M > 1 else 0.0
    draws = 2 * K * w.L / w.epsilon * (math.log(K) + logs)
    return float(
        x ** (d + 2 * al) * logs * (K + M - 1)
        + x ** (d + al) * w.A * suboptimal_gap(w.L, d, al)
        + x ** (d + p - al) * w.Gamma / 4
        + x**d * BASEL * (K + wrong)
        + x ** (d - al) * (draws + BASEL * wrong * logs)
    )


def uniform_regret(world: UniformWorld) -> float:
    """Corollary 2, corrected: `neighbour_regret` and `draw_regret` in it, and AB with its exponent.

    Each sum over levels of m^(n l) up to l_max is at most m^(n l_max) / (1 - m^-n). With x as
    printed and s(n) = x^n / (1 - m^-n), the sum of
    s(d + 2 al) ln T (K + (M - 1) (K + 1)),  s(d + p - al) A [B + (2 L / epsilon) (ln K + 1)],
    s(d + al) (M - 1) Gamma / 4,  s(d) (pi^2 / 3) (K + (M - 1) K).
    """
    w = world
    d, al, p = w.d, w.al, w.p
    K, M = w.K, w.M
    x = w.finest_side(max(w.T, w.A))
    logs = math.log(w.T)

    def levels_sum(power: float) -> float:
        return float(x**power) / (1 - float(w.m**-power))

    visit = suboptimal_gap(w.L, d, al) + 2 * w.L / w.epsilon * (math.log(K) + 1)
    return (
        levels_sum(d + 2 * al) * logs * (K + (M - 1) * (K + 1))
        + levels_sum(d + p - al) * w.A * visit
        + levels_sum(d + al) * (M - 1) * w.Gamma / 4
        + levels_sum(d) * BASEL * (K + (M - 1) * K)
    )


def geometric_saving_as_printed(world: UniformWorld) -> float:
    """Theorem 6: by how much GP-DAP's regret is said to lie below P-DAP's. REFUTED.

    ((T / A)^al m^al - 1) (A1 (T / A)^((d - 2 al) / (d + p)) m^(d - 2 al)
                           + A2 (T / A)^((d - al) / (d + p)) m^(d - al))
    with A1 = 2 K ln T / epsilon_0 and A2 = Gamma at epsilon_0. For al = 1 it
    grows faster than T, and regret is at most T: it passes what it is subtracted from. The proof
    drops R(T) in its last step, and has (T / A)^al for x^al.
    """
    w = world
    d, al = w.d, w.al
    x = w.finest_side(w.T)
    ratio = float((w.T / w.A) ** al) * float(w.m**al) - 1
    first = 2 * w.K * math.log(w.T) / w.epsilon
    return float(ratio * (first * x ** (d - 2 * al) + w.Gamma * x ** (d - al)))


def _power_of_e(exponent: float) -> float:
    """e^exponent; inf where no float holds it, as for K = 1,000 videos."""
    return math.exp(exponent) if exponent < 700 else math.inf


def draw_exponent(epsilon: float, L: float, m: float, al: float, level: int) -> float:
    """Exponent a = epsilon / (2 Delta u): log-weight of a mean of 1 less that of a mean of 0."""
    return epsilon / (2 * spread(L, m, al, level))


def selection_loss(a: float, K: int) -> float:
    """Exact loss of ONE draw by the exponential mechanism if all K means can be anything in [0, 1].

    a + ln[(1 + (K - 1) e^a) / (e^a + K - 1)]: one video's mean falls from 1 to 0 and all others
    rise. a = epsilon / 2 with a spread of 1; `draw_exponent` as printed. Never above 2 a.
    """
    rest = (K - 1) * math.exp(-a)
    return a + math.log((math.exp(-a) + K - 1) / (1 + rest))


def mixed_loss(a: float, K: int, explore: float) -> float:
    """Exact loss, rounded up, of one draw that is uniform with the chance `explore`: s.

    Scores may be anything in two cells. The chance of an arm is largest where it alone has score 1
    and smallest where it alone has score 0: the loss is ln(p / q) with
    p = (1 - s) e^a / (e^a + K - 1) + s / K  and  q = (1 - s) / (1 + (K - 1) e^a) + s / K.
    """
    if K < 1 or not 0 <= explore < 1 or a < 0:
        raise ConfigError("A draw has an arm or more, explores with a chance below 1, and a >= 0.")
    if K == 1:
        return 0.0
    lower = math.exp(-a)
    likely = (1 - explore) / (1 + (K - 1) * lower) + explore / K
    unlikely = (1 - explore) * lower / (lower + K - 1) + explore / K
    return round_up(math.log(likely / unlikely), slack=1.0)


def exponent_for(epsilon: float, K: int, explore: float) -> float:
    """The largest a whose `mixed_loss` is at most epsilon, and 30 at most: exploring bounds it."""
    low, high = epsilon / 2, 30.0
    if mixed_loss(high, K, explore) <= epsilon:
        return high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if mixed_loss(middle, K, explore) <= epsilon else (low, middle)
    return low


def least_error(epsilon: float) -> float:
    """Any choice that is epsilon-private in the context that it is made for is wrong this often.

    Two contexts with different best videos: on one of them, the other is shown with a chance of at
    least 1 / (1 + e^epsilon).
    """
    return 1 / (1 + math.exp(epsilon))


def past_reward_loss(epsilon: float, width: float, choices: int) -> float:
    """Exact loss of one past reward in the choices that follow; contexts public, no neighbours.

    Two videos, each shown once; the first's reward is 1 or 0. Then `choices` draws in one cell, all
    later rewards being whatever tells the two cases apart best, the choices included.

    One draw compares means in [0, 1], the first of which moves by 1 / n after n visits. So, with
    a = epsilon / (2 Delta u), a video's log-odds stay in [-a, a] and move by a / n, and its
    log-chance moves most from -a up: at most as from -a to 0, by ln((1 + e^a) / 2). Each choice
    tells that much where the first video is never shown again and the second has rewards of 0.
    """
    a = epsilon / (2 * width)
    return choices * (a + math.log1p(math.exp(-a)) - math.log(2))
