/**
 * Letters are made of what was decided on the first day: of later ratings they tell nothing.
 *
 * Two lives are equal in what is rated on the first day, in what is deleted of it, and in all that the
 * service and the device do. One of them also rates other items later. Their letters are the same
 * bytes. No later rating is of an item that a letter has shown: that is rating it again.
 *
 * Mirrors tests/designs/standard_scheme/test_first_day.py.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { toHex, newSecret, standardScheme, type Bytes } from "../src/index.js";
import type { ItemId } from "../src/items.js";
import { BEGIN, disclosureOf, FEMALE, Person, SECRET } from "./worlds.js";

const { LARGEST_CHANCE, DAY, openState, State, WEEK } = standardScheme;

const ITEMS = [0, 1, 2, 3, 4, 5];
/** Rated on the first day, or never. */
const EARLY = [0, 1, 2];

type Kind = "rate" | "delete" | "rename" | "restore" | "lose";
type Happening = readonly [kind: Kind, item: number, other?: number];

/** An account under a service that renames items; its device loses and restores memories. */
class Life {
  readonly letters: string[] = [];
  readonly aliases = new Map<ItemId, ItemId>();
  private readonly person: Person;
  private readonly history: Map<ItemId, number>;
  private readonly copies: Bytes[] = [new State({ created: BEGIN }).encode()];
  private week = 0;
  private lastLetterEpoch = -1;

  constructor(early: readonly number[], secret: Bytes = SECRET) {
    this.person = new Person(FEMALE, secret);
    this.history = new Map(early.map((item) => [item, 3]));
  }

  async begin(): Promise<this> {
    await this.person.begin();
    await this.speak(BEGIN + 1800);
    await this.speak(BEGIN + DAY);
    return this;
  }

  /**
   * Send the two letters of the first day. In between all ratings are deleted, the memory from before
   * the first letter is restored, and two items are rated, one of them again.
   */
  async beginWithOldMemory(): Promise<this> {
    await this.person.begin();
    await this.speak(BEGIN + 1800);
    expect(this.shownItems()).toEqual([...this.history.keys()]);
    this.history.clear();
    await this.open(this.copies[0], BEGIN + 3600);
    this.history.set(0, 5).set(4, 5);
    await this.speak(BEGIN + DAY);
    expect(this.last?.epoch).toBe(1);
    return this;
  }

  /** Live one week in which these things happen; then the letter is due. */
  async turn(...happenings: Happening[]): Promise<void> {
    this.week += 1;
    const now = BEGIN + (this.week + 1) * WEEK;
    for (const happening of happenings) await this.happen(now, happening);
    await this.speak(now);
  }

  isAgain([kind, item]: Happening): boolean {
    return kind === "rate" && [...this.aliases].flat().includes(item);
  }

  shownItems(): ItemId[] {
    return (this.last?.ratings ?? []).map(([item]) => item);
  }

  private last: standardScheme.Release | undefined;

  private async happen(now: number, [kind, item, other = 0]: Happening): Promise<void> {
    if (kind === "rate" && !EARLY.includes(item) && !this.history.has(item)) {
      this.history.set(item, 5);
    }
    if (kind === "delete" && EARLY.includes(item)) this.history.delete(item);
    if (kind === "rename") this.rename(item, other);
    if (kind === "restore") await this.open(this.copies[other % this.copies.length], now);
    if (kind === "lose") await this.open(undefined, now);
  }

  private rename(old: ItemId, now: ItemId): void {
    const { aliases } = this;
    const isSame = (aliases.get(old) ?? old) === (aliases.get(now) ?? now);
    if (isSame || aliases.has(old) || aliases.has(now)) return;
    for (const [before, after] of aliases) if (after === old) aliases.set(before, now);
    aliases.set(old, now);
  }

  private async open(copy: Bytes | undefined, now: number): Promise<void> {
    const found = copy === undefined ? undefined : State.decode(copy);
    const { lastLetterEpoch } = this;
    const start = { now, length: WEEK, lastLetterEpoch };
    await this.person.restart(openState(found, this.history.keys(), start));
  }

  private async speak(now: number): Promise<void> {
    const items = ITEMS.filter((item) => !this.aliases.has(item));
    const tables = disclosureOf({ items, aliases: [...this.aliases], chance: () => LARGEST_CHANCE });
    this.last = await this.person.speak(tables, this.history, now);
    this.letters.push(this.last === undefined ? "" : toHex(this.last.encode()));
    const state = await this.person.account.readState();
    if (state === undefined) return;
    this.copies.push(state.encode());
    this.lastLetterEpoch = Math.max(this.lastLetterEpoch, state.lastLetterEpoch);
  }
}

const happenings: fc.Arbitrary<Happening> = fc.tuple(
  fc.constantFrom<Kind[]>("rate", "rate", "delete", "delete", "rename", "rename", "restore", "lose"),
  fc.constantFrom(...ITEMS),
  fc.constantFrom(...ITEMS),
);
const weeks = fc.array(fc.array(happenings, { maxLength: 2 }), { maxLength: 10 });
const early = fc.subarray(EARLY, { minLength: 1 });

test("with and without later ratings, the letters are the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(early, weeks, async (rated, turns) => {
      const secret = newSecret();
      const plain = await new Life(rated, secret).begin();
      const more = await new Life(rated, secret).begin();
      if (plain.shownItems().length === 0) return;
      for (const week of turns) {
        const later = week.filter((one) => !plain.isAgain(one));
        await plain.turn(...week.filter(([kind]) => kind !== "rate"));
        await more.turn(...later);
        expect(more.letters).toEqual(plain.letters);
      }
    }),
    { numRuns: 40 },
  );
}, 60_000);

test.each([[[]], [[4]], [[5]]])(
  "a new name of a deleted item does not ask whether it was rated later: %j",
  async (later) => {
    const life = await new Life([0, 1, 2]).begin();
    expect(life.shownItems()).toEqual([0, 1, 2]);
    await life.turn(["delete", 0]);
    for (const item of later) await life.turn(["rate", item]);
    await life.turn(["rename", 0, 4]);
    expect(life.shownItems()).toEqual([1, 2]);
  },
);

test("shown ratings are deleted and renamed, and nothing later is decided", async () => {
  const life = await new Life([0, 1, 2]).begin();
  for (const item of EARLY) await life.turn(["delete", item]);
  await life.turn(["rate", 4]);
  for (const item of EARLY) await life.turn(["rename", item, item + 9]);
  expect(life.shownItems()).toEqual([]);
});

test.each(["restore", "lose"] as const)(
  "after a memory is gone (%s), nothing is decided",
  async (kind) => {
    const life = await new Life([0, 1, 2]).begin();
    await life.turn([kind, 0]);
    await life.turn(["rate", 4]);
    await life.turn(["rate", 5]);
    expect(life.shownItems()).toEqual([]);
  },
);

test("an old memory decides nothing on the first day, not even what was deleted since", async () => {
  const life = await new Life([0, 1]).beginWithOldMemory();
  expect(life.shownItems()).toEqual([]);
});

test("a merged rating does not keep a shown item in the letters", async () => {
  const life = await new Life([0, 1, 2]).begin();
  await life.turn(["rate", 4]);
  await life.turn(["rename", 0, 4]);
  expect(life.shownItems()).toEqual([1, 2, 4]);
  await life.turn(["delete", 0]);
  expect(life.shownItems()).toEqual([1, 2]);
});
