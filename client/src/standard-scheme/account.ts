/**
 * One account on one device: when it sends a letter, what the letter holds, and what is stored first.
 *
 * A device sends one letter in each epoch, at a time that no rating changes, whether or not anything
 * is new. A letter holds all that the device has shown so far. The device decides items on the
 * account's first day, and later only until a letter shows an item: letters that grew would reveal in
 * which order items were rated. If it may not decide more (another attribute value, a disclosure that
 * the log does not have), it repeats the last letter, because a missing letter would reveal that, and
 * tells its owner. Before the first letter nothing is sent while the device may not decide.
 *
 * Mirrors src/tacit/designs/standard_scheme/account.py.
 */

import type { Bytes } from "../bytes.js";
import { isWritableId, type ItemId } from "../items.js";
import type { Store } from "../stores.js";
import type { Secret } from "../randomness.js";
import { Refusal } from "../refusal.js";
import { Device, findOwnRows, renameRatings, releaseShown, type History, type Values } from "./device.js";
import {
  calendarEpoch,
  dueEpoch,
  epochEnd,
  latestEndedEpoch,
  sendingTime,
  runningEpoch,
  type EpochCalendar,
} from "./epochs.js";
import { Release, type Alias, type Disclosure } from "./messages.js";
import { refuseUnsafe } from "./unsafe-disclosures.js";
import { itemJson, State, type LogEntry } from "./state.js";

/** The service's public tables. */
export interface Published {
  readonly disclosure: Disclosure;
  /** Which disclosure was followed in which epoch. */
  readonly log: readonly LogEntry[];
}

/** The ratings of a person. Ids that no message can hold are ignored. */
export interface PersonRatings {
  /** The present stars, by the ids under which they were given; a letter renames ids by the aliases. */
  readonly history: History;
  /** The second at which each item was first rated, if it is known. */
  readonly entered: ReadonlyMap<ItemId, number>;
}

/** The result of `makeLetter`. */
export interface LetterOutcome {
  /** The letter's bytes; null if none is due, or none may be sent. */
  readonly letter: Bytes | null;
  /** What the owner should know: why nothing new, or not every item, was decided. */
  readonly notice?: string;
}

/** The result of `draft`. */
interface DraftOutcome {
  /** Null if there is nothing to send. */
  readonly release: Release | null;
  /** What the owner should know: why nothing new, or not every item, is decided. */
  readonly notice?: string;
}

const STATE_KEY = "state";

/** One account. Its store holds the state under one key; tabs that share it take turns. */
export class Account {
  constructor(
    private readonly store: Store<Bytes>,
    private readonly secret: Secret,
  ) {}

  /** Read the stored state; undefined before the account has started. */
  async readState(): Promise<State | undefined> {
    const bytes = (await this.store.read()).get(STATE_KEY);
    return bytes === undefined ? undefined : State.decode(bytes);
  }

  /** Start with this state, unless the account has started. */
  start(state: State): Promise<void> {
    return this.store.runExclusively(async () => {
      if ((await this.readState()) === undefined) await this.storeState(state);
    });
  }

  /** Decide no item from now on, because another memory of this account exists. */
  close(): Promise<void> {
    return this.store.runExclusively(async () => {
      const state = await this.readState();
      if (state === undefined) return;
      state.closed = true;
      await this.storeState(state);
    });
  }

  /**
   * Close the account if the service has a letter of a later epoch than this memory. Then another
   * memory of the account exists, and goes on instead of this one.
   *
   * @param askLatest asks the service for the epoch of its latest letter, -1 for none. It is called
   *   when a letter is due that may be sent, and at no other time.
   */
  checkLatest(
    published: Published,
    values: Values,
    now: number,
    askLatest: () => Promise<number>,
  ): Promise<void> {
    return this.store.runExclusively(async () => {
      const state = await this.readState();
      if (state === undefined || state.closed) return;
      const calendar = calendarOf(state, published.disclosure);
      if ((await dueEpoch(state.lastEpoch, now, calendar, this.secret)) === undefined) return;
      const isAllowed = await maySend(state, published, values, now);
      // The list of values is stored before the first request with the key, which may fail. Otherwise a
      // service that lists other values at the next attempt could read the owner's value from the attempts.
      await this.storeState(state);
      if (!isAllowed) return;
      if ((await askLatest()) <= state.lastEpoch) return;
      state.closed = true;
      state.letter = null;
      await this.storeState(state);
    });
  }

  /**
   * Say whether the account sends letters as things are now: it sent one before, or may decide the first
   * one under this disclosure. Nothing is stored.
   */
  async sendsLetters(published: Published, values: Values, now: number): Promise<boolean> {
    const state = await this.readState();
    return state !== undefined && maySend(state, published, values, now);
  }

  /** Return the second from which on the next letter may leave, which may have passed. */
  async nextSendingTime(now: number, disclosure: Disclosure): Promise<number | undefined> {
    const state = await this.readState();
    if (state === undefined) return undefined;
    const calendar = calendarOf(state, disclosure);
    const endedEpoch = latestEndedEpoch(now, calendar);
    const isWaiting = endedEpoch !== undefined && endedEpoch > state.lastEpoch;
    return sendingTime(isWaiting ? endedEpoch : runningEpoch(now, calendar), calendar, this.secret);
  }

  /**
   * Make the letter that is due, and store it before it is returned. Later calls in the same epoch
   * return the same bytes. Stars off the scale are not decided.
   */
  makeLetter(
    published: Published,
    values: Values,
    ratings: PersonRatings,
    now: number,
  ): Promise<LetterOutcome> {
    return this.store.runExclusively(async () => {
      const state = await this.readState();
      if (state === undefined) return { letter: null };
      const prepared = await prepareRatings(state, published, ratings, now);
      noteArrivals(state, prepared, published.disclosure, now);
      const outcome = await this.makeDueLetter(state, prepared, { ...published, values, now });
      await this.storeState(state);
      return outcome;
    });
  }

  /** Return the letter of the latest ended epoch: the stored one, a new one if it is due, or null. */
  private async makeDueLetter(
    state: State,
    prepared: PreparedRatings,
    inputs: Published & LetterInputs,
  ): Promise<LetterOutcome> {
    const { calendar } = prepared;
    if (latestEndedEpoch(inputs.now, calendar) === state.lastEpoch) return { letter: state.letter };
    const epoch = await dueEpoch(state.lastEpoch, inputs.now, calendar, this.secret);
    if (epoch === undefined) return { letter: null };
    const enteredBefore = epochEnd(epoch, calendar);
    const { release, ...notice } = await this.composeRelease(state, prepared, {
      ...inputs,
      epoch,
      enteredBefore,
    });
    // If the disclosure is refused before the first letter, the letter of this epoch stays due.
    const staysDue = release === null && prepared.refusalReason !== undefined && !state.closed;
    if (!staysDue) state.lastEpoch = epoch;
    if (release === null) return { letter: null, ...notice };
    state.letter = release.encode();
    state.lastLetterEpoch = epoch;
    return { letter: state.letter, ...notice };
  }

  /** Make the release as it would be if the running epoch ended now, and store nothing of it. */
  async draft(
    published: Published,
    values: Values,
    ratings: PersonRatings,
    now: number,
  ): Promise<DraftOutcome> {
    const state = (await this.readState()) ?? new State({ created: now });
    const prepared = await prepareRatings(state, published, ratings, now);
    const epoch = runningEpoch(now, prepared.calendar);
    return this.composeRelease(state, prepared, {
      ...published,
      values,
      now,
      epoch,
      enteredBefore: Infinity,
    });
  }

  /** Decide the items that may be decided, change the state, and make a release of what is shown. */
  private async composeRelease(
    state: State,
    prepared: PreparedRatings,
    inputs: ReleaseInputs,
  ): Promise<DraftOutcome> {
    const { disclosure, values, epoch, enteredBefore } = inputs;
    if (prepared.refusalReason !== undefined) {
      return {
        release: repeatLastLetter(state, prepared, epoch),
        notice: `Nothing new is decided: ${prepared.refusalReason}.`,
      };
    }
    state.epochLength = prepared.calendar.length;
    const renamedRatings = followNames(state, prepared, disclosure);
    const hasArrived = (item: ItemId) => (state.arrivals.get(item) ?? -1) < enteredBefore;
    const decidable = new Map([...renamedRatings].filter(([item]) => hasArrived(item)));
    try {
      const device = await Device.create(disclosure, values, state, this.secret);
      const offScale = device.offScale(decidable, epoch);
      for (const item of offScale) decidable.delete(item);
      return { release: await device.release(decidable, epoch), ...describeSkipped(offScale) };
    } catch (error) {
      // An account that never sent a letter goes on sending none.
      const sendsNothing = state.letter === null && (state.closed || state.lastLetterEpoch < 0);
      const notice = `Nothing new is decided${sendsNothing ? " or sent" : ""}: ${reasonOf(error)}.`;
      const release = sendsNothing ? null : await releaseShown(state, disclosure, epoch);
      return { release, notice };
    }
  }

  private storeState(state: State): Promise<void> {
    return this.store.write(new Map([[STATE_KEY, state.encode()]]));
  }
}

/** Ratings, renamed by the aliases that the account follows. */
interface PreparedRatings extends PersonRatings {
  /** Ids of the ratings that count, before they are renamed. */
  readonly given: readonly ItemId[];
  readonly calendar: EpochCalendar;
  /** Why the disclosure is not followed; undefined if it is. */
  readonly refusalReason?: string;
}

/** The owner's values, and the second at which a letter is made. */
interface LetterInputs {
  readonly values: Values;
  readonly now: number;
}

/** All that one release is made from, apart from the ratings and the state. */
interface ReleaseInputs extends Published, LetterInputs {
  /** The epoch whose letter is made. */
  readonly epoch: number;
  /** Items entered before this second are decided. */
  readonly enteredBefore: number;
}

/**
 * Choose the ratings that count, rename them, and check the disclosure and its log. The state takes
 * the checked log, and forgets merged ids whose ratings are gone.
 */
async function prepareRatings(
  state: State,
  published: Published,
  ratings: PersonRatings,
  now: number,
): Promise<PreparedRatings> {
  const { disclosure } = published;
  const calendar = calendarOf(state, disclosure);
  for (const item of state.merged) if (!ratings.history.has(item)) state.merged.delete(item);
  const counted = new Map(
    [...ratings.history].filter(([item]) => isWritableId(item) && !state.merged.has(item)),
  );
  const given = [...counted.keys()];
  const history = renameRatings(counted, state);
  const entered = renameRatings(ratings.entered, state);
  const refusalReason = await findRefusal(state, published, now);
  if (refusalReason !== undefined) return { given, history, entered, calendar, refusalReason };
  return { given, history, entered, calendar };
}

/**
 * Find out why the disclosure is not followed; undefined if it is. The state takes the log if it may be
 * followed.
 */
async function findRefusal(
  state: State,
  published: Published,
  now: number,
): Promise<string | undefined> {
  const { disclosure } = published;
  const { length } = calendarOf(state, disclosure);
  try {
    state.log = await checkLog(published, state.log, calendarEpoch(now, length));
    refuseUnsafe(disclosure);
    state.checkNames(disclosure.aliases);
  } catch (error) {
    return reasonOf(error);
  }
  return undefined;
}

/**
 * Say whether the account sends letters: it sent one before, or may decide the first one.
 *
 * Otherwise no request may name the account either. A service that lists other attribute values later
 * could read the owner's value from the first letter or the first such request.
 */
async function maySend(
  state: State,
  published: Published,
  values: Values,
  now: number,
): Promise<boolean> {
  if (state.letter !== null || state.lastLetterEpoch >= 0) return true;
  if ((await findRefusal(state, published, now)) !== undefined) return false;
  try {
    await findOwnRows(published.disclosure, values, state);
  } catch (error) {
    reasonOf(error);
    return false;
  }
  return true;
}

/** Return the account's calendar: that of the first disclosure that it followed. */
export function calendarOf({ created, epochLength }: State, disclosure: Disclosure): EpochCalendar {
  return { created, length: epochLength || disclosure.epochLength };
}

/**
 * Rename ratings and records by the disclosure's aliases.
 *
 * Deletions are noted under the names of the last letter, before items are merged. So a deleted item
 * does not come back when it is merged with a rated one, and a shown item whose rating was deleted
 * does not stay because another item that it is merged with is rated.
 */
function followNames(
  state: State,
  { given, history }: PreparedRatings,
  disclosure: Disclosure,
): Map<ItemId, number> {
  const { aliases } = disclosure;
  const renamed = renamedByOwner(state, history, disclosure).map(([old]) => old);
  state.markWithdrawn(new Set([...history.keys(), ...renamed]));
  state.setMergedAside(given, aliases);
  state.followNames(aliases);
  return renameRatings(history, disclosure);
}

/**
 * Find the shown items whose ratings the owner's program moved to the new id already: the old id left
 * the ratings after the last letter, and the new one was never seen before. A new id that was rated
 * before is another rating, whose existence no letter reveals.
 */
function renamedByOwner(
  state: State,
  history: History,
  { aliases }: Pick<Disclosure, "aliases">,
): Alias[] {
  const shown = state.shownLevels();
  return aliases.filter(
    ([oldId, newId]) =>
      shown.has(oldId) &&
      !history.has(oldId) &&
      history.has(newId) &&
      state.isUndecided(newId) &&
      !state.arrivals.has(newId),
  );
}

/** Write the notice about items with stars off the scale; none without such items. */
function describeSkipped(items: readonly ItemId[]): { notice?: string } {
  if (items.length === 0) return {};
  const itemList = items.map(itemJson).join(", ");
  return { notice: `Not decided, because the stars lie off the scale: ${itemList}.` };
}

/** Note when each undecided item arrived, and forget items that were deleted before a decision. */
function noteArrivals(
  state: State,
  { history, entered }: PersonRatings,
  disclosure: Disclosure,
  now: number,
): void {
  const renamed = new Set(renamedByOwner(state, history, disclosure).map(([, newId]) => newId));
  const earlierArrivals = new Map(state.arrivals);
  state.arrivals.clear();
  for (const item of history.keys()) {
    if (!state.isUndecided(item) || renamed.has(item)) continue;
    state.arrivals.set(item, Math.min(earlierArrivals.get(item) ?? now, entered.get(item) ?? now));
  }
}

/** Repeat the last letter without items that its owner deleted since; null before the first one. */
function repeatLastLetter(state: State, { history }: PersonRatings, epoch: number): Release | null {
  state.markWithdrawn(history);
  if (state.letter === null) return null;
  const lastLetter = Release.decode(state.letter);
  const shown = state.shownLevels();
  return new Release(
    lastLetter.disclosure,
    epoch,
    lastLetter.ratings.filter(([item]) => shown.has(item)),
  );
}

/**
 * Check that the service's log may be followed in this calendar epoch; Refusal otherwise.
 *
 * It has to begin with the entries that were seen before, and to have at most one digest for each
 * epoch; the latest one up to now has to be the disclosure's.
 */
async function checkLog(
  { disclosure, log }: Published,
  seenLog: readonly LogEntry[],
  epoch: number,
): Promise<readonly LogEntry[]> {
  const hasSeenEntries = seenLog.every(
    ([number, digest], index) => log[index]?.[0] === number && log[index]?.[1] === digest,
  );
  if (!hasSeenEntries)
    throw new Refusal("the service's log of disclosures is not the one it showed before");
  if (log.some(([number], index) => index > 0 && number <= (log[index - 1]?.[0] as number))) {
    throw new Refusal("the service's log has two disclosures in one epoch");
  }
  const current = log.filter(([number]) => number <= epoch).at(-1);
  if (current?.[1] !== (await disclosure.digest())) {
    throw new Refusal("the service shows a disclosure that its log does not have for this epoch");
  }
  return log;
}

/** Return the message of a Refusal; any other error is thrown again. */
function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  throw error;
}
