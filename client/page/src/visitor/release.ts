/** The account that letters are sent under: begun, spoken for by the calendar, and answered. */

import { hex, type Bytes } from "../../../src/bytes.js";
import type { ItemId } from "../../../src/items.js";
import { BrowserStore } from "../../../src/memory.js";
import { sha256 } from "../../../src/randomness.js";
import { Refused } from "../../../src/refused.js";
import { Account, reckoningOf } from "../../../src/standard-scheme/account.js";
import { Device } from "../../../src/standard-scheme/device.js";
import { systemDrawing } from "../../../src/standard-scheme/drawing.js";
import { latestEnded } from "../../../src/standard-scheme/epochs.js";
import { Release, Scores, type Disclosure } from "../../../src/standard-scheme/messages.js";
import { forgotten, migrated, opened } from "../../../src/standard-scheme/starting.js";
import { State } from "../../../src/standard-scheme/state.js";
import { askOctets, Trouble } from "../service/asking";
import { fetchPublished, type Offer } from "../service/offers";
import { latestOf, visitorFor, type Visitor } from "../service/person";
import { accountOf, isCurrent, type Identity } from "./code";
import * as kept from "./kept";
import { explained, releasePath } from "./letters";

/** All items, the best first, as the latest answer ranks them. */
export type List = readonly kept.Ranked[];

export function accountFor(identity: Identity): Account {
  return new Account(new BrowserStore<Bytes>(nameOf(identity)), identity.schemeSecret);
}

/** What the latest answer made; it is kept, so that a list needs no request. */
export async function keptList(identity: Identity): Promise<List | undefined> {
  return (await lists(identity).read()).get(LATEST);
}

/**
 * Go on with what was decided before, in this browser or by an earlier version of this page. Where
 * the memory is gone, nothing that is rated by now is ever decided; where another browser made the
 * code, nothing at all.
 */
export async function resume(
  identity: Identity,
  rated: readonly ItemId[],
  length: number,
): Promise<void> {
  const account = accountFor(identity);
  if ((await account.state()) !== undefined) return;
  const now = seconds();
  const frozen = [...kept.keptFrozen(), ...rated];
  const earlier = `${accountOf(identity)} stars`;
  const decided = await new BrowserStore<unknown>(earlier).read();
  const spoke = kept.keptSpoken().some((path) => path.startsWith("/api/disclosures/"));
  if (decided.size > 0) {
    const items = [...decided.keys()].map((item) => JSON.parse(item) as ItemId);
    await account.begin(migrated(items, now, length));
    await kept.empty(`tacit ${earlier}`);
  } else if (spoke || identity.adopted !== "") {
    const spoken = identity.adopted === "" ? 0 : null;
    await account.begin(opened(undefined, frozen, { now, length, spoken }));
  }
}

/** The account begins when letters are first allowed: nothing leaves in its first half hour. */
export function begin(identity: Identity): Promise<void> {
  return accountFor(identity).begin(new State({ created: seconds(), frozen: kept.keptFrozen() }));
}

/** One piece of work at a time, among all tabs: while it runs, no letter of this visitor leaves. */
export function alone<T>(identity: Identity, work: () => Promise<T>): Promise<T> {
  return lists(identity).turn(work);
}

/** What must never be decided again on this device, after everything is deleted. */
export async function neverAgain(identity: Identity, rated: readonly ItemId[]): Promise<ItemId[]> {
  const before = kept.keptFrozen();
  const state = await accountFor(identity).state();
  if (state === undefined) return [...before];
  const decided = state.closed || state.spoken >= 0 || state.records.size > 0;
  const { frozen, aliases } = forgotten(state, decided ? rated : [], seconds());
  const earlier = aliases.filter(([, now]) => frozen.has(now)).map(([old]) => old);
  return [...new Set([...before, ...frozen, ...earlier])];
}

/** next: the second from which on the next letter may leave. waiting: one was made and not answered. */
export interface Plan {
  readonly next: number;
  readonly waiting: boolean;
}

/** undefined before letters were ever allowed, and where none ever leaves. */
export async function planOf({ name, disclosure }: Offer, identity: Identity): Promise<Plan | undefined> {
  const account = accountFor(identity);
  const [state, next] = [await account.state(), await account.next(seconds(), disclosure)];
  const mute = state?.closed === true && state.letter === null;
  if (state === undefined || next === undefined || mute) return undefined;
  const reckoning = reckoningOf(state, disclosure);
  const current = state.letter !== null && latestEnded(seconds(), reckoning) === state.lastEpoch;
  const waiting = current && !(await wasSent(releasePath(name), state.letter as Bytes));
  return { next, waiting };
}

/**
 * Send the letter that is due, if one is; the same bytes again until they are answered. Tabs take
 * turns, and each goes by what is kept when its turn has come: another may have changed all of it.
 */
export function speak(offer: Offer, identity: Identity): Promise<List | undefined> {
  return alone(identity, async () => {
    const published = await fetchPublished(offer.name);
    if (!isCurrent(identity) || kept.keptAllowed() !== offer.name) return undefined;
    const ratings = kept.keptRatings();
    const values = kept.keptValues()[offer.name] ?? {};
    const history = starsOf(ratings);
    const entered = new Map([...ratings].map(([item, { entered }]) => [item, entered]));
    const rated = { history, entered };
    const [account, path, now] = [accountFor(identity), releasePath(offer.name), seconds()];
    let asked: Promise<Visitor> | undefined;
    /** With it goes the token, for which the service gives a visitor's key; once, never before. */
    const visitor = () => {
      kept.keepSpoken(path);
      return (asked ??= visitorFor(identity.token));
    };
    await account.checkLatest(published.disclosure, now, async () =>
      latestOf(offer.name, await visitor()),
    );
    const { letter } = await account.speak(published, values, rated, now);
    if (letter === null || (await wasSent(path, letter))) return undefined;
    const { disclosure } = published;
    explained({ ...offer, disclosure }, Release.decode(letter), history);
    const scores = Scores.decode(await post(path, identity, await visitor(), letter, disclosure));
    const list = await ranked(scores, disclosure, values);
    await lists(identity).write(new Map([[LATEST, list]]));
    await markSent(path, letter);
    return list;
  });
}

async function post(
  path: string,
  identity: Identity,
  { key }: Visitor,
  letter: Bytes,
  disclosure: Disclosure,
): Promise<Bytes> {
  try {
    return await askOctets(path, { method: "POST", key, octets: letter });
  } catch (error) {
    const status = error instanceof Trouble ? error.status : undefined;
    const old = Release.decode(letter).disclosure !== (await disclosure.digest());
    if (status === 409) await accountFor(identity).close(); // another memory of this account sent one
    // These bytes will not be taken later either: the next letter is another one.
    if (status === 409 || (status === 422 && old)) await markSent(path, letter, true);
    throw error;
  }
}

/** By preference; in the order of the answer where it is equal. */
async function ranked(scores: Scores, disclosure: Disclosure, values: kept.Values): Promise<List> {
  const stars = await completed(scores, disclosure, values);
  return [...scores.scores]
    .sort(([, , one], [, , other]) => other - one)
    .map(([item]) => [item, stars?.get(item) ?? null]);
}

/** Predicted stars; none where the scores are of other tables, or these ask for another answer. */
async function completed(
  scores: Scores,
  disclosure: Disclosure,
  values: kept.Values,
): Promise<ReadonlyMap<ItemId, number> | undefined> {
  if (scores.disclosure !== (await disclosure.digest())) return undefined;
  try {
    const device = await Device.of(disclosure, values, new State({ created: 0 }), systemDrawing());
    return await device.complete(scores);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

async function wasSent(path: string, letter: Bytes): Promise<boolean> {
  return kept.keptSent()[path]?.digest === hex(await sha256(letter));
}

/** The hash of the letter, beside what else was sent. */
export async function markSent(path: string, letter: Bytes, refused = false): Promise<void> {
  const digest = hex(await sha256(letter));
  const sent = { at: new Date().toISOString(), bytes: letter.length, digest };
  kept.keepSent({ ...kept.keptSent(), [path]: refused ? { ...sent, refused } : sent });
}

export function starsOf(ratings: kept.Ratings): kept.Stars {
  return new Map([...ratings].map(([item, { stars }]) => [item, stars]));
}

export function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

const LATEST = "latest";

function lists(identity: Identity): BrowserStore<List> {
  return new BrowserStore(`${nameOf(identity)} lists`);
}

/** A code that was brought here begins with a memory of its own, each time. */
function nameOf(identity: Identity): string {
  const { adopted } = identity;
  return `${accountOf(identity)} account${adopted === "" ? "" : ` ${adopted}`}`;
}
