/** The cost of a chance of the truth, in integers: logarithms are computed to 70 digits. */

/** Logarithms are integers in units of 1 / SCALE. */
const SCALE = 1n << 256n;

/**
 * Compute 2 atanh(x) times SCALE for x = numerator / denominator of at most 1/3, by its series
 * 2 (x + x^3 / 3 + x^5 / 5 + ...).
 */
function doubleAtanh(numerator: bigint, denominator: bigint): bigint {
  let power = (numerator * SCALE) / denominator;
  const square = (numerator * numerator * SCALE) / (denominator * denominator);
  let sum = 0n;
  for (let odd = 1n; power !== 0n; odd += 2n) {
    sum += power / odd;
    power = (power * square) / SCALE;
  }
  return 2n * sum;
}

/**
 * Compute the natural logarithm of a ratio of at least 1, times SCALE: the ratio is halved until it
 * is below 2, ln 2 = 2 atanh(1/3), and ln(a / b) = 2 atanh((a - b) / (a + b)).
 */
function logarithm(numerator: bigint, denominator: bigint): bigint {
  let halvings = 0n;
  while (numerator >= 2n * denominator) {
    denominator *= 2n;
    halvings += 1n;
  }
  return halvings * doubleAtanh(1n, 3n) + doubleAtanh(numerator - denominator, numerator + denominator);
}

/**
 * Say whether bits * ln(truth / lie) <= epsilon, which is stated in millionths.
 *
 * truth, lie: chances that a bit is sent as it is, and flipped, in the same unit.
 */
export function keepsEpsilon(bits: number, truth: bigint, lie: bigint, epsilon: number): boolean {
  return BigInt(bits) * logarithm(truth, lie) * 1_000_000n <= BigInt(epsilon) * SCALE;
}

/** Compute bits * ln(truth / lie) in millionths, rounded up; truth and lie as in `keepsEpsilon`. */
export function lossMicros(bits: number, truth: bigint, lie: bigint): number {
  const scaled = BigInt(bits) * logarithm(truth, lie) * 1_000_000n;
  return Number((scaled + SCALE - 1n) / SCALE);
}
