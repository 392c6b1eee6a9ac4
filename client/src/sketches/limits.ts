/** The limits that an owner sets for all campaigns. */

import { MICRO, UNITS, type Unit } from "./messages.js";

/**
 * Limits of a device.
 *
 * Both limits in nats are for everything the owner rated, whatever unit a campaign states its epsilon
 * for. A report with 32 questions and epsilon 1 for one rating costs epsilon 32 for everything.
 */
export interface Limits {
  /** Most nats of one campaign, for everything the owner rated. */
  readonly epsilon: number;
  /** Most nats of all campaigns together, for everything the owner rated. */
  readonly lifetime: number;
  /** Units that a campaign's epsilon may protect. */
  readonly units: readonly Unit[];
  /** Whether to answer about pairs of rated items, which shows the recommender that they were rated. */
  readonly ratedPairs: boolean;
  /** Most such pairs in all. No epsilon counts what they show, so `lifetime` does not bound them. */
  readonly mostRatedPairs: number;
}

const DEFAULTS: Limits = {
  epsilon: 1,
  lifetime: 4,
  units: ["user"],
  ratedPairs: false,
  mostRatedPairs: 3,
};

/** Add the defaults of limits that were not chosen. RangeError for an invalid value. */
export function completeLimits(chosen: Partial<Limits>): Limits {
  const limits = { ...DEFAULTS, ...chosen };
  for (const name of ["epsilon", "lifetime"] as const) {
    // NaN would limit nothing, because no number is greater than it.
    const isAmount = typeof limits[name] === "number" && limits[name] >= 0;
    if (!isAmount) throw new RangeError(`the limit ${name} is a number of nats from 0 up`);
  }
  const areUnits = Array.isArray(limits.units) && limits.units.every((unit) => UNITS.includes(unit));
  if (!areUnits) throw new RangeError(`units is a list of ${UNITS.join(", ")}`);
  if (typeof limits.ratedPairs !== "boolean") throw new RangeError("ratedPairs is true or false");
  if (!Number.isInteger(limits.mostRatedPairs) || limits.mostRatedPairs < 0) {
    throw new RangeError("mostRatedPairs counts from 0 up");
  }
  return limits;
}

/** Convert a limit to whole millionths, the unit of a campaign's epsilon; infinity stays infinity. */
export function limitMicros(nats: number): number {
  return Number.isFinite(nats) ? Number(toMicros(nats)) : nats;
}

/**
 * Count the whole millionths in a finite number of nats, rounded down.
 *
 * A relative 1e-12 is added first, since a float may lie a little below the decimal that was meant.
 */
export function toMicros(nats: number): bigint {
  const { numerator, denominator } = exactFraction(nats);
  const trillion = 10n ** 12n;
  return (numerator * BigInt(MICRO) * (trillion + 1n)) / (denominator * trillion);
}

/** Write a number of 0 or more as an exact fraction. */
function exactFraction(value: number): { numerator: bigint; denominator: bigint } {
  let whole = value;
  let denominator = 1n;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    denominator *= 2n;
  }
  return { numerator: BigInt(whole), denominator };
}
