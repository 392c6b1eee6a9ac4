/**
 * The times at which a device sends letters: pure functions of the time in whole seconds UTC.
 *
 * An account's first epochs end 30 minutes and 24 hours after its creation; a device sends their
 * letters as soon as they have ended. Later epochs are those of the calendar: epoch k ends where
 * k + 1 starts, and the letter is sent within a day after that, at a time that is drawn from the
 * account's secret. Nothing else makes a device send a letter: no rating, no number of ratings, no
 * button.
 *
 * Labels: 0 and 1 for the first two epochs, afterwards the calendar's number k, which is above 1 at
 * any time after January 1970. Mirrors src/tacit/designs/standard_scheme/drawing.py.
 */

import { firstWord } from "../bytes.js";
import { hmac, type Secret } from "../randomness.js";
import { sortedFields, encode } from "./canonical.js";
import { rootKey } from "./drawing.js";
import { DAY } from "./messages.js";

/** Seconds from the creation of an account to the end of epoch 0. Epoch 1 ends after a DAY. */
const FIRST_END = 1_800;
/** Label of the epoch that ends a DAY after the creation of an account. */
export const LAST_EPOCH_OF_FIRST_DAY = 1;
/** The first Monday after 1970-01-01, at 00:00 UTC: start of the calendar's epoch 0. */
const MONDAY = 345_600;

/** What the epochs of an account are computed from, in seconds. */
export interface EpochCalendar {
  /** Time of the account's creation. */
  readonly created: number;
  /** Length of the calendar's epochs. */
  readonly length: number;
}

/** Return the number of the calendar epoch that this second lies in. */
export function calendarEpoch(time: number, length: number): number {
  return Math.floor((time - MONDAY) / length);
}

/** Return the first second after the epoch with this label. */
export function epochEnd(epoch: number, { created, length }: EpochCalendar): number {
  if (epoch < 2) return created + (epoch === 1 ? DAY : FIRST_END);
  return epochStart(epoch + 1, length);
}

/** Return the label of the account's latest epoch that has ended; undefined before the first end. */
export function latestEndedEpoch(
  now: number,
  { created, length }: EpochCalendar,
): number | undefined {
  const ended = calendarEpoch(now, length) - 1;
  if (ended > 1 && epochStart(ended + 1, length) > created + DAY) return ended;
  if (now >= created + DAY) return 1;
  return now >= created + FIRST_END ? 0 : undefined;
}

/** Return the label of the epoch that lasts now. */
export function runningEpoch(now: number, { created, length }: EpochCalendar): number {
  if (now < created + FIRST_END) return 0;
  return now < created + DAY ? 1 : calendarEpoch(now, length);
}

/** Compute the second from which on the letter of this epoch may leave. */
export async function sendingTime(
  epoch: number,
  calendar: EpochCalendar,
  secret: Secret,
): Promise<number> {
  const end = epochEnd(epoch, calendar);
  if (epoch < 2) return end;
  const drawnWord = firstWord(await hmac(await rootKey(secret), encode(sortedFields({ epoch }))));
  const delay = (drawnWord * BigInt(DAY)) >> 64n; // uniform from 0 to below a day
  return end + Number(delay);
}

/** Find the latest epoch that has ended, if its letter may leave now and `lastEpoch` is before it. */
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

/** Return the first second of a calendar epoch. */
function epochStart(epoch: number, length: number): number {
  return MONDAY + epoch * length;
}
