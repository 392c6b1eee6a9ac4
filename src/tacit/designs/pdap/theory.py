"""The paper's formulas, as printed and corrected, and exact losses. All functions are pure.

Notation   T rounds, t the present round, K videos of a vendor, M vendors, d features, m slices of a
           side at a split, l level of a cell. al (alpha) and L are the numbers of the Hölder
           condition. A cell splits after A m^(p l) contexts. G1, G2 and G3 are control functions,
           which say how often an arm is tried (`policies/controls.py`). Logarithms are natural,
           except in the depth log2(T) of a tree.
Source     Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
           recommendation with multimedia big data in social networks (2015), numbered as there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.accounting.rounding import round_up
from tacit.errors import ConfigError

BASEL = math.pi**2 / 3
"""Twice the sum over rounds t of 1 / t^2, pi^2 / 3. It bounds the expected number of wrong choices:
in round t, an arm is estimated too high with a chance of at most 1 / t^2, and the best arm too low
with a chance of at most 1 / t^2."""


def exploration(m: float, al: float, level: int, log_rounds: float) -> float:
    """Compute m^(2 al l) log_rounds: for how many visits in a cell each video is explored.

    Args:
        m: slices of a side at a split.
        al: alpha.
        level: l of the cell.
        log_rounds: ln T, which gives G1, or ln t, which gives the corrected G3.
    """
    return float(m ** (2 * al * level)) * log_rounds


def gamma(T: int, M: int, epsilon: float, sigma: float) -> float:
    """Compute Gamma, which the noise in a sum of rewards exceeds with chance sigma at most.

    Lemma 5: Gamma = th log2(T)^2 ln(th T log2(T) / sigma) / epsilon with th = M - 1. It is 0
    without neighbours and at epsilon = inf.
    """
    th = M - 1
    depth = math.log2(T)
    if th == 0:
        return 0.0
    return th * depth**2 * math.log(th * T * depth / sigma) / epsilon


def neighbour_exploration(
    m: float, al: float, level: int, log_rounds: float, Gamma: float
) -> float:
    """Compute G2: for how many visits in a cell each neighbour is explored.

    G2 = m^(2 al l) ln t + (Gamma / 4) m^(al l), where the second term is due to noise. `log_rounds`
    is ln t.
    """
    return exploration(m, al, level, log_rounds) + Gamma / 4 * float(m ** (al * level))


def spread(L: float, m: float, al: float, level: int) -> float:
    """Compute Delta u as printed, L m^(-al l): how much a mean varies in a cell of level l."""
    return L * float(m ** (-al * level))


def epsilon_at(epsilon: float, m: float, al: float, level: int, geometric: bool) -> float:
    """Compute the epsilon that is claimed in a cell of level l.

    It is epsilon m^(al l) if `geometric`, as in GP-DAP; otherwise it is epsilon in all cells.
    """
    return epsilon * float(m ** (al * level)) if geometric else epsilon


def levels(T: int) -> int:
    """Count the levels of a binary tree over T rewards: floor(log2 T) + 1.

    A reward is in at most one node of each level.
    """
    return T.bit_length()


def noise_scale(reading: str, T: int, M: int, K: int, epsilon: float) -> float:
    """Compute the scale of the Laplace noise on each node of a tree, in one reading of the paper.

    tree        (floor(log2 T) + 1) / epsilon: the binary mechanism; a reward enters ONE tree
    theorem 5   (M - 1) (floor(log2 T) + 1) / epsilon: the budget is divided among M - 1 trees
    lemma 5     (M - 1) log2(T) / epsilon
    text        K log2(T) / epsilon
    line 9      1 / epsilon: the noise is on each reward, not on nodes

    Args:
        reading: one of these names.
        T: number of rewards in the tree.
        M: number of vendors; a vendor without neighbours (M = 1) is treated as if it had one.
        K: number of videos of a vendor.
        epsilon: nats that the paper claims for one reward.
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
    """Compute the exact privacy loss, in nats, of one reward in a tree of sums of T rewards.

    Args:
        T: number of rewards.
        scale: of the Laplace noise on each node.
    """
    return levels(T) / scale


def deepest_level(T: float, A: float, p: float, m: float) -> int:
    """Compute l_max = ceil(log_m(T / A) / p) + 1: no cell is deeper, for any contexts. Lemma 7.

    T must be at least A; with fewer rounds the whole cube does not split.
    """
    # The subtraction keeps rounding from lifting a whole number to the next one.
    return math.ceil(math.log(T / A, m) / p - 1e-12) + 1


def most_cells(T: float, A: float, p: float, m: float, d: int) -> list[int]:
    """Bound H_l, the number of cells of each level l = 0 .. l_max.

    The cube has room for m^(d l) cells of level l. Also, T visits can split at most
    T / (A m^(p (l - 1))) cells of level l - 1, each into m^d cells of level l. H_l is at most the
    smaller of the two numbers of cells.
    """
    bounds = [1]
    for level in range(1, deepest_level(max(T, A), A, p, m) + 1):
        parents_split = math.floor(T / (A * float(m ** (p * (level - 1)))))
        bounds.append(int(min(m ** (d * level), m**d * parents_split)))
    return bounds


def draw_shortfall(sensitivity: float, epsilon: float, arms: int, best: int, t: float) -> float:
    """Compute (2 Delta u / epsilon) (ln(|R| / |R_OPT|) + t). Theorem 1.

    The exponential mechanism draws an arm whose score is this much below the best score, or more,
    with a chance of at most e^-t. This is a theorem of McSherry and Talwar, and holds. Here t is
    not a round.

    Args:
        sensitivity: Delta u, in the unit of the scores.
        epsilon: nats of one draw.
        arms: |R|, number of arms that may be drawn.
        best: |R_OPT|, number of arms with the best score.
        t: minus the logarithm of the chance.
    """
    return 2 * sensitivity / epsilon * (math.log(arms / best) + t)


def suboptimal_regret(m: float, al: float, level: int, log_rounds: float) -> float:
    """Bound the regret of one own video in one cell: m^(2 al l) ln T + pi^2 / 3. Lemma 1."""
    return exploration(m, al, level, log_rounds) + BASEL


def draw_regret_as_printed(spread: float, epsilon: float, K: int, T: float) -> float:
    """Compute the regret of T draws in one cell that Lemma 3 claims. REFUTED.

    The claim is (2 L m^(-al l) / epsilon) (ln K + ln T). With a chance of 1 - 1/T the loss of one
    draw is at most this number. The proof multiplies this number by 1/T, the chance of a larger
    loss, in each of T rounds. `draw_regret` has the correct bound.

    Args:
        spread: Delta u = L m^(-al l).
        epsilon: nats of one draw; inf without noise.
        K: number of own videos.
        T: number of rounds.
    """
    return 2 * spread / epsilon * (math.log(K) + math.log(T))


def draw_regret(spread: float, epsilon: float, K: int, draws: float) -> float:
    """Bound the regret of N draws in one cell: N (2 L m^(-al l) / epsilon) (ln K + 1).

    This is Lemma 3, corrected. By Theorem 1 the expected loss of one draw is at most
    2 Delta u / epsilon times the integral over x >= 0 of min(1, K e^-x), which is ln K + 1. So the
    regret grows with the number of draws, not with ln T. `draws` is N; the other args are those of
    `draw_regret_as_printed`.
    """
    return draws * 2 * spread / epsilon * (math.log(K) + 1)


def neighbour_regret_as_printed(
    version: str, m: float, al: float, level: int, T: float, K: int, Gamma: float
) -> float:
    """Compute the regret of one neighbour in one cell that one version of Lemma 4 claims.

    statement  2 m^(2 al l) ln T + (Gamma / 4) m^(al l) + (pi^2 / 3) (1 + K / a) ln T
    proof      2 m^(2 al l) ln T + (Gamma / 4) m^(al l) ln Gamma + (pi^2 / 3) e^K (1 + K / a) ln T
    theorem 3  2 m^(2 al l) ln T + (Gamma / 4) m^(al l) + (pi^2 / 3) e^K (1 + (K / a) ln T)

    with a = m^(al l) ln T, and Gamma as `gamma` computes it. Without noise, Gamma and its term are
    0.

    Raises:
        ConfigError: There is no such version.
    """
    log_rounds = math.log(T)
    visits = 2 * exploration(m, al, level, log_rounds)
    noise_term = Gamma / 4 * float(m ** (al * level))
    K_over_a = K / (float(m ** (al * level)) * log_rounds)
    if version == "statement":
        return visits + noise_term + BASEL * (1 + K_over_a) * log_rounds
    if version == "proof":
        noise_term_of_proof = noise_term * math.log(Gamma) if Gamma > 0 else 0.0
        return visits + noise_term_of_proof + BASEL * _power_of_e(K) * (1 + K_over_a) * log_rounds
    if version == "theorem 3":
        return visits + noise_term + BASEL * _power_of_e(K) * (1 + K_over_a * log_rounds)
    raise ConfigError(f"A version of Lemma 4 is statement, proof or theorem 3; got {version!r}.")


def neighbour_regret(m: float, al: float, level: int, T: float, K: int, Gamma: float) -> float:
    """Bound the regret of one neighbour in one cell. Lemma 4, corrected.

    The bound is (K + 1) m^(2 al l) ln T + (Gamma / 4) m^(al l) + (pi^2 / 3) K. Training takes
    K m^(2 al l) ln T visits, so that each of the neighbour's K videos is tried often enough.
    Exploration takes m^(2 al l) ln T + (Gamma / 4) m^(al l) visits. Each of K estimates is then
    wrong in round t with a chance of at most 2 / t^2. It is assumed that the neighbour's cell does
    not split earlier than the vendor's own cell.
    """
    visits = (K + 1) * exploration(m, al, level, math.log(T))
    return visits + Gamma / 4 * float(m ** (al * level)) + BASEL * K


def suboptimal_gap(L: float, d: int, al: float) -> float:
    """Compute B = 2 L sqrt(d)^al + 4.

    An arm is suboptimal in a cell of level l if its mean is more than B m^(-al l) below the best.
    """
    return 2 * L * float(math.sqrt(d) ** al) + 4


def near_optimal_regret(A: float, B: float, p: float, m: float, al: float, level: int) -> float:
    """Bound the regret of near-optimal arms in one cell: A B m^(l (p - al)). Lemma 6."""
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
        Gamma: bound on a neighbour's noise; see `gamma`.
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
        """Compute x = (visits / A)^(1 / (d + p)) m: slices of each feature at the deepest level."""
        return float((visits / self.A) ** (1 / (self.d + self.p))) * self.m


def uniform_regret_as_printed(world: UniformWorld) -> float:
    """Compute P-DAP's regret under uniform contexts that Corollary 2 claims. REFUTED with Lemma 3.

    With x = (T / A)^(1 / (d + p)) m and B of `suboptimal_gap`, the claim is the sum of
    x^(d + 2 al) ln T (K + M - 1),  x^(d + al) A B,  x^(d + p - al) Gamma / 4,
    x^d (pi^2 / 3) (K + (M - 1) e^K),
    x^(d - al) [(2 K L / epsilon) (ln K + ln T) + (pi^2 / 3) (M - 1) e^K ln T].
    The paper has T / 4 for T / A in the last term, which is read as a misprint.
    """
    w = world
    d, al, p = w.d, w.al, w.p
    K, M = w.K, w.M
    x = w.finest_side(w.T)
    log_T = math.log(w.T)
    neighbour_factor = (M - 1) * _power_of_e(K) if M > 1 else 0.0
    draw_term = 2 * K * w.L / w.epsilon * (math.log(K) + log_T)
    return float(
        x ** (d + 2 * al) * log_T * (K + M - 1)
        + x ** (d + al) * w.A * suboptimal_gap(w.L, d, al)
        + x ** (d + p - al) * w.Gamma / 4
        + x**d * BASEL * (K + neighbour_factor)
        + x ** (d - al) * (draw_term + BASEL * neighbour_factor * log_T)
    )


def uniform_regret(world: UniformWorld) -> float:
    """Bound P-DAP's regret under uniform contexts. Corollary 2, corrected.

    It uses `neighbour_regret` and `draw_regret`, and the exponent d + p - al for A B. Each sum over
    levels of m^(n l) up to l_max is at most m^(n l_max) / (1 - m^-n). With
    x = (max(T, A) / A)^(1 / (d + p)) m and s(n) = x^n / (1 - m^-n), the bound is the sum of
    s(d + 2 al) ln T (K + (M - 1) (K + 1)),  s(d + p - al) A [B + (2 L / epsilon) (ln K + 1)],
    s(d + al) (M - 1) Gamma / 4,  s(d) (pi^2 / 3) (K + (M - 1) K).
    """
    w = world
    d, al, p = w.d, w.al, w.p
    K, M = w.K, w.M
    x = w.finest_side(max(w.T, w.A))
    log_T = math.log(w.T)

    def s(n: float) -> float:
        return float(x**n) / (1 - float(w.m**-n))

    regret_of_visit = suboptimal_gap(w.L, d, al) + 2 * w.L / w.epsilon * (math.log(K) + 1)
    return (
        s(d + 2 * al) * log_T * (K + (M - 1) * (K + 1))
        + s(d + p - al) * w.A * regret_of_visit
        + s(d + al) * (M - 1) * w.Gamma / 4
        + s(d) * BASEL * (K + (M - 1) * K)
    )


def geometric_saving_as_printed(world: UniformWorld) -> float:
    """Compute by how much GP-DAP's regret is below P-DAP's, as Theorem 6 claims. REFUTED.

    The claim is ((T / A)^al m^al - 1) (A1 (T / A)^((d - 2 al) / (d + p)) m^(d - 2 al)
                                        + A2 (T / A)^((d - al) / (d + p)) m^(d - al))
    with A1 = 2 K ln T / epsilon_0 and A2 = Gamma at epsilon_0. For al = 1 this grows faster than T,
    but P-DAP's regret is at most T, so no more can be saved. The proof drops R(T) in its last step,
    and has (T / A)^al for x^al, with x of `UniformWorld.finest_side`.
    """
    w = world
    d, al = w.d, w.al
    x = w.finest_side(w.T)
    factor = float((w.T / w.A) ** al) * float(w.m**al) - 1
    A1 = 2 * w.K * math.log(w.T) / w.epsilon
    return float(factor * (A1 * x ** (d - 2 * al) + w.Gamma * x ** (d - al)))


LARGEST_EXPONENT = 700
"""Above this x, e^x is near the largest float."""


def _power_of_e(exponent: float) -> float:
    """Compute e^exponent; inf where a float would overflow, as for K = 1,000 videos."""
    return math.exp(exponent) if exponent < LARGEST_EXPONENT else math.inf


def draw_exponent(epsilon: float, L: float, m: float, al: float, level: int) -> float:
    """Compute the exponent a = epsilon / (2 Delta u) of a draw in a cell of level l.

    A video of mean 1 has e^a times the weight of a video of mean 0.
    """
    return epsilon / (2 * spread(L, m, al, level))


def selection_loss(a: float, K: int) -> float:
    """Compute the exact loss of ONE draw by the exponential mechanism with exponent a.

    All K means can be anything in [0, 1]. In the worst case one video's mean falls from 1 to 0 and
    all others rise from 0 to 1. Then the loss is a + ln[(1 + (K - 1) e^a) / (e^a + K - 1)], at most
    2 a.

    Args:
        a: epsilon / 2 if Delta u is 1; the paper's is `draw_exponent`.
        K: number of videos.
    """
    # Numerator and denominator are multiplied by e^-a, so that nothing overflows.
    others = (K - 1) * math.exp(-a)
    return a + math.log((math.exp(-a) + K - 1) / (1 + others))


def mixed_loss(a: float, K: int, explore: float) -> float:
    """Compute the exact loss, rounded up, of one draw that is uniform with probability `explore`.

    The scores of two cells may be anything in [0, 1]. The chance of an arm is largest if it alone
    has score 1 and smallest if it alone has score 0. With s = explore, the loss is ln(p / q),
    p = (1 - s) e^a / (e^a + K - 1) + s / K  and  q = (1 - s) / (1 + (K - 1) e^a) + s / K.

    Args:
        a: exponent: an arm of score 1 has e^a times the weight of an arm of score 0.
        K: number of arms.
        explore: probability of a uniform draw.

    Raises:
        ConfigError: K is below 1, a is negative, or `explore` is not in [0, 1).
    """
    if K < 1 or not 0 <= explore < 1 or a < 0:
        raise ConfigError(
            "A draw has at least one arm, explores with a chance below 1, and has an exponent >= 0."
        )
    if K == 1:
        return 0.0
    # Both fractions are multiplied by e^-a, so that nothing overflows.
    e_to_minus_a = math.exp(-a)
    p = (1 - explore) / (1 + (K - 1) * e_to_minus_a) + explore / K
    q = (1 - explore) * e_to_minus_a / (e_to_minus_a + K - 1) + explore / K
    return round_up(math.log(p / q), slack=1.0)


MOST_EXPONENT = 30.0
"""Largest exponent of a draw; the best arm then has e^30 times the weight of the worst."""


def exponent_for(epsilon: float, K: int, explore: float) -> float:
    """Find the largest a, up to MOST_EXPONENT, whose `mixed_loss` is at most epsilon.

    The limit is needed because uniform draws may keep the loss below epsilon for every a.
    """
    low = epsilon / 2
    high = MOST_EXPONENT
    if mixed_loss(high, K, explore) <= epsilon:
        return high
    while True:  # halve the interval until no float lies between its ends
        middle = (low + high) / 2
        if not low < middle < high:
            return low
        if mixed_loss(middle, K, explore) <= epsilon:
            low = middle
        else:
            high = middle


def least_error(epsilon: float) -> float:
    """Compute 1 / (1 + e^epsilon), the least chance of an error in a choice between two videos.

    Take two contexts with different best videos. If the choice is epsilon-differentially private in
    its own context, then in one of the contexts the wrong video is shown with this chance or more.
    """
    return 1 / (1 + math.exp(epsilon))


def past_reward_loss(epsilon: float, width: float, choices: int) -> float:
    """Compute the exact loss of one past reward in the choices that follow.

    Contexts are public and there are no neighbours. Two videos, V and W, were each shown once. V's
    reward was 1 in one case and 0 in the other case. Then `choices` draws follow in one cell. The
    loss is that of the later rewards and choices that distinguish the two cases best.

    With a = epsilon / (2 Delta u), V's log-odds in a draw are a (mean of V - mean of W). In the
    worst case W is drawn every time and has rewards of 0. Then the log-odds of V are a in one case
    and 0 in the other, so W is drawn with the chance 1 / (1 + e^a) in one and 1 / 2 in the other.
    Each draw loses the logarithm of their ratio, ln((1 + e^a) / 2).

    Args:
        epsilon: nats of one draw, as claimed.
        width: Delta u.
        choices: number of draws.
    """
    a = epsilon / (2 * width)
    return choices * (a + math.log1p(math.exp(-a)) - math.log(2))
