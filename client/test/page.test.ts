/** What the page stores in the browser, and when it names the visitor: its modules without a screen. */

import "fake-indexeddb/auto";

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { newSecret, standardScheme } from "../src/index.js";
import type { ItemId } from "../src/items.js";
import { disclosureOf } from "./worlds.js";

/** Import a module of the page. Its own check is that of `client/page`. */
function page(name: string): Promise<any> {
  return import(new URL(`../page/src/visitor/${name}.ts`, import.meta.url).href);
}

const { DAY, LARGEST_CHANCE, Release, State } = standardScheme;
const HUGE = 2n ** 60n;
const NOW = 1_800_000_000;

/** A visitor of this browser, whose code is stored. */
function newIdentity() {
  const code = "A".repeat(43);
  localStorage.setItem("tacit.code", code);
  const token = Math.trunc(performance.now() * 1e6).toString(36).padStart(16, "0");
  return { code, token, schemeSecret: newSecret(), sketchSecret: newSecret(), adopted: "" };
}

beforeEach(() => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => {
      stored.set(key, value);
      Object.defineProperty(storage, key, { value, configurable: true, enumerable: true });
    },
    removeItem: (key: string) => {
      stored.delete(key);
      delete (storage as Record<string, unknown>)[key];
    },
  };
  vi.stubGlobal("localStorage", storage);
  vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("ids that no number holds are stored exactly, with ratings and with frozen items", async () => {
  const storage = await page("storage");
  const ratings = new Map<ItemId, unknown>(
    [7, "7", HUGE, -HUGE].map((item) => [item, { stars: 4, entered: NOW }]),
  );
  storage.storeRatings(ratings);
  expect(storage.readRatings()).toEqual(ratings);
  storage.storeFrozen([...ratings.keys()]);
  expect(storage.readFrozen()).toEqual([...ratings.keys()]);
});

test("a letter of ids that no number holds is explained whole", async () => {
  const { explainLetter } = await page("letters");
  const disclosure = disclosureOf({ items: [HUGE, "film"] });
  const offer = { name: "g", disclosure, titles: String, words: { one: "item", many: "items" } };
  const release = new Release("x", 0, [
    [HUGE, 3_000_000],
    ["film", 0],
  ]);
  expect(explainLetter(offer, release, new Map()).body).toEqual(release.encode());
});

test("under another code, what the first account decided is frozen though it is unrated", async () => {
  const { adoptCode, frozenItems, openAccount } = await page("account");
  const storage = await page("storage");
  const identity = newIdentity();
  const decided = { level: null, digest: "", epoch: 0, withdrawn: false };
  await openAccount(identity).start(
    new State({ created: NOW, records: [[5, decided]], lastLetterEpoch: 0 }),
  );
  const code = "B".repeat(42) + "A";
  expect(await adoptCode(identity, "no code", [6])).toBe(false);
  expect(storage.readFrozen()).toEqual([]);
  expect(await adoptCode(identity, ` ${code} `, [6])).toBe(true);
  expect(localStorage.getItem("tacit.code")).toBe(code);
  const adopted = { ...newIdentity(), code, adopted: "then" };
  expect(await frozenItems(adopted, [])).toEqual(expect.arrayContaining([5, 6]));
});

test("before the first letter, an unlisted value names the visitor to nobody", async () => {
  const { openAccount, sendDueLetter } = await page("account");
  const storage = await page("storage");
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const epoch = standardScheme.calendarEpoch(NOW, disclosure.epochLength);
  const log = [{ epoch, digest: await disclosure.digest() }];
  for (const [value, isNamed] of [
    ["X", false],
    ["F", true],
  ] as const) {
    const identity = newIdentity();
    await openAccount(identity).start(new State({ created: NOW - DAY / 2 }));
    storage.storeAllowed("g");
    storage.storeValues({ g: { gender: value } });
    const paths: string[] = [];
    vi.stubGlobal("fetch", (path: string) => {
      paths.push(path);
      if (path === "/api/disclosures/g") return Promise.resolve(new Response(disclosure.encode()));
      if (path === "/api/disclosures/g/log") return Promise.resolve(Response.json({ log }));
      return Promise.resolve(new Response("{}", { status: 503 }));
    });
    const offer = { name: "g", disclosure, titles: String, words: { one: "item", many: "items" } };
    const { notice } = await sendDueLetter(offer, identity).catch(() => ({}));
    if (isNamed) expect(notice).toBeUndefined();
    else expect(notice).toMatch(/^Nothing new is decided or sent: attribute 'gender' has to be/);
    expect(paths.some((path) => path.startsWith("/api/visitors"))).toBe(isNamed);
    expect(storage.readContacted()).toHaveLength(isNamed ? 1 : 0);
  }
});

test("no time is announced for a letter that does not leave as things are now", async () => {
  const { openAccount, planSending } = await page("account");
  const { calendarEpoch } = standardScheme;
  const planFor = async (list: readonly [string, string], value: string) => {
    const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE, values: list });
    const log = [[calendarEpoch(NOW, disclosure.epochLength), await disclosure.digest()]];
    const identity = newIdentity();
    const state = new State({ created: NOW - DAY / 2, values: [["gender", ["F", "M"]]] });
    await openAccount(identity).start(state);
    const plan = await planSending({ name: "g", disclosure, log }, identity, { gender: value });
    expect((await openAccount(identity).readState()).log).toEqual([]);
    return plan;
  };
  expect(await planFor(["F", "M"], "F")).toMatchObject({ willLeave: true });
  expect(await planFor(["F", "M"], "X")).toMatchObject({ willLeave: false });
  expect(await planFor(["F", "Z"], "F")).toMatchObject({ willLeave: false });
});
