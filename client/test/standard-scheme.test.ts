/** Laws of the standard scheme's device: decided once, said by the calendar, kept first. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { toHex, newSecret, TemporaryStore, standardScheme, type Bytes } from "../src/index.js";
import type { ItemId } from "../src/items.js";
import { BEGIN, disclosureOf, FEMALE, Person, SECRET } from "./worlds.js";

const { LARGEST_CHANCE, DAY, Device, ItemTable, State, WEEK } = standardScheme;

const stars = fc.integer({ min: 1, max: 5 });
const histories = fc
  .uniqueArray(fc.tuple(fc.nat({ max: 59 }), stars), { selector: ([item]) => item, maxLength: 60 })
  .map((rated) => new Map<ItemId, number>(rated));
const few = { numRuns: 30 };

function all(items: readonly ItemId[], star = 3): Map<ItemId, number> {
  return new Map(items.map((item) => [item, star]));
}

async function decided(
  disclosure: standardScheme.Disclosure,
  history: standardScheme.History,
  state = new State({ created: BEGIN }),
): Promise<standardScheme.State> {
  await (await Device.create(disclosure, FEMALE, state, SECRET)).release(history, 0);
  return state;
}

test("whether an item is shown depends on no star, no other item and no tables of others", async () => {
  const disclosure = disclosureOf();
  const whole = await decided(disclosure, all(disclosure.items));
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const { records } = await decided(disclosure, history);
      for (const [item, { level }] of records) {
        expect(level === null).toBe(whole.records.get(item)?.level === null);
      }
    }),
    few,
  );
});

test("no item or star is ever lost, changed or late, whatever the schedule and the refits", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(histories, { minLength: 2, maxLength: 6 }), async (parts) => {
      const person = await new Person().begin();
      const history = new Map<ItemId, number>();
      let before = new Map<ItemId, number>();
      let late: ItemId[] = [];
      for (const [week, part] of parts.entries()) {
        const fresh = [...part.keys()].filter((item) => !history.has(item));
        for (const [item, star] of part) history.set(item, star);
        const refit = disclosureOf({
          chance: (number) => 100_000 + ((number * 7 + week * 131) % 850) * 1000,
        });
        const letter = await person.speak(refit, history, BEGIN + (week + 2) * WEEK + 2 * DAY);
        const shown = new Map(letter?.ratings);
        for (const [item, level] of before) expect(shown.get(item)).toBe(level);
        late = [...shown.keys()].filter((item) => !before.has(item) && !fresh.includes(item));
        expect(late).toEqual([]);
        before = shown;
      }
    }),
    few,
  );
});

test("bytes and moments are equal for histories that differ in held-back items alone", async () => {
  const disclosure = disclosureOf();
  const { records } = await decided(disclosure, all(disclosure.items));
  const held = [...records].filter(([, { level }]) => level === null).map(([item]) => item);
  expect(held.length).toBeGreaterThan(5);
  await fc.assert(
    fc.asyncProperty(histories, fc.subarray(held), async (history, more) => {
      const sentLetters: string[][] = [];
      for (const own of [history, new Map([...history, ...all(more, 5)])]) {
        const person = await new Person(FEMALE, SECRET).begin();
        const letters: string[] = [];
        for (const now of [BEGIN + 1800, BEGIN + DAY, BEGIN + 2 * WEEK, BEGIN + 3 * WEEK]) {
          letters.push(String(await person.account.nextSendingTime(now, disclosure)));
          const letter = await person.speak(disclosure, own, now);
          letters.push(letter === undefined ? "" : toHex(letter.encode()));
        }
        sentLetters.push(letters);
      }
      expect(sentLetters[0]).toEqual(sentLetters[1]);
    }),
    few,
  );
});

test("the first letters are due after 30 minutes and a day, the next one on a Monday", async () => {
  const person = await new Person().begin();
  const disclosure = disclosureOf();
  const history = all([1, 2, 3]);
  expect(await person.speak(disclosure, history, BEGIN + 1799)).toBeUndefined();
  expect((await person.speak(disclosure, history, BEGIN + 1800))?.epoch).toBe(0);
  expect(await person.account.nextSendingTime(BEGIN + 1801, disclosure)).toBe(BEGIN + DAY);
  expect((await person.speak(disclosure, history, BEGIN + DAY))?.epoch).toBe(1);
  const week = standardScheme.calendarEpoch(BEGIN + DAY, WEEK);
  const next = (await person.account.nextSendingTime(BEGIN + DAY, disclosure)) as number;
  const monday = standardScheme.epochEnd(week, { created: BEGIN, length: WEEK });
  expect(new Date(monday * 1000).toUTCString()).toMatch(/^Mon, .* 00:00:00 GMT$/);
  expect(next - monday).toBeGreaterThanOrEqual(0);
  expect(next - monday).toBeLessThan(DAY);
  expect((await person.speak(disclosure, history, next - 1))?.epoch).toBeUndefined();
  expect((await person.speak(disclosure, history, next))?.epoch).toBe(week);
});

test("several missed epochs are one letter", async () => {
  const person = await new Person().begin();
  const now = BEGIN + 9 * WEEK;
  const letter = await person.speak(disclosureOf(), all([1]), now + DAY);
  expect(letter?.epoch).toBe(standardScheme.calendarEpoch(now + DAY, WEEK) - 1);
});

test("an item that is entered after the end of the epoch waits for the next one", async () => {
  const person = await new Person().begin();
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const published = { disclosure, log: [[0, await disclosure.digest()]] as const };
  const entered = new Map([
    [1, BEGIN + 1799],
    [2, BEGIN + 1800],
  ]);
  const rated = { history: all([1, 2]), entered };
  await person.account.makeLetter(published, FEMALE, rated, BEGIN + 3600);
  const state = await person.account.readState();
  expect([state?.records.has(1), state?.records.has(2)]).toEqual([true, false]);
});

test("asked again in the same epoch, the bytes are the same whatever the stars are now", async () => {
  const person = await new Person().begin();
  const first = await person.speak(disclosureOf(), all([1, 2, 3]), BEGIN + 1800);
  const again = await person.speak(disclosureOf(), all([4, 5], 1), BEGIN + 7200);
  expect(again?.encode()).toEqual(first?.encode());
});

test("a letter that could not be kept is not handed out", async () => {
  class Full extends TemporaryStore<Bytes> {
    full = false;
    override write(entries: ReadonlyMap<string, Bytes>): Promise<void> {
      return this.full ? Promise.reject(new Error("the disk is full")) : super.write(entries);
    }
  }
  const store = new Full();
  const person = await new Person(FEMALE, newSecret(), store).begin();
  store.full = true;
  await expect(person.speak(disclosureOf(), all([1]), BEGIN + 1800)).rejects.toThrow("full");
  store.full = false;
  expect((await person.account.readState())?.records.size).toBe(0);
});

test("nothing new is decided under another value, and the set is repeated", async () => {
  const person = await new Person().begin();
  const disclosure = disclosureOf();
  const first = await person.speak(disclosure, all(disclosure.items.slice(0, 30)), BEGIN + 1800);
  const other = { gender: "M" };
  const letter = await person.speak(disclosure, all(disclosure.items), BEGIN + DAY, other);
  expect(letter?.ratings).toEqual(first?.ratings);
  expect(person.notice).toMatch(/^Nothing new is decided: this memory was made under another/);
});

test.each([
  ["a changed entry", (log: [number, string][]) => log.splice(0, 1, [1, "0123456789abcdef"])],
  ["an entry that is gone", (log: [number, string][]) => log.shift()],
  [
    "two digests of an epoch",
    (log: [number, string][]) => log.push([log.at(-1)?.[0] as number, "x"]),
  ],
])("the log with %s is not followed", async (_, change) => {
  const person = await new Person().begin();
  const disclosure = disclosureOf();
  const first = await person.speak(disclosure, all([1, 2, 3]), BEGIN + 1800);
  change(person.log);
  const letter = await person.speak(disclosure, all(disclosure.items), BEGIN + 2 * WEEK);
  expect(letter?.ratings).toEqual(first?.ratings);
  expect(person.notice).toContain("log");
});

test("tables that the log does not have are not followed", async () => {
  const person = await new Person().begin();
  await person.speak(disclosureOf(), all([1, 2, 3]), BEGIN + 1800);
  const other = disclosureOf({ chance: () => 400_000 });
  await person.speak(other, all([4, 5, 6]), BEGIN + DAY);
  expect(person.notice).toContain("a disclosure that its log does not have");
  expect((await person.account.readState())?.records.has(4)).toBe(false);
});

test("a deleted rating is withdrawn, and comes back as it was when rated again", async () => {
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const state = await decided(disclosure, all(disclosure.items, 2));
  const [item] = [...state.shownLevels().keys()] as [ItemId];
  const device = await Device.create(disclosure, FEMALE, state, SECRET);
  const without = await device.release(all(disclosure.items.filter((one) => one !== item)), 1);
  expect(new Map(without.ratings).has(item)).toBe(false);
  const back = await device.release(all(disclosure.items, 5), 2);
  expect(new Map(back.ratings).get(item)).toBe(state.records.get(item)?.level);
});

test("frozen items and items of no chance are never decided", async () => {
  const disclosure = disclosureOf({ chance: (number) => (number === 2 ? 0 : LARGEST_CHANCE) });
  const state = new State({ created: BEGIN, frozen: [1] });
  await decided(disclosure, all([1, 2, 3]), state);
  expect([...state.records.keys()]).toEqual([3]);
});

test("a record follows its item to a new name; a shown one stands, and a withdrawn one does not", () => {
  const record = (level: number | null, withdrawn = false) => ({
    level,
    digest: "",
    epoch: 0,
    withdrawn,
  });
  const records = [
    ["a", record(0)],
    ["b", record(null)],
    ["c", record(0, true)],
  ] as const;
  const state = new State({ created: 0, records, frozen: ["d"], arrivals: [["e", 5]] });
  state.followNames([
    ["a", "b"],
    ["c", "x"],
    ["d", "y"],
    ["e", "z"],
  ]);
  expect([...state.records].map(([item, { level }]) => [item, level])).toEqual([
    ["b", 0],
    ["x", null],
  ]);
  expect([[...state.frozen], [...state.arrivals]]).toEqual([["y"], [["z", 5]]]);
});

test.each<[string, ItemId[], standardScheme.Alias[]]>([
  ["without the step between", ["c"], [["a", "c"]]],
  ["dropped", ["b"], []],
  ["reversed", ["a"], [["b", "a"]]],
])("a name that was followed and is now %s decides nothing", async (_, items, aliases) => {
  const person = await new Person().begin();
  const sure = { chance: () => LARGEST_CHANCE };
  await person.speak(disclosureOf({ ...sure, items: ["a"] }), all(["a"]), BEGIN + 1800);
  const now = BEGIN + 2 * WEEK;
  const named = disclosureOf({ ...sure, items: ["b"], aliases: [["a", "b"]] });
  const before = await person.speak(named, all(["a"]), now);
  const other = disclosureOf({ ...sure, items: [...items, "new"], aliases });
  const letter = await person.speak(other, all(["a", "b", "c", "new"]), now + WEEK);
  expect(letter?.ratings).toEqual(before?.ratings);
  expect(person.notice).toContain("contradict");
  expect([...((await person.account.readState())?.records.keys() ?? [])]).toEqual(["b"]);
});

test("letters after merges are equal for histories that differ in held-back items alone", async () => {
  const disclosure = disclosureOf();
  const { records } = await decided(disclosure, all(disclosure.items));
  const split = (wanted: boolean) =>
    [...records].filter(([, { level }]) => (level === null) === wanted).map(([item]) => item);
  const [held, shown] = [split(true), split(false)];
  const merges = fc.array(fc.tuple(fc.constantFrom(...held, ...shown), fc.constantFrom(...shown)));
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(shown),
      fc.subarray(held),
      merges,
      fc.boolean(),
      async (own, more, pairs, turned) => {
        const joined = new Map(pairs.map(([one, other]) => (turned ? [other, one] : [one, other])));
        const kept = [...joined.keys()].filter((old) => ![...joined.values()].includes(old));
        const aliases = kept.map((old): standardScheme.Alias => [old, joined.get(old) as ItemId]);
        const left = disclosureOf({
          items: disclosure.items.filter((item) => !kept.includes(item)),
          aliases,
        });
        const sentLetters: string[][] = [];
        for (const history of [all(own), new Map([...all(own), ...all(more, 5)])]) {
          const person = await new Person(FEMALE, SECRET).begin();
          const gone = new Map([...history].filter(([item]) => item !== own[0]));
          const asked = [
            [disclosure, history, BEGIN + 1800],
            [left, gone, BEGIN + 2 * WEEK],
            [left, gone, BEGIN + 3 * WEEK],
          ] as const;
          const letters: string[] = [];
          for (const turn of asked)
            letters.push(toHex((await person.speak(...turn))?.encode() ?? new Uint8Array()));
          sentLetters.push(letters);
        }
        expect(sentLetters[0]).toEqual(sentLetters[1]);
      },
    ),
    few,
  );
});

test("an account that was made elsewhere sends nothing, then and later", async () => {
  const person = new Person();
  const state = standardScheme.openState(undefined, [1], {
    now: BEGIN,
    length: WEEK,
    lastLetterEpoch: null,
  });
  await person.account.start(state);
  for (let week = 0; week < 5; week++) {
    expect(await person.speak(disclosureOf(), all([1, 2]), BEGIN + week * WEEK)).toBeUndefined();
  }
  expect(person.notice).toMatch(/^Nothing new is decided or sent: another memory/);
  expect((await person.account.readState())?.records.size).toBe(0);
});

test("a closed account sends its set on, and decides nothing", async () => {
  const person = await new Person().begin();
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const first = await person.speak(disclosure, all([1, 2, 3]), BEGIN + 1800);
  await person.account.close();
  const letter = await person.speak(disclosure, all(disclosure.items), BEGIN + 2 * WEEK);
  expect(letter?.ratings).toEqual(first?.ratings);
  expect((await person.account.readState())?.records.size).toBe(3);
});

test("a star off the scale does not stop the letter", async () => {
  const person = await new Person().begin();
  const history = new Map<ItemId, number>([
    [1, 9],
    [2, 3],
    [3, Number.NaN],
  ]);
  expect((await person.speak(disclosureOf(), history, BEGIN + 1800))?.epoch).toBe(0);
  expect(person.notice).toBe("Not decided, because the stars lie off the scale: 1, 3.");
  expect([...((await person.account.readState())?.records.keys() ?? [])]).toEqual([2]);
});

test.each([true, false])(
  "another epoch length does not set the calendar (in the log: %s)",
  async (logged) => {
    const person = await new Person().begin();
    const first = await person.speak(disclosureOf(), all([1, 2, 3]), BEGIN + 2 * WEEK);
    const other = disclosureOf({ epochLength: DAY });
    if (logged) person.log.push([(person.log.at(-1)?.[0] ?? 0) + 1, await other.digest()]);
    const published = { disclosure: other, log: [...person.log] };
    const rated = { history: all([1, 2, 3, 4]), entered: new Map() };
    const now = BEGIN + 3 * WEEK + DAY;
    const { letter } = await person.account.makeLetter(published, FEMALE, rated, now);
    const release = standardScheme.Release.decode(letter as Bytes);
    expect([release.epoch, release.ratings]).toEqual([(first?.epoch ?? 0) + 1, first?.ratings]);
    expect(await person.account.nextSendingTime(now, other)).toBeGreaterThan(now + 3 * DAY);
  },
);

test("a lost memory freezes what is rated, and keeps out of epochs that may be taken", async () => {
  const person = new Person();
  const now = BEGIN + 3 * WEEK;
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  await person.account.start(
    standardScheme.lostState([1, 2], { now, length: WEEK, lastLetterEpoch: -1 }),
  );
  expect(await person.speak(disclosure, all([1, 2, 3]), now)).toBeUndefined();
  const next = (await person.account.nextSendingTime(now, disclosure)) as number;
  expect(next).toBeGreaterThan(now);
  const letter = await person.speak(disclosure, all([1, 2, 3]), next);
  expect(letter?.ratings.every(([item]) => item === 3)).toBe(true);
  expect([...((await person.account.readState())?.records.keys() ?? [])]).toEqual([3]);
});

test("an older copy freezes what it has no record of", () => {
  const record = { level: 0, digest: "", epoch: 0, withdrawn: false };
  const state = new State({
    created: BEGIN,
    records: [[1, record]],
    arrivals: [[7, BEGIN]],
    lastLetterEpoch: 0,
  });
  standardScheme.openState(state, [1, 2], { now: BEGIN + WEEK, length: WEEK, lastLetterEpoch: 1 });
  expect([...state.frozen]).toEqual([2, 7]);
  expect([state.lastLetterEpoch, state.letter]).toEqual([1, null]);
});

test("a copy that is used in other epochs is silent, and asks when a letter is due alone", async () => {
  for (const [latest, silent] of [
    [-1, false],
    [0, false],
    [1, true],
  ] as const) {
    const person = await new Person(FEMALE, SECRET).begin();
    const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
    const first = await person.speak(disclosure, all([1, 2]), BEGIN + 1800);
    expect(first?.ratings.length).toBeGreaterThan(0);
    let asked = 0;
    const ask = () => Promise.resolve(((asked += 1), latest));
    const published = { disclosure, log: person.log };
    await person.account.checkLatest(published, FEMALE, BEGIN + 1801, ask);
    expect(asked).toBe(0);
    const now =
      ((await person.account.nextSendingTime(BEGIN + 2 * DAY, disclosure)) as number) + 2 * WEEK;
    await person.account.checkLatest(published, FEMALE, now, ask);
    expect(asked).toBe(1);
    const letter = await person.speak(disclosure, all([1, 2, 3, 4]), now);
    expect(letter === undefined).toBe(silent);
    expect([...((await person.account.readState())?.records.keys() ?? [])]).toEqual([1, 2]);
  }
});

test("before the first letter, an unlisted value sends no letter and asks the service nothing", async () => {
  const lists = [
    ["F", "Z"],
    ["M", "Z"],
    ["F", "M"],
  ] as const;
  for (const [value, expected] of [
    ["F", [true, true, true]],
    ["M", [false, false, false]],
    ["Z", [true, true, true]],
  ] as const) {
    const values = { gender: value };
    const person = await new Person(values).begin();
    let asked = 0;
    const ask = () => Promise.resolve(((asked += 1), -1));
    for (const [week, list] of lists.entries()) {
      const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE, values: list });
      const now = BEGIN + 1800 + week * 2 * WEEK;
      const epoch = standardScheme.calendarEpoch(now, WEEK);
      const published = {
        disclosure,
        log: [...person.log, [epoch, await disclosure.digest()] as [number, string]],
      };
      const before = asked;
      await person.account.checkLatest(published, values, now, ask);
      const letter = await person.speak(disclosure, all([1, 2]), now);
      expect([asked > before, letter !== undefined]).toEqual([expected[week], expected[week]]);
      const state = (await person.account.readState()) as standardScheme.State;
      expect(state.values).toEqual([["gender", ["F", "Z"]]]);
    }
  }
});

test("where the question for the latest letter fails, the list of values is stored", async () => {
  for (const changed of [
    ["F", "Z"],
    ["M", "Z"],
  ] as const) {
    const person = await new Person().begin();
    let asked = 0;
    const fail = () => {
      asked += 1;
      return Promise.reject(new Error("503"));
    };
    const log: [number, string][] = [];
    const publish = async (values: readonly [string, string], now: number) => {
      const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE, values });
      log.push([standardScheme.calendarEpoch(now, WEEK), await disclosure.digest()]);
      return { disclosure, log: [...log] };
    };
    const now = BEGIN + 1800;
    const first = person.account.checkLatest(await publish(["F", "M"], now), FEMALE, now, fail);
    await expect(first).rejects.toThrow("503");
    const later = now + 2 * WEEK;
    const published = await publish(changed, later);
    await person.account.checkLatest(published, FEMALE, later, fail);
    const rated = { history: all([1, 2]), entered: new Map() };
    const { letter, notice } = await person.account.makeLetter(published, FEMALE, rated, later);
    expect([asked, letter]).toEqual([1, null]);
    expect(notice).toMatch(/^Nothing new is decided or sent: /);
  }
});

test("blanks around a value do not count, and what is no text is refused", async () => {
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const history = all([1, 2, 3, 4]);
  const letters: unknown[] = [];
  for (const gender of ["F", " F\n"]) {
    const person = await new Person({ gender }, SECRET).begin();
    letters.push((await person.speak(disclosure, history, BEGIN + 1800))?.encode());
    letters.push((await person.account.readState())?.binding);
  }
  expect(letters.slice(2)).toEqual(letters.slice(0, 2));
  const odd = await new Person({ gender: 1 as unknown as string }).begin();
  expect(await odd.speak(disclosure, history, BEGIN + 1800)).toBeUndefined();
  expect(odd.notice).toMatch(/has to be one of: F, M/);
});

test("nothing is decided after the first day, once an item is shown", async () => {
  const person = await new Person(FEMALE, SECRET).begin();
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const first = await person.speak(disclosure, all([1, 2]), BEGIN + 1800);
  expect(first?.ratings.length).toBeGreaterThan(0);
  const due = (await person.account.nextSendingTime(BEGIN + 2 * DAY, disclosure)) as number;
  const later = await person.speak(disclosure, all([1, 2, 3, 4]), due + 2 * WEEK);
  expect(later?.ratings).toEqual(first?.ratings);
  expect([...((await person.account.readState())?.records.keys() ?? [])]).toEqual([1, 2]);
});

test("an id that no message can hold is left out, and the letter leaves", async () => {
  const person = await new Person().begin();
  const disclosure = disclosureOf({ chance: () => LARGEST_CHANCE });
  const odd = [1, "\ud800", 2.5, null, true] as ItemId[];
  expect(await person.speak(disclosure, all(odd), BEGIN + 1800)).toBeDefined();
  const { records, arrivals } = (await person.account.readState()) as standardScheme.State;
  expect([[...records.keys()], [...arrivals.keys()]]).toEqual([[1], []]);
});

test("a draft decides nothing that lasts", async () => {
  const person = await new Person().begin();
  const disclosure = disclosureOf();
  const log = [[0, await disclosure.digest()]] as const;
  const rated = { history: all([1, 2, 3]), entered: new Map() };
  const drafted = await person.account.draft({ disclosure, log }, FEMALE, rated, BEGIN);
  expect((await person.account.readState())?.records.size).toBe(0);
  const letter = await person.speak(disclosure, all([1, 2, 3]), BEGIN + 1800);
  expect(letter?.ratings).toEqual(drafted.release?.ratings);
});

test("a memory comes back as it was kept, in one spelling", () => {
  const records = fc.tuple(
    fc.oneof(fc.integer(), fc.string({ unit: "grapheme" })),
    fc.option(fc.integer()),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(records, { selector: ([item]) => item }),
      fc.nat(),
      (found, second) => {
        const state = new State({
          created: second,
          records: found.map(([item, level]) => [
            item,
            { level, digest: "x", epoch: 3, withdrawn: false },
          ]),
          arrivals: found.map(([item]) => [item, second]),
          log: [[1, "y"]],
          letter: new TextEncoder().encode('{"é":1}'),
        });
        const turned = new State({ ...state, records: [...state.records].reverse() });
        expect(toHex(turned.encode())).toBe(toHex(state.encode()));
        expect(toHex(State.decode(state.encode()).encode())).toBe(toHex(state.encode()));
      },
    ),
  );
});

test.each([
  ["more than one message a day", { epochLength: DAY - 1 }],
  ["more than half a level", { offset: () => 500_001 }],
  ["not those of the rule", { chance: () => 19_999 }],
  ["asks for true stars", { rule: { mix: 999_999 } }],
  ["asks for true stars", { rule: { transform: "none" as const } }],
  ["unrounded releases", { rule: { rounding: false } }],
])("a disclosure is refused: %s", (says, wanted) => {
  expect(() => standardScheme.refuseUnsafe(disclosureOf(wanted))).toThrow(says);
});

test("a message of version 1 is refused with a sentence", () => {
  const old = '{"disclosure":"x","message":"release","ratings":[],"version":1}';
  expect(() => standardScheme.Release.decode(new TextEncoder().encode(old))).toThrow(
    "this message is of version 1; this program reads version 2: update the older side",
  );
});

test("experimental chances by taste are refused, not passed over", () => {
  const known = new TextDecoder().decode(disclosureOf().encode());
  const asked = known.replace('"values":', '"taste":{},"values":');
  expect(asked).not.toBe(known);
  expect(() => standardScheme.Disclosure.decode(new TextEncoder().encode(asked))).toThrow(
    "a attribute has the fields",
  );
});

test("stars that are no number lie off the scale", async () => {
  for (const star of [Number.NaN, Infinity, -Infinity, 0, 5.5]) {
    await expect(decided(disclosureOf(), new Map([[1, star]]))).rejects.toThrow("off the scale");
  }
});

test("coins fall as often as a chance says", async () => {
  const items = Array.from({ length: 2000 }, (_, number) => number);
  const disclosure = disclosureOf({ items, rule: { selection: false } });
  const { records } = await decided(disclosure, all(items));
  const levels = [...records.values()].map(({ level }) => level);
  // The offset of 0.25 levels goes out as a level less in a quarter of the cases.
  const less = levels.filter((level) => level === 1_000_000).length;
  expect(levels.every((level) => level === 1_000_000 || level === 2_000_000)).toBe(true);
  expect(Math.abs(less - 500)).toBeLessThan(120); // six standard deviations
});

test("items are shown as often as their chance says, and no item is certain", async () => {
  const items = Array.from({ length: 2000 }, (_, number) => number);
  for (const chance of [500_000, LARGEST_CHANCE]) {
    const { records } = await decided(disclosureOf({ items, chance: () => chance }), all(items));
    const shown = [...records.values()].filter(({ level }) => level !== null).length;
    expect(Math.abs(shown - chance / 500)).toBeLessThan(140); // six standard deviations
    expect(shown).toBeLessThan(2000);
  }
});

test("a list at home is ranked by sums of whole numbers, ties in the catalogue's order", () => {
  const table = new ItemTable(
    "x",
    [3, 3, 3, 10, 10],
    [
      [[1], [5]],
      [
        [0, 2],
        [100_000, -40_000],
      ],
      [[], []],
      [
        [0, 1],
        [30_000, 7],
      ],
      [[0], [30_000]],
    ],
  );
  const ranked = table.rank(
    ["a", "b", "c", "d", "e"],
    new Map<ItemId, number>([
      ["a", 4],
      ["zz", 0],
    ]),
  );
  expect(ranked).toEqual([
    ["b", 1_000_000],
    ["d", 300_000],
    ["e", 300_000],
    ["c", 0],
  ]);
  expect(() => table.rank(["a"], new Map())).toThrow("another disclosure");
  expect(() => table.rank(["a", "b", "c", "d", "e"], new Map([["a", 5]]))).toThrow("off the scale");
});
