/** The account that letters are sent under: its start, its letters by the calendar, the answers. */

import { toHex, type Bytes } from "../../../src/bytes.js";
import type { ItemId } from "../../../src/items.js";
import { BrowserStore } from "../../../src/stores.js";
import { sha256 } from "../../../src/randomness.js";
import { Refusal } from "../../../src/refusal.js";
import { Account, calendarOf } from "../../../src/standard-scheme/account.js";
import { Device } from "../../../src/standard-scheme/device.js";
import { systemDrawing } from "../../../src/standard-scheme/drawing.js";
import { latestEndedEpoch } from "../../../src/standard-scheme/epochs.js";
import { Release, Scores, type Disclosure } from "../../../src/standard-scheme/messages.js";
import { forgottenState, openState } from "../../../src/standard-scheme/initial-state.js";
import { State } from "../../../src/standard-scheme/state.js";
import { fetchOctets, Trouble } from "../service/requests";
import { fetchPublished, type Offer } from "../service/offers";
import { fetchLatestEpoch, fetchVisitor, type Visitor } from "../service/visitor";
import { accountOf, isCurrent, type Identity } from "./code";
import * as storage from "./storage";
import { explainLetter, releasePath } from "./letters";

/** All items, the best first, as the latest answer ranks them. */
export type List = readonly storage.RankedItem[];

export function openAccount(identity: Identity): Account {
  return new Account(new BrowserStore<Bytes>(storeName(identity)), identity.schemeSecret);
}

/** Read the list of the latest answer. It is stored, so that a list needs no request. */
export async function readList(identity: Identity): Promise<List | undefined> {
  return (await listStore(identity).read()).get(LIST_KEY);
}

/**
 * Go on with what was decided before in this browser. Where the memory is gone, nothing that is rated
 * by now is ever decided; where another browser made the code, nothing at all.
 */
export async function resumeAccount(
  identity: Identity,
  rated: readonly ItemId[],
  length: number,
): Promise<void> {
  const account = openAccount(identity);
  if ((await account.readState()) !== undefined) return;
  const hasSentLetters = storage
    .readContacted()
    .some((path) => path.startsWith("/api/disclosures/"));
  const isAdopted = identity.adopted !== "";
  if (!hasSentLetters && !isAdopted) return;
  const frozen = [...storage.readFrozen(), ...rated];
  const lastLetterEpoch = isAdopted ? null : 0;
  await account.start(
    openState(undefined, frozen, { now: currentSecond(), length, lastLetterEpoch }),
  );
}

/** Start the account, when letters are first allowed: nothing leaves in its first half hour. */
export function startAccount(identity: Identity): Promise<void> {
  return openAccount(identity).start(
    new State({ created: currentSecond(), frozen: storage.readFrozen() }),
  );
}

/** Run one piece of work at a time, among all tabs: meanwhile no letter of this visitor leaves. */
export function runAlone<T>(identity: Identity, work: () => Promise<T>): Promise<T> {
  return listStore(identity).runExclusively(work);
}

/** The items that are never decided again on this device, after everything is deleted. */
export async function frozenItems(identity: Identity, rated: readonly ItemId[]): Promise<ItemId[]> {
  const before = storage.readFrozen();
  const state = await openAccount(identity).readState();
  if (state === undefined) return [...before];
  const decided = state.closed || state.lastLetterEpoch >= 0 || state.records.size > 0;
  const { frozen, aliases } = forgottenState(state, decided ? rated : [], currentSecond());
  const earlier = aliases.filter(([, now]) => frozen.has(now)).map(([old]) => old);
  return [...new Set([...before, ...frozen, ...earlier])];
}

/** When the next letter leaves. */
export interface SendingPlan {
  /** The second from which on the next letter may leave. */
  readonly nextSending: number;
  /** Whether a letter was made and not answered. */
  readonly isUnanswered: boolean;
}

/** Plan the next letter; undefined before letters were ever allowed, and where none ever leaves. */
export async function planSending(
  { name, disclosure }: Offer,
  identity: Identity,
): Promise<SendingPlan | undefined> {
  const account = openAccount(identity);
  const state = await account.readState();
  const nextSending = await account.nextSendingTime(currentSecond(), disclosure);
  if (state === undefined || nextSending === undefined) return undefined;
  const { letter } = state;
  if (letter === null) return state.closed ? undefined : { nextSending, isUnanswered: false };
  const latest = latestEndedEpoch(currentSecond(), calendarOf(state, disclosure));
  const isUnanswered = latest === state.lastEpoch && !(await wasSent(releasePath(name), letter));
  return { nextSending, isUnanswered };
}

/**
 * Send the letter that is due, if one is; the same bytes again until they are answered. Tabs take
 * turns, and each goes by what is stored when its turn has come: another may have changed all of it.
 */
export function sendDueLetter(offer: Offer, identity: Identity): Promise<List | undefined> {
  return runAlone(identity, async () => {
    const published = await fetchPublished(offer.name);
    if (!isCurrent(identity) || storage.readAllowed() !== offer.name) return undefined;
    const ratings = storage.readRatings();
    const values = storage.readValues()[offer.name] ?? {};
    const history = starsOf(ratings);
    const entered = new Map([...ratings].map(([item, { entered }]) => [item, entered]));
    const rated = { history, entered };
    const [account, path, now] = [openAccount(identity), releasePath(offer.name), currentSecond()];
    let visitorRequest: Promise<Visitor> | undefined;
    /** With it goes the token, for which the service gives a visitor's key; once, never before. */
    const visitor = () => {
      storage.storeContacted(path);
      return (visitorRequest ??= fetchVisitor(identity.token));
    };
    await account.checkLatest(published.disclosure, now, async () =>
      fetchLatestEpoch(offer.name, await visitor()),
    );
    const { letter } = await account.makeLetter(published, values, rated, now);
    if (letter === null || (await wasSent(path, letter))) return undefined;
    const { disclosure } = published;
    explainLetter({ ...offer, disclosure }, Release.decode(letter), history);
    const scores = Scores.decode(
      await postLetter(path, identity, await visitor(), letter, disclosure),
    );
    const list = await rankItems(scores, disclosure, values);
    await listStore(identity).write(new Map([[LIST_KEY, list]]));
    await markSent(path, letter);
    return list;
  });
}

async function postLetter(
  path: string,
  identity: Identity,
  { key }: Visitor,
  letter: Bytes,
  disclosure: Disclosure,
): Promise<Bytes> {
  try {
    return await fetchOctets(path, { method: "POST", key, octets: letter });
  } catch (error) {
    const status = error instanceof Trouble ? error.status : undefined;
    const old = Release.decode(letter).disclosure !== (await disclosure.digest());
    if (status === 409) await openAccount(identity).close(); // another memory of this account sent one
    // These bytes will not be taken later either: the next letter is another one.
    if (status === 409 || (status === 422 && old)) await markSent(path, letter, true);
    throw error;
  }
}

/** By preference; in the order of the answer where it is equal. */
async function rankItems(
  scores: Scores,
  disclosure: Disclosure,
  values: storage.Values,
): Promise<List> {
  const stars = await completeStars(scores, disclosure, values);
  return [...scores.scores]
    .sort(([, , one], [, , other]) => other - one)
    .map(([item]) => [item, stars?.get(item) ?? null]);
}

/** Predicted stars; none where the scores are of other tables, or these ask for another answer. */
async function completeStars(
  scores: Scores,
  disclosure: Disclosure,
  values: storage.Values,
): Promise<ReadonlyMap<ItemId, number> | undefined> {
  if (scores.disclosure !== (await disclosure.digest())) return undefined;
  try {
    const device = await Device.create(
      disclosure,
      values,
      new State({ created: 0 }),
      systemDrawing(),
    );
    return await device.completeScores(scores);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

async function wasSent(path: string, letter: Bytes): Promise<boolean> {
  return storage.readSent()[path]?.digest === toHex(await sha256(letter));
}

/** The hash of the letter, beside what else was sent. */
export async function markSent(path: string, letter: Bytes, refused = false): Promise<void> {
  const digest = toHex(await sha256(letter));
  const sent = { at: new Date().toISOString(), bytes: letter.length, digest };
  storage.storeSent({ ...storage.readSent(), [path]: refused ? { ...sent, refused } : sent });
}

export function starsOf(ratings: storage.Ratings): storage.Stars {
  return new Map([...ratings].map(([item, { stars }]) => [item, stars]));
}

export function currentSecond(): number {
  return Math.floor(Date.now() / 1000);
}

const LIST_KEY = "latest";

function listStore(identity: Identity): BrowserStore<List> {
  return new BrowserStore(`${storeName(identity)} lists`);
}

/** A code that was brought here begins with a memory of its own, each time. */
function storeName(identity: Identity): string {
  const { adopted } = identity;
  return `${accountOf(identity)} account${adopted === "" ? "" : ` ${adopted}`}`;
}
