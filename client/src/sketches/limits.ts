/** What the owner allows, whatever a campaign says. */

import { MICRO, UNITS, type Unit } from "./messages.js";

/**
 * epsilon: nats for one campaign. lifetime: nats for all campaigns together. units: what epsilon may
 * be stated for. ratedPairs: whether to ask about pairs of items that were rated, which tells the
 * recommender that they were. mostRatedPairs: how many such pairs to name in all; they cost what no
 * epsilon counts, so `lifetime` does not bound them.
 */
export interface Limits {
  readonly epsilon: number;
  readonly lifetime: number;
  readonly units: readonly Unit[];
  readonly ratedPairs: boolean;
  readonly mostRatedPairs: number;
}

const DEFAULTS: Limits = {
  epsilon: 1,
  lifetime: 4,
  units: ["user"],
  ratedPairs: false,
  mostRatedPairs: 3,
};

/** The wanted limits, the rest as usual. RangeError for what would be no limit by mistake. */
export function completeLimits(chosen: Partial<Limits>): Limits {
  const limits = { ...DEFAULTS, ...chosen };
  for (const name of ["epsilon", "lifetime"] as const) {
    // A limit that is not a number would refuse nothing: no number is above it.
    const fits = typeof limits[name] === "number" && limits[name] >= 0;
    if (!fits) throw new RangeError(`the limit ${name} is a number of nats from 0 up`);
  }
  const named = Array.isArray(limits.units) && limits.units.every((unit) => UNITS.includes(unit));
  if (!named) throw new RangeError(`units is a list of ${UNITS.join(", ")}`);
  if (typeof limits.ratedPairs !== "boolean") throw new RangeError("ratedPairs is true or false");
  if (!Number.isInteger(limits.mostRatedPairs) || limits.mostRatedPairs < 0) {
    throw new RangeError("mostRatedPairs counts from 0 up");
  }
  return limits;
}

/** A limit in whole millionths, as campaigns state theirs; infinity stays so. */
export function limitMicros(nats: number): number {
  return Number.isFinite(nats) ? Number(toMicros(nats)) : nats;
}

/** Whole millionths in a finite number of nats, rounded down; 1e-12 of it is float error. */
export function toMicros(nats: number): bigint {
  const { numerator, denominator } = exactFraction(nats);
  const trillion = 10n ** 12n;
  return (numerator * BigInt(MICRO) * (trillion + 1n)) / (denominator * trillion);
}

/** The exact value of a number from 0 up. */
function exactFraction(value: number): { numerator: bigint; denominator: bigint } {
  let whole = value;
  let denominator = 1n;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    denominator *= 2n;
  }
  return { numerator: BigInt(whole), denominator };
}
