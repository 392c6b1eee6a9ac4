/** What would leave the device: bytes, what each part of them means, and where they would go. */

import { equalBytes, fromHex, toHex, encodeUtf8, type Bytes } from "../../../src/bytes.js";
import type { ItemId } from "../../../src/items.js";
import { BrowserStore, TemporaryStore, type Store } from "../../../src/stores.js";
import { Device as Sketcher, type Answer } from "../../../src/sketches/device.js";
import { explain } from "../../../src/sketches/explain.js";
import { toNumber, type Disclosure, type Release } from "../../../src/standard-scheme/messages.js";
import { MICRO } from "../../../src/standard-scheme/tables.js";
import type { Offer, Question } from "../service/offers";
import { accountOf, type Identity } from "./code";
import type { Stars } from "./storage";

export interface MessagePart {
  readonly bytes: Bytes;
  /** The bytes as text, where they are text. */
  readonly text?: string;
  readonly meaning: string;
  /** Known here alone, shown beside what leaves. */
  readonly staysHere?: string;
  /** One line for each bit. */
  readonly bits?: readonly string[];
}

export interface Letter {
  readonly path: string;
  readonly body: Bytes;
  readonly parts: readonly MessagePart[];
}

/** A letter that the visitor sends by its button. */
export interface ReportDraft extends Letter {
  /** Remembers what was drawn; before this, nothing of the draft is storage. */
  readonly seal: () => Promise<void>;
}

/** A letter with disguised stars, with what each part of it means. */
export function explainLetter(
  { name, disclosure, titles, words }: Offer,
  release: Release,
  stars: Stars,
): Letter {
  const text = (written: string, meaning: string, staysHereText?: string): MessagePart => {
    const part = { bytes: encodeUtf8(written), text: written, meaning };
    return staysHereText === undefined ? part : { ...part, staysHere: staysHereText };
  };
  const last = release.ratings.length - 1;
  const ratings = release.ratings.map(([item, level], at) =>
    text(
      `[${JSON.stringify(item)},${level}]${at < last ? "," : ""}`,
      `${titles(item)}: ${starsText(starsOf(disclosure, level))}`,
      here(starsOf(disclosure, level), stars.get(item)),
    ),
  );
  const parts = [
    text(`{"disclosure":"${release.disclosure}",`, "which public tables your device used"),
    text(`"epoch":${release.epoch},`, "which letter of the calendar this is"),
    text(`"message":"release",`, "what kind of message this is"),
    text(`"ratings":[`, `a list of ${words.many} follows, with stars`),
    ...ratings,
    text(`],"version":2}`, "which version of the message this is"),
  ];
  const body = release.encode();
  return { path: releasePath(name), body, parts: checkWhole(parts, body) };
}

/** The answer to a campaign, drafted. */
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
    .map(([bytes, meaning], at): MessagePart => {
      const part = { bytes: fromHex(bytes), meaning };
      return at === ANSWERS_PART ? { ...part, bits } : part;
    });
  return {
    path: `/api/campaigns/${name}/reports`,
    body,
    parts: checkWhole(parts, body),
    seal: async () => checkSame((await draw(reportStore)).encode(), body),
  };
}

/** Which part of a report holds its bits. */
const ANSWERS_PART = 4;

export function releasePath(name: string): string {
  return `/api/disclosures/${name}/letters`;
}

export function starsOf(disclosure: Disclosure, level: number): number {
  return toNumber(disclosure.minimum) + (toNumber(disclosure.step) * level) / MICRO;
}

export function starsText(stars: number): string {
  const short = Number(stars.toFixed(2));
  return short === 1 ? "1 star" : `${short} stars`;
}

/** The rated items of a disclosure that a letter does not hold, and those it holds with other stars. */
export function compareStars(
  release: Release,
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

function here(sent: number, given: number | undefined): string | undefined {
  return given === undefined || sent === given ? undefined : `you gave ${starsText(given)}`;
}

/** The parts, if they are the whole of the body: what cannot be explained is not sent. */
function checkWhole(parts: MessagePart[], body: Bytes): MessagePart[] {
  const spelled = parts.map(({ bytes }) => toHex(bytes)).join("");
  if (spelled !== toHex(body))
    throw new Error("This page cannot explain these bytes, so it will not send them.");
  return parts;
}

function checkSame(sealed: Bytes, drafted: Bytes): void {
  if (!equalBytes(sealed, drafted)) {
    throw new Error(
      "Something changed since these bytes were shown. Look at them again before you send.",
    );
  }
}

async function copyOf<V>(original: Store<V>): Promise<Store<V>> {
  const copy = new TemporaryStore<V>();
  await copy.write(await original.read());
  return copy;
}
