/** Drafts of letters: their bytes, the meaning of each part, and the address that they are sent to. */

import { equalBytes, fromHex, toHex, encodeUtf8, type Bytes } from "../../../src/bytes.js";
import type { ItemId } from "../../../src/items.js";
import { BrowserStore, TemporaryStore, type Store } from "../../../src/stores.js";
import { Device as Sketcher, type Answer } from "../../../src/sketches/device.js";
import { explain } from "../../../src/sketches/explain.js";
import { toNumber, type Disclosure, type Release } from "../../../src/standard-scheme/messages.js";
import { itemJson } from "../../../src/standard-scheme/state.js";
import { MICRO } from "../../../src/standard-scheme/tables.js";
import type { Offer, Question } from "../service/offers";
import { accountOf, type Identity } from "./code";
import type { Stars } from "./storage";

/** Some bytes of a letter. */
export interface MessagePart {
  readonly bytes: Bytes;
  /** The bytes as text, if they are text. */
  readonly text?: string;
  readonly meaning: string;
  /** What this device alone knows about them, shown beside the meaning. */
  readonly staysHere?: string;
  /** One line for each bit, if the bytes hold answers. */
  readonly bits?: readonly string[];
}

/** A message that is sent, and the explanation of all its bytes. */
export interface Letter {
  /** The path of the service that it is sent to. */
  readonly path: string;
  readonly body: Bytes;
  readonly parts: readonly MessagePart[];
}

/** A report that the visitor sends by a button. */
export interface ReportDraft extends Letter {
  /** Store what was drawn for the report; before this, nothing of the draft is stored. */
  readonly commit: () => Promise<void>;
}

/** Explain a letter of disguised stars part by part. */
export function explainLetter(
  { name, disclosure, titles, words }: Offer,
  release: Release,
  stars: Stars,
): Letter {
  const textPart = (text: string, meaning: string, staysHere?: string): MessagePart => {
    const part = { bytes: encodeUtf8(text), text, meaning };
    return staysHere === undefined ? part : { ...part, staysHere };
  };
  const last = release.ratings.length - 1;
  const ratings = release.ratings.map(([item, level], index) =>
    textPart(
      `[${itemJson(item)},${level}]${index < last ? "," : ""}`,
      `${titles(item)}: ${starsText(starsOf(disclosure, level))}`,
      describeOwnStars(starsOf(disclosure, level), stars.get(item)),
    ),
  );
  const parts = [
    textPart(`{"disclosure":"${release.disclosure}",`, "which public tables your device used"),
    textPart(`"epoch":${release.epoch},`, "which letter of the calendar this is"),
    textPart(`"message":"release",`, "what kind of message this is"),
    textPart(`"ratings":[`, `a list of ${words.many} follows, with stars`),
    ...ratings,
    textPart(`],"version":2}`, "which version of the message this is"),
  ];
  const body = release.encode();
  return { path: releasePath(name), body, parts: checkWhole(parts, body) };
}

/** Draft the answer to a campaign, on a copy of the stored answers; `commit` stores it for good. */
export async function draftReport(
  { name, campaign, catalogue, titles }: Question,
  stars: Stars,
  identity: Identity,
): Promise<ReportDraft> {
  const reportStore = new BrowserStore<Answer>(`${accountOf(identity)} campaigns`);
  const draw = (memory: Store<Answer>) =>
    new Sketcher(identity.sketchSecret, memory).report(campaign, catalogue, stars);
  const report = await draw(await copyOf(reportStore));
  const body = report.encode();
  const rows = explain(campaign, report, catalogue.map(titles));
  const bits = rows.filter(([bytes]) => bytes.startsWith("bit ")).map(([, meaning]) => meaning);
  const parts = rows
    .filter(([bytes]) => !bytes.startsWith("bit "))
    .map(([bytes, meaning], index): MessagePart => {
      const part = { bytes: fromHex(bytes), meaning };
      return index === ANSWERS_PART ? { ...part, bits } : part;
    });
  return {
    path: `/api/campaigns/${name}/reports`,
    body,
    parts: checkWhole(parts, body),
    commit: async () => checkSame((await draw(reportStore)).encode(), body),
  };
}

/** Index of the part of a report that holds its bits. */
const ANSWERS_PART = 4;

/** Return the path to which letters for a disclosure are sent. */
export function releasePath(name: string): string {
  return `/api/disclosures/${name}/letters`;
}

/** Convert micro-levels to stars on the disclosure's scale. */
export function starsOf(disclosure: Disclosure, level: number): number {
  return toNumber(disclosure.minimum) + (toNumber(disclosure.step) * level) / MICRO;
}

/** Write a number of stars, with two decimals at most. */
export function starsText(stars: number): string {
  const short = Number(stars.toFixed(2));
  return short === 1 ? "1 star" : `${short} stars`;
}

/**
 * Compare a letter with the person's stars: which rated items of the disclosure it does not hold, and
 * how many it holds with other stars.
 */
export function compareStars(
  release: Release,
  disclosure: Disclosure,
  stars: Stars,
): { heldBack: ItemId[]; changed: number } {
  const shown = new Map(release.ratings);
  const rated = [...stars.keys()].filter((item) => disclosure.itemNumber.has(item));
  const changed = release.ratings.filter(
    ([item, level]) => starsOf(disclosure, level) !== stars.get(item),
  );
  return { heldBack: rated.filter((item) => !shown.has(item)), changed: changed.length };
}

/** Say which stars the person gave, where they differ from those in the letter. */
function describeOwnStars(sent: number, own: number | undefined): string | undefined {
  return own === undefined || sent === own ? undefined : `you gave ${starsText(own)}`;
}

/** Return the parts; throw an error unless they are the whole body, since it must be explained. */
function checkWhole(parts: MessagePart[], body: Bytes): MessagePart[] {
  const explained = parts.map(({ bytes }) => toHex(bytes)).join("");
  if (explained !== toHex(body))
    throw new Error("This page cannot explain these bytes, so it will not send them.");
  return parts;
}

/** Throw an error if the stored report differs from the draft that the visitor saw. */
function checkSame(committed: Bytes, drafted: Bytes): void {
  if (!equalBytes(committed, drafted)) {
    throw new Error(
      "Something changed since these bytes were shown. Look at them again before you send.",
    );
  }
}

/** Copy a store's entries to a store in memory. */
async function copyOf<V>(original: Store<V>): Promise<Store<V>> {
  const copy = new TemporaryStore<V>();
  await copy.write(await original.read());
  return copy;
}
