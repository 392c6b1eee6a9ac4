/**
 * The device half of the standard scheme.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars and attributes, and the recommender's public disclosure.
 * Releases    obfuscated stars of some of the items that were rated on the account's first day. Each
 *             item is decided once, for ever.
 * Guarantee   none with an epsilon. If stars follow the linear model exactly, and people choose what
 *             to rate independently item by item, the release is independent of the attribute. Someone
 *             who sees only tables and releases can never be certain of the attribute.
 *
 * Mirrors src/tacit/designs/standard_scheme/device.py. account.ts decides when a letter is sent.
 * Disclosures that would reveal the attribute are always refused here; experiments on the paper are
 * made in Python.
 */

import { toHex } from "../bytes.js";
import type { ItemId } from "../items.js";
import { MessageError } from "../message-error.js";
import { checkSecret, sha256, type Secret } from "../randomness.js";
import { Refusal } from "../refusal.js";
import { sortedFields, encode, LARGEST } from "./canonical.js";
import { secretDrawing, type Draw, type Drawing } from "./drawing.js";
import {
  CONTINUOUS_LEVELS,
  toNumber,
  Release,
  scaleToWire,
  type Disclosure,
  type Pair,
  type Scores,
} from "./messages.js";
import { refuseUnsafe } from "./unsafe-disclosures.js";
import type { State } from "./state.js";
import { MICRO, ruleToWire, type AttributeTable } from "./tables.js";

/** Stars by item. */
export type History = ReadonlyMap<ItemId, number>;
/** The person's value of each disclosed attribute. */
export type Values = Readonly<Record<string, string>>;

/** Largest distance from a level, in levels, at which stars count as on it in spite of float errors. */
const LEVEL_TOLERANCE = 1e-6;

/** Types of stars; any other stars are off the scale. true is 1 and false is 0, as in Python. */
const NUMBER_TYPES = ["number", "bigint", "boolean"];

/** One person's device. The values never leave this object. */
export class Device {
  private constructor(
    private readonly disclosure: Disclosure,
    private readonly ownRows: readonly number[],
    private readonly state: State,
    private readonly drawing: Drawing,
  ) {}

  /**
   * Create a device. Refusal for an unsafe disclosure, an unknown value, or a state that was made
   * under another rule, scale, value or list of values.
   *
   * @param state the decisions made so far; it has to be stored durably before a release leaves.
   * @param secretOrDrawing the account's secret, from which draws are made, or a source of draws.
   */
  static async create(
    disclosure: Disclosure,
    values: Values,
    state: State,
    secretOrDrawing: Secret | Drawing,
  ): Promise<Device> {
    refuseUnsafe(disclosure);
    const ownRows = await findOwnRows(disclosure, values, state);
    let drawing: Drawing;
    if (typeof secretOrDrawing === "function") {
      drawing = secretOrDrawing;
    } else {
      checkSecret(secretOrDrawing);
      drawing = await secretDrawing(secretOrDrawing);
    }
    state.binding = await bindingDigest(disclosure, values);
    return new Device(disclosure, ownRows, state, drawing);
  }

  /**
   * Decide the undecided items of a history, and release all items that are shown. In an epoch in
   * which `State.mayDecide` is false, nothing is decided.
   *
   * RangeError for an undecided item with stars off the scale; then nothing was decided.
   */
  async release(history: History, epoch: number): Promise<Release> {
    const { disclosure, state } = this;
    state.followNames(disclosure.aliases);
    const rated = renameRatings(history, disclosure);
    for (const item of this.offScale(rated, epoch)) {
      throw new RangeError(`the stars given to item ${String(item)} lie off the scale`);
    }
    const digest = await disclosure.digest();
    for (const { number, item, level } of this.itemsToDecide(rated, epoch)) {
      const released = await this.decide(number, level as number, this.drawing(item));
      state.records.set(item, { level: released, digest, epoch, withdrawn: false });
      state.arrivals.delete(item);
    }
    state.noteShown();
    state.markWithdrawn(rated);
    return releaseShown(state, disclosure, epoch);
  }

  /** List the undecided items whose stars `release` refuses in this epoch. */
  offScale(history: History, epoch: number): ItemId[] {
    return this.itemsToDecide(history, epoch).flatMap(({ item, level }) =>
      level === undefined ? item : [],
    );
  }

  /** Compute predicted stars for the owner: the recommender's scores plus the attribute's effect. */
  async completeScores(scores: Scores): Promise<Map<ItemId, number>> {
    const { itemNumber, minimum, step } = this.disclosure;
    if (scores.disclosure !== (await this.disclosure.digest())) {
      throw new RangeError("these scores were made for another disclosure");
    }
    const completed = new Map<ItemId, number>();
    for (const [item, score] of scores.scores) {
      const number = itemNumber.get(item);
      if (number === undefined) {
        throw new RangeError("these scores name an item that the disclosure does not have");
      }
      const level = Number(BigInt(score) + this.ownOffset(number));
      completed.set(item, toNumber(minimum) + (toNumber(step) * level) / MICRO);
    }
    return completed;
  }

  /** List the items to decide, with their micro-levels; undefined for stars off the scale. */
  private itemsToDecide(
    rated: History,
    epoch: number,
  ): { number: number; item: ItemId; level: number | undefined }[] {
    if (!this.state.mayDecide(epoch)) return [];
    return [...this.disclosure.items.entries()]
      .filter(
        ([number, item]) =>
          rated.has(item) && this.state.isUndecided(item) && this.isDecidable(number),
      )
      .map(([number, item]) => {
        return { number, item, level: this.toMicroLevel(rated.get(item) as number) };
      });
  }

  /**
   * Convert stars to micro-levels; undefined for stars off the scale. On a scale of whole levels,
   * stars between two levels are off the scale. So is, on each scale, what is no number, such as a text.
   */
  private toMicroLevel(stars: number): number | undefined {
    const { minimum, step, levels } = this.disclosure;
    const isContinuous = levels === 0;
    if (!NUMBER_TYPES.includes(typeof stars)) return undefined;
    const level = (Number(stars) - toNumber(minimum)) / toNumber(step);
    const isInside = level >= -LEVEL_TOLERANCE && level <= this.highestLevel() + LEVEL_TOLERANCE;
    const isWhole = Math.abs(level - roundHalfEven(level)) <= LEVEL_TOLERANCE;
    if (!isInside || !(isContinuous || isWhole)) return undefined;
    const micros = isContinuous ? roundHalfEven(level * MICRO) : roundHalfEven(level) * MICRO;
    if (micros > LARGEST) throw new MessageError("an item and its level, both whole");
    return micros;
  }

  /** Say whether an item may be decided: it may not if its chance to be shown is 0 in these tables. */
  private isDecidable(number: number): boolean {
    return !this.disclosure.rule.selection || this.chances(number).every((chance) => chance > 0);
  }

  /**
   * Decide an item: return the released micro-levels, or null if the item is held back. Draws are made
   * in a fixed order: first one for each attribute, even if an earlier one holds the item back, then
   * those for the level.
   *
   * @param number the item's position in the disclosure.
   * @param level the true micro-levels.
   */
  private async decide(number: number, level: number, draw: Draw): Promise<number | null> {
    const { rule } = this.disclosure;
    if (rule.selection) {
      const draws: number[] = [];
      for (const _ of this.ownRows) draws.push(await draw(MICRO));
      const chances = this.chances(number);
      const isShown = draws.every((drawn, attribute) => drawn < (chances[attribute] as number));
      if (!isShown) return null;
    }
    const released = await this.transform(number, level, draw);
    return rule.rounding ? this.roundAtRandom(released, draw) : Number(released);
  }

  /** Transform a level by the disclosure's rule, before it is rounded; in micro-levels. */
  private async transform(number: number, level: number, draw: Draw): Promise<bigint> {
    const { rule, itemMeans, attributes } = this.disclosure;
    if (rule.transform === "scheme") return BigInt(level) - this.ownOffset(number);
    if (rule.transform === "coupling") return BigInt(await this.drawCoupled(number, level, draw));
    if (rule.transform === "movie-average") return BigInt(itemMeans[number] as number);
    const { means } = attributes[0] as AttributeTable;
    return BigInt(means[await draw(means.length)]?.[number] as number);
  }

  /** Draw a new level by each attribute's coupling, one after the other; in micro-levels. */
  private async drawCoupled(number: number, level: number, draw: Draw): Promise<number> {
    let wholeLevel = Math.floor(level / MICRO);
    for (const [attribute, table] of this.disclosure.attributes.entries()) {
      const rowsOfItem = this.ownRow(table.coupling, attribute)[number];
      const cumulative = rowsOfItem?.[wholeLevel] as readonly number[];
      wholeLevel = bisectRight(cumulative, await draw(MICRO));
    }
    return wholeLevel * MICRO;
  }

  /**
   * Round micro-levels at random to a whole level, so that the mean of the result is the level: from
   * between k and k + 1 up to k + 1 with chance level - k. The result, in micro-levels, is clipped to
   * the scale.
   */
  private async roundAtRandom(level: bigint, draw: Draw): Promise<number> {
    const micro = BigInt(MICRO);
    const fraction = ((level % micro) + micro) % micro;
    const isRoundedUp = (await draw(MICRO)) < Number(fraction);
    const below = Number((level - fraction) / micro);
    const rounded = isRoundedUp ? below + 1 : below;
    return Math.min(Math.max(rounded, 0), this.highestLevel()) * MICRO;
  }

  /** Return the owner's chances to show an item, one for each attribute. */
  private chances(number: number): number[] {
    return this.disclosure.attributes.map(
      ({ keep }, attribute) => this.ownRow(keep, attribute)[number] as number,
    );
  }

  /** Sum the micro-levels to subtract for the person's own values. */
  private ownOffset(number: number): bigint {
    let sum = 0n;
    for (const [attribute, { offsets }] of this.disclosure.attributes.entries()) {
      sum += BigInt(this.ownRow(offsets, attribute)[number] as number);
    }
    return sum;
  }

  /** Return the row of one attribute's table for the person's own value. */
  private ownRow<T>(table: readonly T[], attribute: number): T {
    return table[this.ownRows[attribute] as number] as T;
  }

  /** Return the highest level of the scale. */
  private highestLevel(): number {
    return this.disclosure.levels > 0 ? this.disclosure.levels - 1 : CONTINUOUS_LEVELS;
  }
}

/** Make a release of all shown items of the disclosure, without deciding any item. */
export async function releaseShown(
  state: State,
  disclosure: Disclosure,
  epoch: number,
): Promise<Release> {
  const levels = state.shownLevels();
  const ratings = disclosure.items
    .filter((item) => levels.has(item))
    .map((item): Pair => [item, levels.get(item) as number]);
  return new Release(await disclosure.digest(), epoch, ratings);
}

/** Rename the items of a map by the aliases; an entry of the new id replaces that of an old one. */
export function renameRatings<V>(
  entries: ReadonlyMap<ItemId, V>,
  { aliases }: Pick<Disclosure, "aliases">,
): Map<ItemId, V> {
  const renamed = aliases
    .filter(([oldId]) => entries.has(oldId))
    .map(([oldId, newId]) => [newId, entries.get(oldId) as V] as const);
  const oldIds = new Set(aliases.map(([oldId]) => oldId));
  const others = [...entries].filter(([item]) => !oldIds.has(item));
  return new Map([...renamed, ...others]);
}

/**
 * Find the rows of the person's values, if the memory may decide under this disclosure; Refusal
 * otherwise.
 *
 * The first call with a memory stores in it which values the disclosure lists. A later disclosure with
 * other lists is refused, whatever the person's value is. Otherwise a service could list some values now
 * and others later: the letter that first shows an item would reveal the value.
 */
export async function findOwnRows(
  disclosure: Disclosure,
  values: Values,
  state: State,
): Promise<number[]> {
  const listed = disclosure.attributes.map((table) => [table.name, table.values] as const);
  if (state.values.length === 0) state.values = listed;
  const ownRows = disclosure.attributes.map((table) => findOwnRow(table, values));
  if (state.closed) {
    throw new Refusal("another memory of this account exists, and may have decided anything");
  }
  const binding = await bindingDigest(disclosure, values);
  if (state.binding !== "" && state.binding !== binding) {
    throw new Refusal(
      "this memory was made under another rule, scale, epoch or attribute value; deciding " +
        "more here could tell the attribute",
    );
  }
  if (JSON.stringify(state.values) !== JSON.stringify(listed)) {
    throw new Refusal(
      "the disclosure lists other attribute values than the first one that this memory was " +
        "used with; deciding more here could tell the attribute",
    );
  }
  return ownRows;
}

/** Find the row of the person's value in an attribute's tables; Refusal for an unknown value. */
function findOwnRow(table: AttributeTable, values: Values): number {
  const row = Object.hasOwn(values, table.name)
    ? table.values.indexOf(listedValue(table, values))
    : -1;
  if (row < 0) {
    throw new Refusal(`attribute '${table.name}' has to be one of: ${table.values.join(", ")}`);
  }
  return row;
}

/** Return the person's value as the disclosure lists it: blanks around it do not count. */
function listedValue(table: AttributeTable, values: Values): string {
  const value = values[table.name] as string;
  const isText = typeof value === "string"; // a program in JavaScript may give anything
  return !isText || table.values.includes(value) ? value : value.trim();
}

/** Digest the rule, the scale, the epochs and the person's values; it never leaves the device. */
async function bindingDigest(disclosure: Disclosure, values: Values): Promise<string> {
  const fields = sortedFields({
    epoch_length: disclosure.epochLength,
    owner: disclosure.attributes.map((table) => [table.name, listedValue(table, values)]),
    rule: ruleToWire(disclosure.rule),
    scale: scaleToWire(disclosure),
  });
  return toHex(await sha256(encode(fields))).slice(0, 16);
}

/** Count the entries of a rising row that are at most `value`. */
function bisectRight(row: readonly number[], value: number): number {
  return row.filter((entry) => entry <= value).length;
}

/** Round to the nearest whole number, and a half to the even one, as Python rounds. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const fraction = value - below;
  if (fraction !== 0.5) return fraction < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}
