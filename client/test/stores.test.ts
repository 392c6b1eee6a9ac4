/** What is remembered is there after a reload, and before anything is sent. */

import { IDBFactory } from "fake-indexeddb";
import { beforeEach, expect, test } from "vitest";
import { BrowserStore, importSecret, newSecret, TemporaryStore, sketches, type Store } from "../src/index.js";

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});

const MAKE: [string, () => Store<number>][] = [
  ["passing", () => new TemporaryStore<number>()],
  ["browser", () => new BrowserStore<number>("person")],
];

test.each(MAKE)("the %s store gives back what was written, the last value counts", async (_, make) => {
  const store = make();
  await store.write(new Map([["a", 1], ["b", 2]]));
  await store.write(new Map([["b", 3]]));
  expect(await store.read()).toEqual(new Map([["a", 1], ["b", 3]]));
});

test.each(MAKE)("the %s store lets one at a time in, also after a failure", async (_, make) => {
  const store = make();
  await store.write(new Map([["count", 0]]));
  const once = () =>
    store.runExclusively(async () => {
      const count = (await store.read()).get("count") as number;
      await store.write(new Map([["count", count + 1]]));
    });
  const failing = store.runExclusively(async () => Promise.reject(new Error("no")));
  await expect(failing).rejects.toThrow("no");
  await Promise.all(Array.from({ length: 10 }, once));
  expect((await store.read()).get("count")).toBe(10);
});

test("a second visit finds what the first one kept, under its own name alone", async () => {
  await new BrowserStore<Uint8Array>("ann").write(new Map([["x", Uint8Array.of(1, 2)]]));
  expect((await new BrowserStore<Uint8Array>("ann").read()).get("x")).toEqual(Uint8Array.of(1, 2));
  expect((await new BrowserStore("bob").read()).size).toBe(0);
});

test("a write that the browser refuses is an error, and nothing of it is kept", async () => {
  const store = new BrowserStore<unknown>("ann");
  const bad = new Map<string, unknown>([["a", 1], ["b", () => 1]]); // functions cannot be kept
  await expect(store.write(bad)).rejects.toThrow();
  expect((await store.read()).size).toBe(0);
});

test("a report is remembered before it is handed out", async () => {
  class Full extends TemporaryStore<sketches.Answer> {
    override write(): Promise<void> {
      return Promise.reject(new Error("the disk is full"));
    }
  }
  const device = new sketches.Device(newSecret(), new Full());
  await expect(device.report(await campaign(), ["a", "b"], new Map())).rejects.toThrow("full");
});

test("a secret as a key that no script reads makes the same report", async () => {
  const secret = newSecret();
  const key = await importSecret(secret);
  expect(key.extractable).toBe(false);
  const sent = [];
  for (const own of [secret, key]) {
    const device = new sketches.Device(own, new TemporaryStore());
    sent.push(await device.report(await campaign(), ["a", "b"], new Map([["a", 5]])));
  }
  expect(sent[0]).toEqual(sent[1]);
});

async function campaign(): Promise<sketches.Campaign> {
  return new sketches.Campaign({
    method: "multi-maxsense",
    unit: "user",
    items: 2,
    rated: 1,
    theta: 1_000_000,
    questions: 1,
    epsilon: 1_000_000,
    likedFrom: 4000,
    truth: 2 ** 52 + 2 ** 50,
    closes: 2 ** 53,
    seed: new Uint8Array(16),
    catalogue: await sketches.catalogueDigest(["a", "b"]),
  });
}
