/**
 * When a device speaks: pure functions of the time, in whole seconds UTC.
 *
 * An account's first epochs end 30 minutes and 24 hours after its creation; a device speaks as soon
 * as they have ended. From then on the calendar counts: epoch k ends where k + 1 starts, and the
 * device speaks at a moment of the day after that, drawn from the account's secret. Nothing else
 * makes a device speak: no rating, no count of ratings, no button.
 *
 * Labels: 0 and 1 for the first two epochs, afterwards the calendar's number k, which is above 1 at
 * any time after January 1970. Mirrors src/tacit/designs/standard_scheme/drawing.py.
 */

import { word } from "../bytes.js";
import { hmac, type Secret } from "../randomness.js";
import { content, encode } from "./canonical.js";
import { rootOf } from "./drawing.js";
import { DAY } from "./messages.js";

/** Seconds from the creation of an account to the end of epoch 0; epoch 1 ends after a DAY. */
const FIRST_END = 1_800;
/** 1970-01-05, 00:00 UTC. */
const MONDAY = 345_600;

/** What the epochs of an account are reckoned from, in seconds. */
export interface Reckoning {
  readonly created: number;
  readonly length: number;
}

/** The number of the calendar epoch that this second lies in. */
export function calendar(time: number, length: number): number {
  return Math.floor((time - MONDAY) / length);
}

/** The first second after the epoch with this label. */
export function end(epoch: number, { created, length }: Reckoning): number {
  if (epoch < 2) return created + (epoch === 1 ? DAY : FIRST_END);
  return start(epoch + 1, length);
}

/** The label of the account's latest epoch that has ended; undefined before the first end. */
export function latestEnded(now: number, { created, length }: Reckoning): number | undefined {
  const ended = calendar(now, length) - 1;
  if (ended > 1 && start(ended + 1, length) > created + DAY) return ended;
  if (now >= created + DAY) return 1;
  return now >= created + FIRST_END ? 0 : undefined;
}

/** The label of the epoch that ends after all that have ended. */
export function running(now: number, { created, length }: Reckoning): number {
  if (now < created + FIRST_END) return 0;
  return now < created + DAY ? 1 : calendar(now, length);
}

/** The second from which on the letter of this epoch may leave. */
export async function moment(epoch: number, reckoning: Reckoning, secret: Secret): Promise<number> {
  const over = end(epoch, reckoning);
  if (epoch < 2) return over;
  const drawn = word(await hmac(await rootOf(secret), encode(content({ epoch }))));
  return over + Number((drawn * BigInt(DAY)) >> 64n);
}

/** The epoch whose letter may leave now, after that of `lastEpoch`; undefined where none may. */
export async function due(
  lastEpoch: number,
  now: number,
  reckoning: Reckoning,
  secret: Secret,
): Promise<number | undefined> {
  const epoch = latestEnded(now, reckoning);
  if (epoch === undefined || epoch <= lastEpoch) return undefined;
  return now < (await moment(epoch, reckoning, secret)) ? undefined : epoch;
}

function start(epoch: number, length: number): number {
  return MONDAY + epoch * length;
}
