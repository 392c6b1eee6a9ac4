/** Laws of messages and devices, on drawn cases. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { toHex, newSecret, TemporaryStore, Refusal, sketches, standardScheme } from "../src/index.js";
import type { ItemId } from "../src/items.js";
import { drawBelow } from "../src/randomness.js";

const ids = fc.oneof(
  fc.integer(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }),
  fc.string({ unit: "grapheme", maxLength: 6 }),
);
const levels = fc.integer({ min: -(2 ** 53), max: 2 ** 53 });
const pairs = fc.uniqueArray(fc.tuple(ids, levels), { selector: ([item]) => item, maxLength: 8 });

/** A campaign about 40 items whose chance of the truth is low enough. */
async function campaignOf(seed: Uint8Array, epsilon = 1_000_000): Promise<sketches.Campaign> {
  return new sketches.Campaign({
    method: "multi-maxsense",
    unit: "user",
    items: 40,
    rated: 4,
    theta: 1_000_000,
    questions: 2,
    epsilon,
    likedFrom: 4000,
    truth: 5_606_615_224_107_920,
    closes: 2_000_000_000,
    seed: Uint8Array.from(seed),
    catalogue: await sketches.catalogueDigest(ITEMS),
  });
}

const ITEMS: ItemId[] = Array.from({ length: 40 }, (_, number) => `film ${number}`);
const seeds = fc.uint8Array({ minLength: 16, maxLength: 16 });
const secrets = fc.uint8Array({ minLength: 32, maxLength: 80 }).map((bytes) => Uint8Array.from(bytes));
const stars = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 1, max: 5 })),
  { selector: ([number]) => number },
);
const histories = stars.map(
  (rated) => new Map<ItemId, number>(rated.map(([number, star]) => [`film ${number}`, star])),
);

test("a release comes back as it was sent", () => {
  fc.assert(
    fc.property(pairs, fc.nat(), (ratings, epoch) => {
      const sent = new standardScheme.Release("0123456789abcdef", epoch, ratings);
      const found = standardScheme.Release.decode(sent.encode());
      expect([found.epoch, found.ratings]).toEqual([epoch, ratings]);
    }),
  );
});

test("a report comes back as it was sent", () => {
  const tickets = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  fc.assert(
    fc.property(tickets, fc.nat({ max: 2 ** 32 - 1 }), (ticket, bits) => {
      const sent = new sketches.Report(new Uint8Array(8), ticket, bits);
      expect(sketches.Report.decode(sent.encode())).toEqual(sent);
    }),
  );
});

test("bytes are a message with these bytes, or no message", () => {
  const kinds = [
    sketches.Campaign,
    sketches.Report,
    sketches.Clusters,
    standardScheme.Disclosure,
    standardScheme.Release,
    standardScheme.Scores,
    standardScheme.ItemTable,
    standardScheme.State,
  ];
  const json = fc.json().map((text) => new TextEncoder().encode(text));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 120 }), json), (data) => {
      for (const kind of kinds) {
        try {
          expect(toHex(kind.decode(data).encode())).toBe(toHex(data));
        } catch (error) {
          expect(error).toHaveProperty("name", "MessageError");
        }
      }
    }),
  );
});

test("a canonical message with one byte changed is another message, or none", () => {
  const ratings: standardScheme.Pair[] = [["é", 1_250_000], [7, 0]];
  const sent = new standardScheme.Release("0123456789abcdef", 3, ratings).encode();
  fc.assert(
    fc.property(fc.nat({ max: sent.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const data = Uint8Array.from(sent);
      data[at] = (data[at] as number) ^ change;
      try {
        expect(standardScheme.Release.decode(data).encode()).toEqual(data);
      } catch (error) {
        expect(error).toBeInstanceOf(standardScheme.MessageError);
      }
    }),
    { numRuns: 500 },
  );
});

test("words that would favour small results are skipped", async () => {
  const words = [2n ** 64n - 1n, 5n]; // 2^64 is one more than a multiple of 3
  expect(await drawBelow(async () => words.shift() as bigint, 3)).toBe(2);
  expect(words).toEqual([]);
  const last = [2n ** 64n - 2n, 5n];
  expect(await drawBelow(async () => last.shift() as bigint, 3)).toBe(2);
  expect(last).toEqual([5n]);
});

test("sensed sets of one person are disjoint and within the list", async () => {
  const campaign = await campaignOf(new Uint8Array(16));
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (ticket) => {
      const places = sketches.sensedSets(campaign, ticket).flat();
      expect(new Set(places).size).toBe(places.length);
      expect(places.every((place) => place >= 0 && place < 40)).toBe(true);
    }),
  );
});

test("two devices of one secret send the same bytes, and another secret sends others", async () => {
  let differ = 0;
  await fc.assert(
    fc.asyncProperty(seeds, secrets, histories, async (seed, secret, history) => {
      const campaign = await campaignOf(seed);
      const sent = await Promise.all(
        [secret, secret, newSecret()].map(async (own) => {
          const device = new sketches.Device(own, new TemporaryStore());
          return toHex((await device.report(campaign, ITEMS, history)).encode());
        }),
      );
      expect(sent[0]).toBe(sent[1]);
      differ += Number(sent[0] !== sent[2]);
    }),
  );
  expect(differ).toBe(100); // tickets have 64 bits
});

test("campaigns at the same moment do not find more room than there is", async () => {
  const device = new sketches.Device(newSecret(), new TemporaryStore(), { epsilon: 1, lifetime: 3 });
  const asked = await Promise.all(
    Array.from({ length: 8 }, (_, number) => campaignOf(new Uint8Array(16).fill(number))),
  );
  const answers = await Promise.allSettled(asked.map((one) => device.report(one, ITEMS, new Map())));
  expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  for (const answer of answers) {
    if (answer.status === "rejected") expect(answer.reason).toBeInstanceOf(Refusal);
  }
});

test("an answered campaign is answered alike whatever the stars are now", async () => {
  const device = new sketches.Device(newSecret(), new TemporaryStore());
  const campaign = await campaignOf(new Uint8Array(16));
  const first = await device.report(campaign, ITEMS, new Map());
  const all = new Map(ITEMS.map((item) => [item, 5]));
  expect((await device.report(campaign, [], all)).encode()).toEqual(first.encode());
});

test("limits that would refuse nothing by mistake are not made", () => {
  for (const wrong of [
    { epsilon: Number.NaN },
    { lifetime: -1 },
    { units: "rating" as unknown as [] },
    { ratedPairs: 1 as unknown as boolean },
    { mostRatedPairs: 0.5 },
  ]) {
    expect(() => new sketches.Device(newSecret(), new TemporaryStore(), wrong)).toThrow(RangeError);
  }
});

test("a short secret is refused", () => {
  const short = new Uint8Array(31);
  expect(() => new sketches.Device(short, new TemporaryStore())).toThrow("at least 32 bytes");
});
