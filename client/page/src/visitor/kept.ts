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
export interface Sent {
  readonly at: string;
  readonly bytes: number;
  readonly digest: string;
  readonly refused?: boolean;
}

/** An item with its predicted stars; null where the answer was to other tables than these. */
export type Ranked = readonly [item: ItemId, stars: number | null];

const STARS = "tacit.stars";
const VALUES = "tacit.values";
const SENT = "tacit.sent";
const SPOKEN = "tacit.spoken";
const ALLOWED = "tacit.allowed";
const FROZEN = "tacit.frozen";
/** What decides whether a letter may leave, and says which did. */
export const ABOUT_LETTERS = [SENT, ALLOWED];

export function keptRatings(): Ratings {
  const kept = read<[ItemId, number, number?][]>(STARS, []);
  return new Map(kept.map(([item, stars, entered = 0]) => [item, { stars, entered }]));
}

export function keepRatings(ratings: Ratings): void {
  const listed = [...ratings].map(([item, { stars, entered }]) => [item, stars, entered]);
  localStorage.setItem(STARS, JSON.stringify(listed));
}

/** By disclosure: a person may hide one thing here and another there. */
export function keptValues(): Record<string, Values> {
  return read(VALUES, {});
}

export function keepValues(values: Record<string, Values>): void {
  localStorage.setItem(VALUES, JSON.stringify(values));
}

export function keptSent(): Record<string, Sent> {
  return read(SENT, {});
}

export function keepSent(sent: Record<string, Sent>): void {
  localStorage.setItem(SENT, JSON.stringify(sent));
}

/** Where something was sent to, answered or not: the service may know this visitor from it. */
export function keptSpoken(): readonly string[] {
  return [...new Set([...read<string[]>(SPOKEN, []), ...Object.keys(keptSent())])];
}

/** Written before the first request that names the visitor: its answer may be lost. */
export function keepSpoken(path: string): void {
  localStorage.setItem(SPOKEN, JSON.stringify([...new Set([...keptSpoken(), path])]));
}

/** The disclosure that letters may be sent for; empty while none may. */
export function keptAllowed(): string {
  return read(ALLOWED, "");
}

export function keepAllowed(name: string): void {
  localStorage.setItem(ALLOWED, JSON.stringify(name));
}

/** Items that no account of this browser decides again. */
export function keptFrozen(): readonly ItemId[] {
  return read(FROZEN, []);
}

/** Forget everything but these items, without their stars. The memories of what was drawn go too. */
export async function forget(frozen: readonly ItemId[]): Promise<void> {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith("tacit.")) localStorage.removeItem(name);
  }
  if (frozen.length > 0) localStorage.setItem(FROZEN, JSON.stringify(frozen));
  const found = await indexedDB.databases();
  const names = found.map(({ name }) => name ?? "").filter((name) => name.startsWith("tacit "));
  await Promise.all(names.map(empty));
}

/** Emptied and not deleted: a database that another tab has open cannot be deleted. */
export function empty(name: string): Promise<void> {
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

function read<T>(name: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? "null") as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}
