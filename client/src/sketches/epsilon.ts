/** Whether a chance keeps its epsilon, decided to 70 digits in integers. */

const SCALE = 1n << 256n;

/** 2 atanh(numerator / denominator) times SCALE, for arguments of at most 1/3. */
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

/** The natural logarithm of a ratio of at least 1, times SCALE. */
function logarithm(numerator: bigint, denominator: bigint): bigint {
  let halvings = 0n;
  while (numerator >= 2n * denominator) {
    denominator *= 2n;
    halvings += 1n;
  }
  return halvings * doubleAtanh(1n, 3n) + doubleAtanh(numerator - denominator, numerator + denominator);
}

/** bits * ln(truth / lie) * 1,000,000 <= epsilon: what so many bits cost is what was stated. */
export function keepsEpsilon(bits: number, truth: bigint, lie: bigint, epsilon: number): boolean {
  return BigInt(bits) * logarithm(truth, lie) * 1_000_000n <= BigInt(epsilon) * SCALE;
}
