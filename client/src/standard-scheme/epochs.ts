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

import { firstWord } from "../bytes.js";
import { hmac, type Secret } from "../randomness.js";
import { sortedFields, encode } from "./canonical.js";
import { rootKey } from "./drawing.js";
import { DAY } from "./messages.js";

/** Seconds from the creation of an account to the end of epoch 0; epoch 1 ends after a DAY. */
const FIRST_END = 1_800;
/** Label of the epoch that ends a DAY after the creation of an account. */
export const LAST_EPOCH_OF_FIRST_DAY = 1;
/** 1970-01-05, 00:00 UTC. */
const MONDAY = 345_600;

/** What the epochs of an account are reckoned from, in seconds. */
export interface EpochCalendar {
  readonly created: number;
  readonly length: number;
}

/** The number of the calendar epoch that this second lies in. */
export function calendarEpoch(time: number, length: number): number {
  return Math.floor((time - MONDAY) / length);
}

/** The first second after the epoch with this label. */
export function epochEnd(epoch: number, { created, length }: EpochCalendar): number {
  if (epoch < 2) return created + (epoch === 1 ? DAY : FIRST_END);
  return epochStart(epoch + 1, length);
}

/** The label of the account's latest epoch that has ended; undefined before the first end. */
export function latestEndedEpoch(
  now: number,
  { created, length }: EpochCalendar,
): number | undefined {
  const ended = calendarEpoch(now, length) - 1;
  if (ended > 1 && epochStart(ended + 1, length) > created + DAY) return ended;
  if (now >= created + DAY) return 1;
  return now >= created + FIRST_END ? 0 : undefined;
}

/** The label of the epoch that ends after all that have ended. */
export function runningEpoch(now: number, { created, length }: EpochCalendar): number {
  if (now < created + FIRST_END) return 0;
  return now < created + DAY ? 1 : calendarEpoch(now, length);
}

/** The second from which on the letter of this epoch may leave. */
export async function sendingTime(
  epoch: number,
  calendar: EpochCalendar,
  secret: Secret,
): Promise<number> {
  const ended = epochEnd(epoch, calendar);
  if (epoch < 2) return ended;
  const drawn = firstWord(await hmac(await rootKey(secret), encode(sortedFields({ epoch }))));
  return ended + Number((drawn * BigInt(DAY)) >> 64n);
}

/** The epoch whose letter may leave now, after that of `lastEpoch`; undefined where none may. */
export async function dueEpoch(
  lastEpoch: number,
  now: number,
  calendar: EpochCalendar,
  secret: Secret,
): Promise<number | undefined> {
  const epoch = latestEndedEpoch(now, calendar);
  if (epoch === undefined || epoch <= lastEpoch) return undefined;
  return now < (await sendingTime(epoch, calendar, secret)) ? undefined : epoch;
}

function epochStart(epoch: number, length: number): number {
  return MONDAY + epoch * length;
}
