/** What would leave the device: bytes, what each part of them means, and where they would go. */

import { equal, fromHex, hex, utf8, type Bytes } from "../../../src/bytes.js";
import type { ItemId } from "../../../src/items.js";
import { BrowserStore, PassingStore, type Store } from "../../../src/memory.js";
import { Refused } from "../../../src/refused.js";
import { Device as Sketcher, type Answer } from "../../../src/sketches/device.js";
import { explain } from "../../../src/sketches/explain.js";
import { Device } from "../../../src/standard-scheme/device.js";
import type { Entry } from "../../../src/standard-scheme/drawing.js";
import { MICRO, numberOf, type Disclosure, type Release } from "../../../src/standard-scheme/messages.js";
import type { Offer, Question, Titles } from "../service/offers";
import type { Identity } from "./code";
import type { Stars, Values } from "./kept";

export interface Part {
  readonly bytes: Bytes;
  /** The bytes as text, where they are text. */
  readonly text?: string;
  readonly meaning: string;
  /** Known here alone, shown beside what leaves. */
  readonly here?: string;
  /** One line for each bit. */
  readonly bits?: readonly string[];
}

export interface Letter {
  readonly path: string;
  readonly body: Bytes;
  readonly parts: readonly Part[];
  /** Remembers what was drawn; before this, nothing of the draft is kept. */
  readonly seal: () => Promise<void>;
}

export interface ReleaseLetter extends Letter {
  readonly release: Release;
}

/** Disguised stars, drafted. `device` makes the same ones again when the letter is sealed. */
export async function draftRelease(
  { name, disclosure, titles }: Offer,
  values: Values,
  stars: Stars,
  { token, schemeSecret }: Identity,
): Promise<ReleaseLetter> {
  // One memory for all disclosures: what one hides, a release made for another may show.
  const kept = new BrowserStore<Entry>(`${account(token)} stars`);
  const draw = (memory: Store<Entry>) =>
    new Device(disclosure, values, memory, schemeSecret).release(stars);
  const release = await draw(await copyOf(kept)).catch((error: unknown) => {
    throw error instanceof Refused && error.message.includes("memory") ? new Refused(OTHER) : error;
  });
  const body = release.encode();
  return {
    path: releasePath(name),
    body,
    parts: whole(releaseParts(release, disclosure, stars, titles), body),
    release,
    seal: async () => same((await draw(kept)).encode(), body),
  };
}

/** The answer to a campaign, drafted. */
export async function draftReport(
  { name, campaign, catalogue, titles }: Question,
  stars: Stars,
  { token, sketchSecret }: Identity,
): Promise<Letter> {
  const kept = new BrowserStore<Answer>(`${account(token)} campaigns`);
  const draw = (memory: Store<Answer>) =>
    new Sketcher(sketchSecret, memory).report(campaign, catalogue, stars);
  const report = await draw(await copyOf(kept));
  const body = report.encode();
  const rows = explain(campaign, report, catalogue.map(titles));
  const bits = rows.filter(([bytes]) => bytes.startsWith("bit ")).map(([, meaning]) => meaning);
  const parts = rows
    .filter(([bytes]) => !bytes.startsWith("bit "))
    .map(([bytes, meaning], at): Part => {
      const part = { bytes: fromHex(bytes), meaning };
      return at === ANSWERS ? { ...part, bits } : part;
    });
  return {
    path: `/api/campaigns/${name}/reports`,
    body,
    parts: whole(parts, body),
    seal: async () => same((await draw(kept)).encode(), body),
  };
}

function here(sent: number, given: number): string | undefined {
  return sent === given ? undefined : `you gave ${starsText(given)}`;
}

export function releasePath(name: string): string {
  return `/api/disclosures/${name}/profiles`;
}

const OTHER =
  "it has sent these stars disguised otherwise, under another answer or to hide something else, and " +
  "the two together could tell what each hides. Choose as before. Beginning anew does not help: the " +
  "service may notice that both are you";

/** Which part of a report holds its bits. */
const ANSWERS = 4;

function releaseParts(
  release: Release,
  disclosure: Disclosure,
  stars: Stars,
  titles: Titles,
): Part[] {
  const text = (written: string, meaning: string, here?: string): Part => {
    const part = { bytes: utf8(written), text: written, meaning };
    return here === undefined ? part : { ...part, here };
  };
  const last = release.ratings.length - 1;
  return [
    text(`{"disclosure":"${release.disclosure}",`, "which public tables your device used"),
    text(`"message":"release",`, "what kind of message this is"),
    text(`"ratings":[`, "a list of films follows, with stars"),
    ...release.ratings.map(([item, level], at) =>
      text(
        `[${JSON.stringify(item)},${level}]${at < last ? "," : ""}`,
        `${titles(item)}: ${starsText(starsOf(disclosure, level))}`,
        here(starsOf(disclosure, level), stars.get(item) as number),
      ),
    ),
    text(`],"version":1}`, "which version of the message this is"),
  ];
}

export function starsOf(disclosure: Disclosure, level: number): number {
  return numberOf(disclosure.minimum) + (numberOf(disclosure.step) * level) / MICRO;
}

export function starsText(stars: number): string {
  const short = Number(stars.toFixed(2));
  return short === 1 ? "1 star" : `${short} stars`;
}

/** The rated films of a disclosure that stay at home, and those that leave with other stars. */
export function compared(
  { release }: ReleaseLetter,
  disclosure: Disclosure,
  stars: Stars,
): { home: ItemId[]; changed: number } {
  const shown = new Map(release.ratings);
  const known = [...stars.keys()].filter((item) => disclosure.itemNumber.has(item));
  const changed = release.ratings.filter(
    ([item, level]) => starsOf(disclosure, level) !== stars.get(item),
  );
  return { home: known.filter((item) => !shown.has(item)), changed: changed.length };
}

/** The parts, if they are the whole of the body: what cannot be explained is not sent. */
function whole(parts: Part[], body: Bytes): Part[] {
  const explained = parts.map(({ bytes }) => hex(bytes)).join("");
  if (explained !== hex(body)) throw new Error("This page cannot explain these bytes, so it will not send them.");
  return parts;
}

function same(sealed: Bytes, drafted: Bytes): void {
  if (!equal(sealed, drafted)) {
    throw new Error("Something changed since these bytes were shown. Look at them again before you send.");
  }
}

function account(token: string): string {
  return `visitor ${token.slice(0, 16)}`;
}

async function copyOf<V>(kept: Store<V>): Promise<Store<V>> {
  const copy = new PassingStore<V>();
  await copy.write(await kept.read());
  return copy;
}
