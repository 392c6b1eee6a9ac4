"""Exact noise in blocks: words, thresholds and acceptances first, statistics last."""

from __future__ import annotations

import hashlib
import sys
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import stats

from tacit.errors import ConfigError, MissingExtra
from tacit.mechanisms import blocks, samplers
from tacit.mechanisms.blocks import BlockTable, Kind

LAWS: list[tuple[Kind, float]] = [
    ("gaussian", 0.05),
    ("gaussian", 0.5),
    ("gaussian", 1.7),
    ("gaussian", 17.0),
    ("gaussian", 33.0),
    ("gaussian", 1000.5),
    ("gaussian", 2.0**40),
    ("gaussian", 2.0**48),
    ("laplace", 0.05),
    ("laplace", 1.7),
    ("laplace", 20.0),
    ("laplace", 1000.5),
    ("laplace", 2.0**20),
    ("laplace", 2.0**48),
]
LARGEST = (1 << 64) - 1


class Tape:
    """A source that gives written words in order and counts how many were asked for."""

    private = False

    def __init__(self, words: np.ndarray | list[int]) -> None:
        self.tape = np.asarray(words, dtype=np.uint64)
        self.used = 0
        self.requests: list[int] = []

    def words(self, count: int) -> np.ndarray:
        taken = self.tape[self.used : self.used + count]
        assert len(taken) == count, "the tape has no more words"
        self.used += count
        self.requests.append(count)
        return taken.copy()


def golden_tape(words: int) -> Tape:
    """Words of SHAKE-256, little-endian."""
    digest = hashlib.shake_256(b"tacit exact noise").digest(8 * words)
    return Tape(np.frombuffer(digest, dtype="<u8"))


def digest_of(noise: np.ndarray) -> str:
    return hashlib.sha256(noise.astype("<i8").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("kind", "scale", "first"),
    [
        (
            "gaussian",
            1.7,
            [-2, 2, 2, 1, 1, -3, 3, 0, 0, 3, -1, 0, 0, 0, -2, -1, 0, 0, 0, -1],
        ),
        (
            "gaussian",
            1000.5,
            [-1598, 1167, 1117, 594, 601, -1869, -218, 299, 318, 1689, -763, 337, 156, 382],
        ),
        (
            "gaussian",
            2.0**40,
            [-1783403786895, 1270063331393, 1231291753589, 659000107196, 673918954922],
        ),
        ("laplace", 1.7, [-3, 2, 2, 1, 0, -4, 5, 0, 0, 3, -1, 0, 0, 0, -3, -1, 0, 0, 0, 4]),
        (
            "laplace",
            1000.5,
            [-2172, 1374, 1338, 613, 563, -2778, -244, 278, 316, 2354, -823, 291, 184, 381],
        ),
    ],
)
def test_first_draws_from_golden_words(kind, scale, first):
    """Twenty draws from written words are the golden ones of two other implementations."""
    noise = blocks.draw_noise(blocks.block_table(kind, scale), 20, golden_tape(100))
    assert noise[: len(first)].tolist() == first


@pytest.mark.parametrize(
    ("kind", "scale", "draws", "words", "digest"),
    [
        ("gaussian", 1.7, 10_000, 12_212, "5baf0dea3de18ffa"),
        ("gaussian", 1000.5, 10_000, 20_234, "5feb6bc13f4f7bfe"),
        ("gaussian", 2.0**40, 10_000, 20_550, "5888888714eac00c"),
        ("laplace", 1.7, 10_000, 12_716, "980240d610824579"),
        ("laplace", 1000.5, 10_000, 20_622, "99141ec2f40aa2f2"),
        ("gaussian", 1.7, 40_000, 49_195, "f10e8115c2d0a303"),
        ("gaussian", 2.0**48, 1 << 20, 2_149_476, "e46b7d79f4d3e141"),
        ("laplace", 2.0**48, 1 << 20, 2_231_072, "c9f1eaf4f138eed3"),
    ],
)
def test_golden_streams(kind, scale, draws, words, digest):
    """Draws and the number of words used are golden, over chunks, ties and exact decisions."""
    tape = golden_tape(3 * draws)
    noise = blocks.draw_noise(blocks.block_table(kind, scale), draws, tape)
    assert (tape.used, digest_of(noise)) == (words, digest)


def test_bounds_of_exp_hold_and_are_tight():
    """Both bounds of exp(-x) hold and are at most 2 apart, for 500 random x and precisions."""
    generator = np.random.default_rng(5)
    mpmath.mp.prec = 2000
    for _ in range(500):
        x = Fraction(int(generator.integers(1, 1 << 60)), int(generator.integers(1, 1 << 58)))
        precision = int(generator.integers(1, 300))
        low, high = blocks.exp_minus(x, precision)
        exact = mpmath.mpf(2) ** precision * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        assert low <= exact <= high
        assert high - low <= 2
    low, high = blocks.exp_minus(Fraction(0), 64)
    assert low <= 1 << 64 <= high


def test_series_and_squares_round_outwards():
    """Series of few bits and squares are rounded outwards on both sides."""
    generator = np.random.default_rng(6)
    mpmath.mp.prec = 500
    for _ in range(500):
        bits = int(generator.integers(4, 40))
        denominator = int(generator.integers(2, 1 << 40))
        y = Fraction(int(generator.integers(0, denominator)), 2 * denominator)
        low, high = blocks.taylor_of_exp_minus(y, bits)
        exact = mpmath.mpf(2) ** bits * mpmath.exp(-mpmath.mpf(y.numerator) / y.denominator)
        assert low <= exact <= high
        number = int(generator.integers(0, 1 << bits))
        low, high = blocks.square_bounds(number, number, bits)
        assert low <= Fraction(number * number, 1 << bits) <= high
        assert high - low <= 1


def exact_cumulative(kind: Kind, scale: float) -> list[mpmath.mpf]:
    """P(B <= k) by mpmath, from the definition, until 1 - P is below 2^-200."""
    mpmath.mp.prec = 400
    table = blocks.block_table(kind, scale)
    size = mpmath.mpf(2) ** table.block_bits
    sigma = mpmath.mpf(scale)
    weights = []
    while not weights or weights[-1] > mpmath.mpf(2) ** -260:
        start = size * len(weights)
        h = start**2 / (2 * sigma**2) if kind == "gaussian" else start / sigma
        weights.append(mpmath.exp(-h))
    total = mpmath.fsum(weights)
    sums = []
    running = mpmath.mpf(0)
    for weight in weights:
        running += weight
        sums.append(running / total)
    return sums


@pytest.mark.parametrize(("kind", "scale"), LAWS)
@pytest.mark.parametrize("bits", [8, 16, 63, 127])
def test_thresholds_are_the_cumulative_probabilities(kind, scale, bits):
    """Each threshold is floor(2^bits P(B <= k)), by mpmath with 400 bits."""
    table = blocks.block_table(kind, scale)
    ours = blocks.thresholds(kind, table.rate, table.block_bits, bits, 65)
    exact = exact_cumulative(kind, scale)
    assert ours[-1] == (1 << bits) - 1
    assert len(ours) <= 1500
    for threshold, probability in zip(ours, exact, strict=False):
        assert threshold == min(int(mpmath.floor(probability * 2**bits)), (1 << bits) - 1)


@pytest.mark.parametrize(("kind", "scale"), LAWS)
def test_few_guard_bits_give_the_truth_or_nothing(kind, scale):
    """Weights of too few bits are noticed: certain thresholds equal those of more bits."""
    table = blocks.block_table(kind, scale)
    truth = table.thresholds.tolist()
    answers = [
        blocks.certain_thresholds(kind, table.rate, table.block_bits, 63, guard)
        for guard in range(1, 24)
    ]
    assert all(answer in (None, truth) for answer in answers)
    if len(truth) > 8:
        assert None in answers


@pytest.mark.parametrize(("kind", "scale"), LAWS)
def test_table_is_small_and_read_only(kind, scale):
    """A table has at most 700 rows; the guide agrees with a search in the thresholds."""
    table = blocks.block_table(kind, scale)
    assert 1 <= len(table.thresholds) <= 700
    assert not table.thresholds.flags.writeable
    assert not table.guide.flags.writeable
    thresholds = table.thresholds.tolist()
    assert all(low <= high for low, high in pairwise(thresholds))
    for cell in (0, 1, 17, 1000, 2047, 2048, 4094, 4095):
        first, last = cell << 51, ((cell + 1) << 51) - 1
        inside = [each for each in thresholds if first <= each <= last]
        below = sum(each < first for each in thresholds)
        assert table.guide[cell] == (blocks.SEARCH_NEEDED if inside else below)


def block_of(table: BlockTable, uniform: int, more: list[int]) -> tuple[int, int]:
    """The block that is drawn where the sign is + and U begins with `uniform`; words used."""
    within = [0] if table.block_bits else []
    tape = Tape([uniform << 1, *more, *within])
    candidate = blocks.draw_noise(table, 1, tape)
    return int(candidate[0]) >> table.block_bits, tape.used - len(within)


@pytest.mark.parametrize(("kind", "scale"), LAWS)
def test_edges_of_thresholds(kind, scale):
    """One below a threshold is its block, one above is the next; 512 away as well."""
    table = blocks.block_table(kind, scale)
    thresholds = table.thresholds.tolist()
    for index, threshold in enumerate(thresholds[:-1]):
        for away in (1, 512):
            below, above = threshold - away, threshold + away
            if below >= 0 and (index == 0 or below > thresholds[index - 1]):
                assert block_of(table, below, []) == (index, 1)
            if above < thresholds[index + 1]:
                assert block_of(table, above, []) == (index + 1, 1)


@pytest.mark.parametrize(("kind", "scale"), LAWS)
def test_ties_look_at_more_bits_of_the_same_number(kind, scale):
    """A tie reads a word: the neighbours of the threshold of 127 bits are decided by it, and that
    threshold itself by one more word."""
    table = blocks.block_table(kind, scale)
    finer = blocks.thresholds(kind, table.rate, table.block_bits, 127, 64)
    thresholds = table.thresholds.tolist()
    last = (1 << 63) - 1
    for index, threshold in enumerate(thresholds):
        if threshold == last or thresholds.count(threshold) > 1:
            continue
        word = finer[index] & LARGEST
        assert finer[index] >> 64 == threshold
        if word > 0:
            assert block_of(table, threshold, [word - 1]) == (index, 2)
        if word < LARGEST:
            assert block_of(table, threshold, [word + 1]) == (index + 1, 2)
        assert block_of(table, threshold, [word, 0]) == (index, 3)
        assert block_of(table, threshold, [word, LARGEST]) == (index + 1, 3)


def test_no_end_of_the_law_is_cut_off():
    """The last threshold is a tie: more bits reach blocks that the table does not list."""
    table = blocks.block_table("gaussian", 1000.5)
    last = (1 << 63) - 1
    block, words = block_of(table, last, [LARGEST, LARGEST - (1 << 40)])
    assert words == 3
    assert block >= len(table.thresholds)


def acceptance(table: BlockTable, block: int, offset: int, rest: int, more: list[int]) -> bool:
    """Whether the candidate 2^b block + offset is kept where U begins with `rest`."""
    rests = np.array([rest], dtype=np.uint64)
    decided = blocks.accept(table, np.array([block]), np.array([offset]), rests, Tape(more))
    return bool(decided[0])


def bounds_of_acceptance(table: BlockTable, block: int, offset: int) -> mpmath.mpf:
    """2^(64 - b) exp(-G), by mpmath with 400 bits."""
    mpmath.mp.prec = 400
    position = (block << table.block_bits) + offset
    start = block << table.block_bits
    rate = mpmath.mpf(table.rate.numerator) / table.rate.denominator
    power = 2 if table.kind == "gaussian" else 1
    exponent = rate * (mpmath.mpf(position) ** power - mpmath.mpf(start) ** power)
    return mpmath.mpf(2) ** (64 - table.block_bits) * mpmath.exp(-exponent)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [("gaussian", 20 * 2.0**43), ("gaussian", 17 * 2.0**43), ("laplace", 10 * 2.0**44)],
)
def test_all_words_of_acceptance(kind, scale):
    """With 20 bits left for U every word is decided as the exact probability says."""
    table = blocks.block_table(kind, scale)
    bits = 64 - table.block_bits
    assert bits <= 21
    largest_offset = (1 << table.block_bits) - 1
    for block in (0, 1, 5, 14):
        for offset in (1, largest_offset // 2, largest_offset):
            exact = bounds_of_acceptance(table, block, offset)
            boundary = int(mpmath.floor(exact))
            rests = np.arange(1 << bits, dtype=np.uint64)
            tape = Tape([0] * 2)
            same = np.full(len(rests), 1)
            kept = blocks.accept(table, block * same, offset * same, rests, tape)
            # U = boundary + a word of zeros is below the exact probability.
            assert kept.sum() == min(boundary + 1, 1 << bits)
            assert kept[: boundary + 1].all()


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("gaussian", 33.0),
        ("gaussian", 1000.5),
        ("gaussian", 2.0**40),
        ("laplace", 20.0),
        ("laplace", 1000.5),
        ("laplace", 2.0**40),
    ],
)
def test_acceptance_beside_its_boundary(kind, scale):
    """Words next to the boundary are decided exactly, for 300 random candidates."""
    table = blocks.block_table(kind, scale)
    generator = np.random.default_rng(7)
    bits = 64 - table.block_bits
    for _ in range(300):
        block = int(generator.integers(0, len(table.thresholds)))
        offset = int(generator.integers(0, 1 << table.block_bits))
        exact = bounds_of_acceptance(table, block, offset)
        boundary = int(mpmath.floor(exact))
        away = int(generator.integers(2, 1 << min(bits - 2, 40)))
        for rest in (boundary - away, boundary - 1, boundary + 1, boundary + away):
            if 0 <= rest < 1 << bits:
                assert acceptance(table, block, offset, rest, []) == (rest < boundary)
        if boundary < 1 << bits:
            assert acceptance(table, block, offset, boundary, [0])
            assert not acceptance(table, block, offset, boundary, [LARGEST])


@pytest.mark.parametrize("scale", [33.0, 1000.5, 2.0**40])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_floats_decide_nothing_that_integers_decide_otherwise(kind, scale, monkeypatch):
    """With every acceptance decided by integers the same words give the same draws."""
    table = blocks.block_table(kind, scale)
    usual = golden_tape(5_000)
    noise = blocks.draw_noise(table, 2_000, usual)
    monkeypatch.setattr(blocks, "FLOAT_MARGIN", 2.0)
    exact = golden_tape(5_000)
    assert blocks.draw_noise(table, 2_000, exact).tolist() == noise.tolist()
    assert exact.used == usual.used


def mirror(kind: Kind, scale: float, count: int, tape: Tape) -> list[int]:
    """Draw by the definition with numbers of 400 bits, one place after the other."""
    cumulative = exact_cumulative(kind, scale)
    table = blocks.block_table(kind, scale)
    noise = [0] * count
    places = list(range(count))
    while places:
        words = tape.words(len(places)).tolist()
        found = []
        for word in words:
            uniform = mpmath.mpf(word >> 1) / 2**63
            found.append(sum(probability <= uniform for probability in cumulative))
        within = tape.words(len(places)).tolist() if table.block_bits else [0] * len(places)
        again = []
        for place, word, block, second in zip(places, words, found, within, strict=True):
            bits = 64 - table.block_bits
            offset = second >> bits
            rest = second & ((1 << bits) - 1)
            kept = rest < bounds_of_acceptance(table, block, offset)
            magnitude = (block << table.block_bits) + offset
            negative = word & 1
            if not kept or (negative and magnitude == 0):
                again.append(place)
            else:
                noise[place] = -magnitude if negative else magnitude
        places = again
    return noise


@pytest.mark.parametrize(("kind", "scale"), LAWS)
def test_draws_are_those_of_the_definition(kind, scale):
    """The same words give what a scalar reference with 400 bits gives, sign by sign."""
    ours, theirs = golden_tape(900), golden_tape(900)
    noise = blocks.draw_noise(blocks.block_table(kind, scale), 200, ours)
    assert noise.tolist() == mirror(kind, scale, 200, theirs)
    assert ours.used == theirs.used


def test_sums_are_cut_off_at_the_ends_of_int64():
    """Sums beyond int64 become its ends; all others are exact."""
    generator = np.random.default_rng(1)
    ends = np.array([-(2**63), -(2**63) + 5, -1, 0, 1, 2**63 - 6, 2**63 - 1])
    values = generator.choice(ends, 2_000)
    noise = generator.integers(-(2**62), 2**62, 2_000) // generator.choice([1, 2**60], 2_000)
    exact = [int(value) + int(draw) for value, draw in zip(values, noise, strict=True)]
    clipped = [min(max(each, -(2**63)), 2**63 - 1) for each in exact]
    assert blocks.add_clipped(values, noise).tolist() == clipped
    assert blocks.add_clipped(values, noise.astype(object)).tolist() == clipped


def test_a_block_beyond_int64_is_exact(monkeypatch):
    """A block that int64 cannot hold becomes Python integers before its magnitude is formed."""
    table = blocks.block_table("gaussian", 2.0**48)
    monkeypatch.setattr(blocks, "finer_thresholds", lambda *_: range(1 << 20))
    last = (1 << 63) - 1
    noise = blocks.draw_noise(table, 1, Tape([last << 1, 5, 0]))
    assert noise.dtype == object
    assert noise.tolist() == [(1 << 20) << table.block_bits]
    assert blocks.add_clipped(np.array([-7]), noise).tolist() == [2**63 - 1]


def test_every_place_is_drawn_from_words_of_its_own():
    """A round asks for one word a place, two with blocks of several integers, and no others."""
    for scale, times in ((1.7, 1), (1000.5, 2)):
        tape = golden_tape(200)
        blocks.draw_noise(blocks.block_table("gaussian", scale), 30, tape)
        rounds = tape.requests[::times]
        assert tape.requests[:times] == [30] * times
        assert all(later < earlier for earlier, later in pairwise(rounds))
    nothing = Tape([])
    assert blocks.draw_noise(blocks.block_table("gaussian", 3.0), 0, nothing).shape == (0,)
    assert nothing.requests == []


def test_two_calls_share_no_draw():
    """Noise of the operating system differs between two calls (they agree by chance: 2^-900)."""
    values = np.zeros(100, dtype=np.int64)
    first = samplers.discrete_gaussian(values, 1e6)
    second = samplers.discrete_gaussian(values, 1e6)
    assert (first != second).any()


@pytest.mark.parametrize("draw", [samplers.discrete_gaussian, samplers.discrete_laplace])
def test_shapes_are_kept(draw):
    """0-dimensional, empty, strided and read-only arrays are answered in their shape."""
    strided = np.arange(24).reshape(4, 6)[::2, ::3]
    fixed = np.arange(5)
    fixed.setflags(write=False)
    for values in (np.array(3), np.zeros((0, 4), dtype=np.int64), strided, fixed):
        assert draw(values, 2.5).shape == values.shape
        assert draw(values, 2.5).dtype == np.int64


@pytest.mark.parametrize("draw", [samplers.discrete_gaussian, samplers.discrete_laplace])
def test_each_value_keeps_its_place(draw):
    """With noise that is 0 (other draws have a chance below e^-400) layouts do not permute."""
    values = np.arange(24).reshape(4, 6)
    layouts = [np.asfortranarray(values), values.T, values[::-1, ::-1], values[:, ::2], values * -7]
    for layout in layouts:
        assert draw(layout, 1e-3).tolist() == layout.tolist()


@pytest.mark.parametrize("draw", [samplers.discrete_gaussian, samplers.discrete_laplace])
def test_masked_cells_get_noise_too(draw):
    """A mask leaves no exact value (each stays by chance with probability below 1e-8)."""
    masked = np.ma.array([123456] * 3, mask=[False, True, True])
    assert not (np.asarray(draw(masked, 1e9)) == 123456).any()


@pytest.mark.parametrize(
    ("kind", "scale"),
    [("Gaussian", 5.0), ("gaussian", 0.0), ("laplace", -1.0), ("laplace", 2.0**49)],
)
def test_a_law_or_scale_that_is_none_is_refused(kind, scale):
    """Another spelling would be another law, and a negative scale would hang."""
    with pytest.raises(ConfigError, match=r"gaussian or laplace.*2\^48"):
        blocks.block_table(kind, scale)


@pytest.mark.parametrize("values", [np.array([0.5]), np.array([1], dtype=np.uint64)])
def test_values_that_int64_cannot_hold_are_refused(values):
    """Floats and uint64 would be rounded or wrapped."""
    with pytest.raises(TypeError):
        samplers.discrete_gaussian(values, 2.0)


@pytest.mark.parametrize("scale", [2.0**49, 2.0**60])
def test_beyond_the_largest_scale_the_reference_draws(scale):
    """Above 2^48 the noise is OpenDP's, of the scale that was asked for (false alarm 1e-9)."""
    noise = samplers.discrete_gaussian(np.zeros(400, dtype=np.int64), scale)
    assert 0.7 < np.sqrt((noise.astype(float) ** 2).mean()) / scale < 1.35


CHANCES = {
    ("gaussian", 0.5): (".786570707042", ".106450769423", ".000263865076415", "1.19794559360e-8"),
    ("gaussian", 1.0): (".398942278267", ".241970723224", ".0539909662243", ".00443184838823"),
    ("gaussian", 3.3): (".120891600122", ".115466517369", ".100608781811", ".0799715652254"),
    ("laplace", 0.5): (".761594155956", ".103070560808", ".0139490835403", ".00188780317181"),
    ("laplace", 1.0): (".462117157260", ".170003401569", ".0625407563663", ".0230074585025"),
    ("laplace", 3.3): (".150366263874", ".111057021207", ".0820241298917", ".0605811123995"),
}


def probabilities(kind: Kind, scale: float, largest: int) -> np.ndarray:
    """P(N = n) for n = -largest .. largest, from the definition."""
    n = np.abs(np.arange(-largest, largest + 1)).astype(float)
    weights = np.exp(-(n**2) / (2 * scale**2)) if kind == "gaussian" else np.exp(-n / scale)
    far = np.arange(int(60 * scale) + 60).astype(float)
    tail = np.exp(-(far**2) / (2 * scale**2)) if kind == "gaussian" else np.exp(-far / scale)
    return weights / (2 * tail.sum() - 1)


@pytest.mark.parametrize("law", list(CHANCES))
def test_frequencies_are_the_probabilities(law):
    """Chi-squared over single integers of a million draws (false alarm 1e-7 for each law)."""
    kind, scale = law
    expected = probabilities(kind, scale, 40)
    for n, chance in enumerate(CHANCES[law]):
        assert abs(expected[40 + n] / float(chance) - 1) < 1e-11
    count = 1_000_000
    draw = samplers.discrete_gaussian if kind == "gaussian" else samplers.discrete_laplace
    noise = draw(np.zeros(count, dtype=np.int64), scale)
    observed = np.bincount(np.clip(noise + 41, 0, 82), minlength=83)[1:82].astype(float)
    often = expected * count >= 20
    cells, means = observed[often], expected[often] * count
    rarest = means.argmin()
    # All other integers are counted with the rarest of these: a cell of a tiny mean alone would
    # raise the statistic too often.
    cells[rarest] += count - cells.sum()
    means[rarest] += count - means.sum()
    statistic = ((cells - means) ** 2 / means).sum()
    assert stats.chi2.sf(statistic, len(cells) - 1) > 1e-7


@pytest.mark.parametrize("scale", [2.0**20, 2.0**40, 2.0**47.5])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_large_scales_have_the_continuous_quantiles(kind, scale):
    """Quantiles and low bytes of 400,000 draws are uniform (false alarm 1e-7 for each)."""
    draw = samplers.discrete_gaussian if kind == "gaussian" else samplers.discrete_laplace
    noise = draw(np.zeros(400_000, dtype=np.int64), scale)
    law = stats.norm(scale=scale) if kind == "gaussian" else stats.laplace(scale=scale)
    counts = np.histogram(law.cdf(noise.astype(float)), bins=1_000, range=(0, 1))[0]
    assert stats.chisquare(counts).pvalue > 1e-7
    for shift in (0, 8):
        low_bytes = np.bincount((noise >> shift) & 255, minlength=256)
        assert stats.chisquare(low_bytes).pvalue > 1e-7


@pytest.mark.parametrize(("kind", "scale"), [("gaussian", 30.0), ("laplace", 5.0)])
def test_the_reference_has_the_same_law(kind, scale):
    """Two samples of 20,000, ours and OpenDP's, differ by chance alone (false alarm 1e-7)."""
    zeros = np.zeros(20_000, dtype=np.int64)
    if kind == "gaussian":
        ours = samplers.discrete_gaussian(zeros, scale)
        theirs = samplers.reference_gaussian(zeros, scale)
    else:
        ours = samplers.discrete_laplace(zeros, scale)
        theirs = samplers.reference_laplace(zeros, scale)
    edges = np.quantile(theirs, np.linspace(0, 1, 21)[1:-1])
    table = [np.bincount(np.searchsorted(edges, each), minlength=20) for each in (ours, theirs)]
    assert stats.chi2_contingency(np.array(table) + 1).pvalue > 1e-7


@pytest.mark.parametrize("draw", [samplers.discrete_laplace, samplers.discrete_gaussian])
def test_only_scales_above_the_blocks_need_opendp(draw, monkeypatch):
    """Without it, noise up to 2^48 steps is drawn, and above the message has the line to type."""
    monkeypatch.setitem(sys.modules, "opendp", None)
    samplers.load_opendp.cache_clear()
    zeros = np.zeros(3, dtype=np.int64)
    assert draw(zeros, 2.0**48).shape == (3,)
    with pytest.raises(MissingExtra, match=r"tacit-rec\[opendp\]"):
        draw(zeros, 1.001 * 2.0**48)
