/** What this browser keeps of a visit. None of it is sent. */

import type { ItemId } from "../../../src/items.js";

export type Stars = ReadonlyMap<ItemId, number>;
/** entered: when the item got its first star, in seconds. */
export interface Rating {
  readonly stars: number;
  readonly entered: number;
}
export type Ratings = ReadonlyMap<ItemId, Rating>;
/** Attribute: the visitor's own value. */
export type Values = Readonly<Record<string, string>>;

/** What was sent, and when; to say so at the next visit. refused: the service did not take it. */
export interface SentMessage {
  readonly at: string;
  readonly bytes: number;
  readonly digest: string;
  readonly refused?: boolean;
}

/** An item with its predicted stars; null where the answer was to other tables than these. */
export type RankedItem = readonly [item: ItemId, stars: number | null];

const STARS = "tacit.stars";
const VALUES = "tacit.values";
const SENT = "tacit.sent";
const CONTACTED = "tacit.spoken";
const ALLOWED = "tacit.allowed";
const FROZEN = "tacit.frozen";
/** What decides whether a letter may leave, and says which did. */
export const LETTER_KEYS = [SENT, ALLOWED];

export function readRatings(): Ratings {
  const rows = readJson<[ItemId, number, number?][]>(STARS, []);
  return new Map(rows.map(([item, stars, entered = 0]) => [item, { stars, entered }]));
}

export function storeRatings(ratings: Ratings): void {
  const listed = [...ratings].map(([item, { stars, entered }]) => [item, stars, entered]);
  localStorage.setItem(STARS, JSON.stringify(listed));
}

/** By disclosure: a person may hide one thing here and another there. */
export function readValues(): Record<string, Values> {
  return readJson(VALUES, {});
}

export function storeValues(values: Record<string, Values>): void {
  localStorage.setItem(VALUES, JSON.stringify(values));
}

export function readSent(): Record<string, SentMessage> {
  return readJson(SENT, {});
}

export function storeSent(sent: Record<string, SentMessage>): void {
  localStorage.setItem(SENT, JSON.stringify(sent));
}

/** Where something was sent to, answered or not: the service may know this visitor from it. */
export function readContacted(): readonly string[] {
  return [...new Set([...readJson<string[]>(CONTACTED, []), ...Object.keys(readSent())])];
}

/** Written before the first request that names the visitor: its answer may be lost. */
export function storeContacted(path: string): void {
  localStorage.setItem(CONTACTED, JSON.stringify([...new Set([...readContacted(), path])]));
}

/** The disclosure that letters may be sent for; empty while none may. */
export function readAllowed(): string {
  return readJson(ALLOWED, "");
}

export function storeAllowed(name: string): void {
  localStorage.setItem(ALLOWED, JSON.stringify(name));
}

/** Items that no account of this browser decides again. */
export function readFrozen(): readonly ItemId[] {
  return readJson(FROZEN, []);
}

/** Forget everything but these items, without their stars. The memories of what was drawn go too. */
export async function forgetAll(frozen: readonly ItemId[]): Promise<void> {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith("tacit.")) localStorage.removeItem(name);
  }
  if (frozen.length > 0) localStorage.setItem(FROZEN, JSON.stringify(frozen));
  const found = await indexedDB.databases();
  const names = found.map(({ name }) => name ?? "").filter((name) => name.startsWith("tacit "));
  await Promise.all(names.map(emptyDatabase));
}

/** Emptied and not deleted: a database that another tab has open cannot be deleted. */
export function emptyDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onerror = () => reject(new Error("The browser does not let go of what it keeps."));
    opening.onsuccess = () => {
      const database = opening.result;
      const stores = [...database.objectStoreNames];
      if (stores.length === 0) return resolve(database.close());
      const change = database.transaction(stores, "readwrite");
      for (const store of stores) change.objectStore(store).clear();
      change.oncomplete = () => resolve(database.close());
    };
  });
}

function readJson<T>(name: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? "null") as T | null) ?? fallback;
  } catch {
    return fallback;
  }
}
