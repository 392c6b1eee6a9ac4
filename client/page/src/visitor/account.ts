/** The account that sends letters: its start, its letters by the calendar, and their answers. */

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
import { fetchOctets, RequestError } from "../service/requests";
import { fetchPublished, type Offer } from "../service/offers";
import { fetchLatestEpoch, fetchVisitor, type Visitor } from "../service/visitor";
import { accountOf, isCode, isCurrent, storeAdoptedCode, type Identity } from "./code";
import * as storage from "./storage";
import { explainLetter, releasePath } from "./letters";

/** All items as the latest answer ranks them, the best first. */
export type List = readonly storage.RankedItem[];

/** Open the visitor's account, whose state this browser stores. */
export function openAccount(identity: Identity): Account {
  return new Account(new BrowserStore<Bytes>(storeName(identity)), identity.schemeSecret);
}

/** Read the list of the latest answer, which is stored, so that showing it needs no request. */
export async function readList(identity: Identity): Promise<List | undefined> {
  return (await listStore(identity).read()).get(LIST_KEY);
}

/**
 * Prepare the account of a visitor who may have sent letters before.
 *
 * If its state is lost, no item that is rated by now is ever decided. If another browser made the code,
 * no item is ever decided here. An account that has its state, or never sent a letter, is not changed.
 *
 * @param rated items that are rated by now.
 * @param length seconds of an epoch of the calendar.
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

/** Start the account when letters are first allowed; no letter leaves in its first half hour. */
export function startAccount(identity: Identity): Promise<void> {
  return openAccount(identity).start(
    new State({ created: currentSecond(), frozen: storage.readFrozen() }),
  );
}

/** Run some work while no tab runs other such work, and no tab sends a letter of this visitor. */
export function runAlone<T>(identity: Identity, work: () => Promise<T>): Promise<T> {
  return listStore(identity).runExclusively(work);
}

/**
 * List the items that no later account on this device may decide, after everything is deleted.
 *
 * @param rated items that are rated by now.
 */
export async function frozenItems(identity: Identity, rated: readonly ItemId[]): Promise<ItemId[]> {
  const frozenBefore = storage.readFrozen();
  const state = await openAccount(identity).readState();
  if (state === undefined) return [...frozenBefore];
  const mayHaveDecided = state.closed || state.lastLetterEpoch >= 0 || state.records.size > 0;
  const { frozen, aliases } = forgottenState(state, mayHaveDecided ? rated : [], currentSecond());
  const oldIds = aliases.filter(([, newId]) => frozen.has(newId)).map(([oldId]) => oldId);
  return [...new Set([...frozenBefore, ...frozen, ...oldIds])];
}

/**
 * Make the code of another browser that of this one. No later account here decides what the present
 * one may have decided, also after everything is deleted.
 *
 * @param rated items that are rated by now.
 * @returns whether the text is a code; otherwise nothing is changed.
 */
export async function adoptCode(
  identity: Identity,
  text: string,
  rated: readonly ItemId[],
): Promise<boolean> {
  const code = text.trim();
  if (!isCode(code)) return false;
  if (code === identity.code) return true;
  await runAlone(identity, async () => {
    storage.storeFrozen(await frozenItems(identity, rated));
    storeAdoptedCode(code);
  });
  return true;
}

/** The time of the next letter. */
export interface SendingPlan {
  /** The second from which on the page tries to send the next letter. */
  readonly nextSending: number;
  /**
   * Whether a letter leaves then, as things are now. If not, the page tries all the same, because a try
   * stores the first list of values, under which alone the account decides.
   */
  readonly willLeave: boolean;
  /** Whether the latest letter was made but not answered, so that it is sent again at once. */
  readonly isUnanswered: boolean;
}

/** Plan the next letter; undefined before letters were ever allowed, and for a closed account without one. */
export async function planSending(
  { name, disclosure, log }: Offer,
  identity: Identity,
  values: storage.Values,
): Promise<SendingPlan | undefined> {
  const account = openAccount(identity);
  const state = await account.readState();
  const nextSending = await account.nextSendingTime(currentSecond(), disclosure);
  if (state === undefined || nextSending === undefined) return undefined;
  const { letter } = state;
  if (letter === null && state.closed) return undefined;
  const willLeave = await account.sendsLetters({ disclosure, log }, values, currentSecond());
  if (letter === null) return { nextSending, willLeave, isUnanswered: false };
  const latest = latestEndedEpoch(currentSecond(), calendarOf(state, disclosure));
  const isUnanswered = latest === state.lastEpoch && !(await wasSent(releasePath(name), letter));
  return { nextSending, willLeave, isUnanswered };
}

/** The result of `sendDueLetter`. */
export interface SendingResult {
  /** The list of the answer; undefined if nothing was sent. */
  readonly list?: List;
  /** Why nothing new, or not every item, was decided or sent; undefined if there is nothing to say. */
  readonly notice?: string;
}

/**
 * Send the letter that is due, if one is, and the same bytes again until they are answered.
 *
 * Tabs take turns. Each one reads what is stored at the start of its turn, since another tab may have
 * changed it.
 *
 * @returns the list of the answer, and what the visitor should know.
 */
export function sendDueLetter(offer: Offer, identity: Identity): Promise<SendingResult> {
  return runAlone(identity, async () => {
    const published = await fetchPublished(offer.name);
    if (!isCurrent(identity) || storage.readAllowed() !== offer.name) return {};
    const ratings = storage.readRatings();
    const values = storage.readValues()[offer.name] ?? {};
    const history = starsOf(ratings);
    const entered = new Map([...ratings].map(([item, { entered }]) => [item, entered]));
    const rated = { history, entered };
    const account = openAccount(identity);
    const path = releasePath(offer.name);
    const now = currentSecond();
    let visitorRequest: Promise<Visitor> | undefined;
    // The first call sends the token, so it is made only when a letter is due.
    const visitor = () => {
      storage.storeContacted(path);
      return (visitorRequest ??= fetchVisitor(identity.token));
    };
    await account.checkLatest(published, values, now, async () =>
      fetchLatestEpoch(offer.name, await visitor()),
    );
    const { letter, ...notice } = await account.makeLetter(published, values, rated, now);
    if (letter === null || (await wasSent(path, letter))) return notice;
    const { disclosure } = published;
    explainLetter({ ...offer, disclosure }, Release.decode(letter), history);
    const scores = Scores.decode(
      await postLetter(path, identity, await visitor(), letter, disclosure),
    );
    const list = await rankItems(scores, disclosure, values);
    await listStore(identity).write(new Map([[LIST_KEY, list]]));
    await markSent(path, letter);
    return { list, ...notice };
  });
}

/** Send a letter and return the answer; a letter that will never be accepted is marked as refused. */
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
    const status = error instanceof RequestError ? error.status : undefined;
    const isOfOldDisclosure = Release.decode(letter).disclosure !== (await disclosure.digest());
    // 409: another memory of this account has sent a letter for this epoch.
    if (status === 409) await openAccount(identity).close();
    // These bytes will not be accepted later either; the next letter has others.
    const isRefusedForEver = status === 409 || (status === 422 && isOfOldDisclosure);
    if (isRefusedForEver) await markSent(path, letter, true);
    throw error;
  }
}

/** Rank items by their preference, and equal ones in the order of the answer. */
async function rankItems(
  scores: Scores,
  disclosure: Disclosure,
  values: storage.Values,
): Promise<List> {
  const stars = await completeStars(scores, disclosure, values);
  return [...scores.scores]
    .sort(([, , left], [, , right]) => right - left)
    .map(([item]) => [item, stars?.get(item) ?? null]);
}

/** Compute predicted stars; undefined for scores of another disclosure, or an unknown value. */
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

/** Say whether this letter was the last one that was answered, or refused for ever, at a path. */
async function wasSent(path: string, letter: Bytes): Promise<boolean> {
  return storage.readSent()[path]?.digest === toHex(await sha256(letter));
}

/** Store that a letter was sent to a path, or refused there, by its digest. */
export async function markSent(path: string, letter: Bytes, refused = false): Promise<void> {
  const digest = toHex(await sha256(letter));
  const message = { at: new Date().toISOString(), bytes: letter.length, digest };
  const stored = refused ? { ...message, refused } : message;
  storage.storeSent({ ...storage.readSent(), [path]: stored });
}

/** Return the stars of ratings, without their times. */
export function starsOf(ratings: storage.Ratings): storage.Stars {
  return new Map([...ratings].map(([item, { stars }]) => [item, stars]));
}

/** Return the whole seconds since 1970. */
export function currentSecond(): number {
  return Math.floor(Date.now() / 1000);
}

const LIST_KEY = "latest";

function listStore(identity: Identity): BrowserStore<List> {
  return new BrowserStore(`${storeName(identity)} lists`);
}

/** Name the account's store; each time that a code is adopted here it gets a new one. */
function storeName(identity: Identity): string {
  const { adopted } = identity;
  return `${accountOf(identity)} account${adopted === "" ? "" : ` ${adopted}`}`;
}
