/**
 * One account on one device: when it speaks, what it trusts, and what it keeps first.
 *
 * A device speaks once an epoch, at a moment that no rating moves, whether or not anything is new, and
 * sends all that it has shown so far. Where it may not decide more (another attribute value, a
 * disclosure that is not the log's), it does not fall silent, because silence tells: it sends what it
 * sent before and says so to its owner.
 *
 * Mirrors src/tacit/designs/standard_scheme/account.py.
 */

import type { Bytes } from "../bytes.js";
import { isSpellable, type ItemId } from "../items.js";
import type { Store } from "../memory.js";
import type { Secret } from "../randomness.js";
import { Refused } from "../refused.js";
import { Device, renamed, standing, type History, type Values } from "./device.js";
import { calendar, due, end, latestEnded, moment, running, type Reckoning } from "./epochs.js";
import { Release, type Disclosure } from "./messages.js";
import { refuseUnsafe } from "./refusing.js";
import { spelledItem, State, type LogEntry } from "./state.js";

/** What the service shows to everybody: its tables, and which tables counted in which epoch. */
export interface Published {
  readonly disclosure: Disclosure;
  readonly log: readonly LogEntry[];
}

/**
 * All present stars, each under the id that it was given for: a new name of an item is followed with
 * the next letter. An id that no message can hold is left out. entered: the second at which each item was first entered, where it is known.
 */
export interface Rated {
  readonly history: History;
  readonly entered: ReadonlyMap<ItemId, number>;
}

/** letter: null where none is due. silence: why nothing new was decided, for the owner. */
export interface Spoken {
  readonly letter: Bytes | null;
  readonly silence?: string;
}

/** release: null where there is nothing to say again. */
interface Said {
  readonly release: Release | null;
  readonly silence?: string;
}

const KEPT_AS = "state";

/** store: keeps the state durably under one key; tabs that share it take turns. */
export class Account {
  constructor(
    private readonly store: Store<Bytes>,
    private readonly secret: Secret,
  ) {}

  /** What is remembered; undefined before the account has begun. */
  async state(): Promise<State | undefined> {
    const kept = (await this.store.read()).get(KEPT_AS);
    return kept === undefined ? undefined : State.decode(kept);
  }

  /** Begin with this state, unless the account has begun. */
  begin(state: State): Promise<void> {
    return this.store.turn(async () => {
      if ((await this.state()) === undefined) await this.keep(state);
    });
  }

  /** Another memory of this account exists: nothing is decided any more. */
  close(): Promise<void> {
    return this.store.turn(async () => {
      const state = await this.state();
      if (state === undefined) return;
      state.closed = true;
      await this.keep(state);
    });
  }

  /**
   * Before a letter that is due: where the service has one of an epoch that this memory knows nothing
   * of, another memory exists. That goes on, and this one is silent. latest: asks the service for its
   * latest epoch of this account, -1 for none; called when a letter is due, and at no other time.
   */
  checkLatest(disclosure: Disclosure, now: number, latest: () => Promise<number>): Promise<void> {
    return this.store.turn(async () => {
      const state = await this.state();
      if (state === undefined || state.closed) return;
      const reckoning = reckoningOf(state, disclosure);
      if ((await due(state.lastEpoch, now, reckoning, this.secret)) === undefined) return;
      if ((await latest()) <= state.lastEpoch) return;
      state.closed = true;
      state.letter = null;
      await this.keep(state);
    });
  }

  /** The second from which on the next letter may leave: it may have passed. */
  async next(now: number, disclosure: Disclosure): Promise<number | undefined> {
    const state = await this.state();
    if (state === undefined) return undefined;
    const reckoning = reckoningOf(state, disclosure);
    const ended = latestEnded(now, reckoning);
    const waits = ended !== undefined && ended > state.lastEpoch;
    return moment(waits ? ended : running(now, reckoning), reckoning, this.secret);
  }

  /**
   * The letter that is due, kept before it is returned. Asked again in the same epoch, it returns the
   * same bytes. Stars off the scale are not decided.
   */
  speak(published: Published, values: Values, rated: Rated, now: number): Promise<Spoken> {
    return this.store.turn(async () => {
      const state = await this.state();
      if (state === undefined) return { letter: null };
      const asked = await readied(state, published, rated, now);
      note(state, asked, now);
      const spoken = await this.due(state, asked, { ...published, values, now });
      await this.keep(state);
      return spoken;
    });
  }

  private async due(state: State, asked: Readied, turn: Published & Now): Promise<Spoken> {
    const { reckoning } = asked;
    if (latestEnded(turn.now, reckoning) === state.lastEpoch) return { letter: state.letter };
    const epoch = await due(state.lastEpoch, turn.now, reckoning, this.secret);
    if (epoch === undefined) return { letter: null };
    const over = end(epoch, reckoning);
    const { release, ...silence } = await this.said(state, asked, { ...turn, epoch, over });
    if (release !== null || state.closed) state.lastEpoch = epoch;
    if (release === null) return { letter: null, ...silence };
    state.letter = release.encode();
    state.spoken = epoch;
    return { letter: state.letter, ...silence };
  }

  /** What would be said if the running epoch ended now. Nothing of it is kept. */
  async draft(published: Published, values: Values, rated: Rated, now: number): Promise<Said> {
    const state = (await this.state()) ?? new State({ created: now });
    const asked = await readied(state, published, rated, now);
    const epoch = running(now, asked.reckoning);
    return this.said(state, asked, { ...published, values, now, epoch, over: Infinity });
  }

  private async said(state: State, asked: Readied, turn: Turn): Promise<Said> {
    const { disclosure, values, epoch, over } = turn;
    if (asked.distrust !== undefined) {
      return { release: again(state, asked, epoch), silence: `Nothing new is decided: ${asked.distrust}.` };
    }
    state.epochLength = asked.reckoning.length;
    const named = follow(state, asked.history, disclosure);
    const arrived = (item: ItemId) => (state.arrivals.get(item) ?? -1) < over;
    const ended = new Map([...named].filter(([item]) => arrived(item)));
    try {
      const device = await Device.of(disclosure, values, state, this.secret);
      const off = device.offScale(ended);
      for (const item of off) ended.delete(item);
      return { release: await device.release(ended, epoch), ...skipped(off) };
    } catch (error) {
      const mute = state.closed && state.letter === null;
      const silence = `Nothing new is decided${mute ? " or sent" : ""}: ${refusal(error)}.`;
      return { release: mute ? null : await standing(state, disclosure, epoch), silence };
    }
  }

  private keep(state: State): Promise<void> {
    return this.store.write(new Map([[KEPT_AS, state.encode()]]));
  }
}

/** Ratings under the names that are followed. distrust: why the disclosure is not, in anything. */
interface Readied extends Rated {
  readonly reckoning: Reckoning;
  readonly distrust?: string;
}

interface Now {
  readonly values: Values;
  readonly now: number;
}

/** over: the second before which items were entered that are decided. */
interface Turn extends Published, Now {
  readonly epoch: number;
  readonly over: number;
}

async function readied(
  state: State,
  published: Published,
  rated: Rated,
  now: number,
): Promise<Readied> {
  const { disclosure } = published;
  const reckoning = reckoningOf(state, disclosure);
  const known = new Map([...rated.history].filter(([item]) => isSpellable(item)));
  const [history, entered] = [renamed(known, state), renamed(rated.entered, state)];
  try {
    state.log = await checked(published, state.log, calendar(now, reckoning.length));
    refuseUnsafe(disclosure);
    state.checkNames(disclosure.aliases);
  } catch (error) {
    return { history, entered, reckoning, distrust: refusal(error) };
  }
  return { history, entered, reckoning };
}

/** The calendar of the first disclosure that was followed. */
export function reckoningOf({ created, epochLength }: State, disclosure: Disclosure): Reckoning {
  return { created, length: epochLength || disclosure.epochLength };
}

/**
 * The ratings under new names. Deletions count under the names of the last letter, before names are
 * merged: a deleted item does not come back because it is merged with a rated one. Where a rating
 * stands under a new name already, its old name was not deleted.
 */
function follow(state: State, history: History, disclosure: Disclosure): Map<ItemId, number> {
  const { aliases } = disclosure;
  const anew = aliases.filter(([, now]) => history.has(now) && state.undecided(now));
  state.withdraw(new Set([...history.keys(), ...anew.map(([old]) => old)]));
  state.follow(aliases);
  return renamed(history, disclosure);
}

/** What the owner hears of stars off the scale. */
function skipped(items: readonly ItemId[]): { silence?: string } {
  const listed = items.map(spelledItem).join(", ");
  return listed === "" ? {} : { silence: `Not decided, because the stars lie off the scale: ${listed}.` };
}

/** When each undecided item arrived; what was deleted before it was decided is forgotten. */
function note(state: State, { history, entered }: Rated, now: number): void {
  const earlier = new Map(state.arrivals);
  state.arrivals.clear();
  for (const item of history.keys()) {
    if (!state.undecided(item)) continue;
    state.arrivals.set(item, Math.min(earlier.get(item) ?? now, entered.get(item) ?? now));
  }
}

/** The last letter's set, less what its owner deleted, for the disclosure of that letter. */
function again(state: State, { history }: Rated, epoch: number): Release | null {
  state.withdraw(history);
  if (state.letter === null) return null;
  const last = Release.decode(state.letter);
  const shown = state.shown();
  return new Release(last.disclosure, epoch, last.ratings.filter(([item]) => shown.has(item)));
}

/**
 * The log, if it may be followed in this calendar epoch; Refused otherwise.
 *
 * It goes on from what was seen, holds one digest an epoch at most, and the latest one up to now is
 * the disclosure's.
 */
async function checked(
  { disclosure, log }: Published,
  seen: readonly LogEntry[],
  epoch: number,
): Promise<readonly LogEntry[]> {
  const same = seen.every(([number, digest], at) => log[at]?.[0] === number && log[at]?.[1] === digest);
  if (!same) throw new Refused("the service's log of disclosures is not the one it showed before");
  if (log.some(([number], at) => at > 0 && number <= (log[at - 1]?.[0] as number))) {
    throw new Refused("the service's log has two disclosures in one epoch");
  }
  const counting = log.filter(([number]) => number <= epoch).at(-1);
  if (counting?.[1] !== (await disclosure.digest())) {
    throw new Refused("the service shows a disclosure that its log does not have for this epoch");
  }
  return log;
}

/** Why nothing new is decided; any other error goes on. */
function refusal(error: unknown): string {
  if (error instanceof Refused) return error.message;
  throw error;
}
