/** What the clients make of a vector: the same as Python, or it is a bug. See golden/vectors.py. */

import {
  fromHex,
  toHex,
  TemporaryStore,
  privateLists,
  Refusal,
  sketches,
  standardScheme,
  type Bytes,
} from "../src/index.js";
import { integerId, type ItemId } from "../src/items.js";

export interface Vector {
  readonly [name: string]: unknown;
}

/** Unix seconds at which a device of sketches is asked, before any campaign of the vectors closes. */
const NOW = 1_000_000_000;

type Tagged = [item: string, stars: number][];

const text = (value: unknown) => new TextEncoder().encode(value as string);

/** "i12" is the integer 12, "s12" the text. */
export function untagged(item: string): ItemId {
  return item.startsWith("i") ? integerId(BigInt(item.slice(1))) : item.slice(1);
}

export function tagged(item: ItemId): string {
  return `${typeof item === "string" ? "s" : "i"}${item}`;
}

function untaggedAll(items: unknown): ItemId[] {
  return (items as string[]).map(untagged);
}

function historyOf(tags: unknown): Map<ItemId, number> {
  return new Map((tags as Tagged).map(([item, stars]) => [untagged(item), stars]));
}

/** One device of sketches, asked one campaign after the other: the last one's report counts. */
export async function answer(vector: Vector): Promise<Vector> {
  const limits = vector["limits"] as Record<string, unknown>;
  const spelled = Object.entries(limits).map(([name, value]) => [camel(name), value]);
  const secret = fromHex(vector["secret"] as string);
  const catalogue = untaggedAll(vector["catalogue"]);
  const history = historyOf(vector["history"]);
  return outcome("report", async () => {
    const store = new TemporaryStore<sketches.Answer>();
    const device = new sketches.Device(secret, store, Object.fromEntries(spelled));
    let sent = "";
    for (const data of vector["campaigns"] as string[]) {
      const campaign = sketches.Campaign.decode(fromHex(data));
      sent = toHex((await device.report(campaign, catalogue, history, NOW)).encode());
    }
    return sent;
  });
}

/** What a device makes of clusters at home. */
export async function recommendation(vector: Vector): Promise<Vector> {
  const clusters = sketches.Clusters.decode(fromHex(vector["clusters"] as string));
  const likedFrom = vector["liked_from"] as number;
  return outcome("recommended", async () => {
    const best = await sketches.recommend(
      clusters,
      untaggedAll(vector["catalogue"]),
      historyOf(vector["history"]),
      { likedFrom, n: vector["n"] as number },
    );
    return best.map(tagged);
  });
}

/** One memory of the standard scheme: what leaves at each visit, and the memory at the end. */
export async function release(vector: Vector): Promise<Vector> {
  const shown = vector["disclosures"] as string[];
  const secret = fromHex(vector["secret"] as string);
  const state = new standardScheme.State({ created: 0 });
  const found = await outcome("releases", async () => {
    const sent: string[] = [];
    for (const visit of vector["visits"] as Vector[]) {
      const disclosure = standardScheme.Disclosure.decode(
        text(shown[visit["disclosure"] as number]),
      );
      const values = visit["values"] as Record<string, string>;
      const device = await standardScheme.Device.create(disclosure, values, state, secret);
      const released = await device.release(historyOf(visit["history"]), visit["epoch"] as number);
      sent.push(new TextDecoder().decode(released.encode()));
    }
    return sent;
  });
  return { ...found, memory: new TextDecoder().decode(state.encode()) };
}

/** Predicted stars for the owner. */
export async function completion(vector: Vector): Promise<Vector> {
  return outcome("predicted", async () => {
    const disclosure = standardScheme.Disclosure.decode(text(vector["disclosure"]));
    const values = vector["values"] as Record<string, string>;
    const state = new standardScheme.State({ created: 0 });
    const dice = standardScheme.systemDrawing();
    const device = await standardScheme.Device.create(disclosure, values, state, dice);
    const predicted = await device.completeScores(
      standardScheme.Scores.decode(text(vector["scores"])),
    );
    return [...predicted].map(([item, stars]) => [tagged(item), stars]);
  });
}

/** An account through the years: what leaves at each step, what its owner hears, what is kept. */
export async function life(vector: Vector): Promise<Vector> {
  const shown = (vector["disclosures"] as string[]).map((data) =>
    standardScheme.Disclosure.decode(text(data)),
  );
  let state = new standardScheme.State({ created: vector["created"] as number });
  const said: Vector[] = [];
  for (const step of vector["steps"] as Vector[]) {
    const disclosure = shown[step["disclosure"] as number] as standardScheme.Disclosure;
    state = stateAtStep(state, step, disclosure.epochLength);
    const store = new TemporaryStore<Bytes>();
    const account = new standardScheme.Account(store, fromHex(step["secret"] as string));
    await account.start(state);
    const log = step["log"] as [number, string][];
    const ratings = { history: historyOf(step["history"]), entered: historyOf(step["entered"]) };
    const values = step["values"] as Record<string, string>;
    const now = step["at"] as number;
    const { letter, notice } = await account.makeLetter({ disclosure, log }, values, ratings, now);
    said.push({
      letter: letter === null ? null : new TextDecoder().decode(letter),
      told: notice === undefined ? [] : [notice],
    });
    state = (await account.readState()) as standardScheme.State;
  }
  return { said, memory: new TextDecoder().decode(state.encode()) };
}

/** After a start of the program, or "forget me". */
function stateAtStep(
  state: standardScheme.State,
  step: Vector,
  length: number,
): standardScheme.State {
  const now = step["at"] as number;
  if (step["forget"] !== undefined) {
    return standardScheme.forgottenState(state, untaggedAll(step["forget"]), now);
  }
  if (step["open"] === undefined) return state;
  const { memory, spoken } = step["open"] as { memory: string | null; spoken: number | null };
  const found = memory === null ? undefined : standardScheme.State.decode(text(memory));
  return standardScheme.openState(found, historyOf(step["history"]).keys(), {
    now,
    length,
    lastLetterEpoch: spoken,
  });
}

/** A list at home, of whole levels. */
export async function ranking(vector: Vector): Promise<Vector> {
  return outcome("ranked", async () => {
    const table = standardScheme.ItemTable.decode(text(vector["table"]));
    const ranked = table.rank(untaggedAll(vector["items"]), historyOf(vector["levels"]));
    return ranked.map(([item, preference]) => [tagged(item), preference]);
  });
}

/** A list at home of a released private model, and its scores. */
export async function privateRanking(vector: Vector): Promise<Vector> {
  return outcome("ranked", async () => {
    const lists = await privateLists.DeviceLists.decode(fromHex(vector["model"] as string));
    const ranked = lists.rank(historyOf(vector["history"] ?? []), { n: 100 });
    return ranked.map(([item, score]) => [tagged(item), score]);
  });
}

/** Own items that speak for items of a list made at home, and how much. */
export async function privateReasons(vector: Vector): Promise<Vector> {
  return outcome("reasons", async () => {
    const lists = await privateLists.DeviceLists.decode(fromHex(vector["model"] as string));
    const items = (vector["items"] as string[]).map(untagged);
    const found = lists.reasons(historyOf(vector["history"] ?? []), items, { n: 2 });
    return found.map((falls) => falls.map(([item, fall]) => [tagged(item), fall]));
  });
}

const KINDS = {
  Campaign: sketches.Campaign,
  Report: sketches.Report,
  Clusters: sketches.Clusters,
  Disclosure: standardScheme.Disclosure,
  Release: standardScheme.Release,
  Scores: standardScheme.Scores,
  ItemTable: standardScheme.ItemTable,
  State: standardScheme.State,
};

/** Bytes that are read and written again. */
export async function message(vector: Vector): Promise<Vector> {
  const kind = KINDS[vector["kind"] as keyof typeof KINDS];
  const data = fromHex(vector["bytes"] as string);
  return outcome("encoded", async () => toHex(kind.decode(data).encode()));
}

/** {name: result}, or what Python calls the error, and what it says. */
async function outcome(name: string, work: () => Promise<unknown>): Promise<Vector> {
  try {
    return { [name]: await work() };
  } catch (error) {
    if (error instanceof Refusal) return { error: "Refused", says: error.message };
    if (error instanceof RangeError) return { error: "ValueError", says: error.message };
    const malformed =
      error instanceof sketches.MessageError || error instanceof standardScheme.MessageError;
    if (malformed) return { error: "MessageError", says: error.message };
    throw error;
  }
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
