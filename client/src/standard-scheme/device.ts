/**
 * The device half of the standard scheme.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars and attributes, and the recommender's public disclosure.
 * Releases    obfuscated stars of some of the items that were rated on the account's first day. Each
 *             item is decided once, for ever.
 * Guarantee   none with an epsilon. If stars follow the linear model exactly, and people choose what
 *             to rate independently item by item, the release is independent of the attribute. Nobody
 *             who sees only tables and releases can be certain.
 *
 * Mirrors src/tacit/designs/standard_scheme/device.py. When a device speaks is decided in
 * account.ts. Disclosures that tell the attribute are always refused here: experiments on the paper
 * are made in Python.
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

/** Item to stars. */
export type History = ReadonlyMap<ItemId, number>;
/** The person's value of each disclosed attribute. */
export type Values = Readonly<Record<string, string>>;

/** One person's device. The values never leave this object. */
export class Device {
  private constructor(
    private readonly disclosure: Disclosure,
    private readonly ownRows: readonly number[],
    private readonly state: State,
    private readonly drawing: Drawing,
  ) {}

  /**
   * state: what was decided before; keep it durably before a release leaves. It is bound to the rule,
   * the scale and the person's values: Refused under others. dice: the account's secret, or where
   * draws come from.
   */
  static async create(
    disclosure: Disclosure,
    values: Values,
    state: State,
    dice: Secret | Drawing,
  ): Promise<Device> {
    refuseUnsafe(disclosure);
    const ownRows = disclosure.attributes.map((table) => findOwnRow(table, values));
    if (typeof dice !== "function") checkSecret(dice);
    const drawing = typeof dice === "function" ? dice : await secretDrawing(dice);
    if (state.closed) {
      throw new Refusal("another memory of this account exists, and may have decided anything");
    }
    const boundTo = await bindingDigest(disclosure, values);
    if (state.binding !== "" && state.binding !== boundTo) {
      throw new Refusal(
        "this memory was made under another rule, scale, epoch or attribute value; deciding " +
          "more here could tell the attribute",
      );
    }
    state.binding = boundTo;
    return new Device(disclosure, ownRows, state, drawing);
  }

  /**
   * Decide the items of a history that are undecided; then all that is shown. Nothing is decided in
   * an epoch in which the account decides no more: see `State.mayDecide`.
   *
   * RangeError for an undecided item with stars off the scale; nothing was decided then.
   */
  async release(history: History, epoch: number): Promise<Release> {
    const { disclosure, state } = this;
    state.followNames(disclosure.aliases);
    const rated = renameRatings(history, disclosure);
    for (const item of this.offScale(rated, epoch)) {
      throw new RangeError(`the stars given to item ${String(item)} lie off the scale`);
    }
    const digest = await disclosure.digest();
    for (const { number, item, level } of this.ratedLevels(rated, epoch)) {
      const released = await this.decide(number, level as number, this.drawing(item));
      state.records.set(item, { level: released, digest, epoch, withdrawn: false });
      state.arrivals.delete(item);
    }
    state.noteShown();
    state.markWithdrawn(rated);
    return releaseShown(state, disclosure, epoch);
  }

  /** The undecided items whose stars `release` refuses in this epoch. */
  offScale(history: History, epoch: number): ItemId[] {
    return this.ratedLevels(history, epoch).flatMap(({ item, level }) =>
      level === undefined ? item : [],
    );
  }

  /** Predicted stars for the owner: the recommender's scores plus the attribute's effect. */
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
      const level = Number(BigInt(score) + this.offset(number));
      completed.set(item, toNumber(minimum) + (toNumber(step) * level) / MICRO);
    }
    return completed;
  }

  /** What is to be decided: micro-levels of each item, undefined for stars off the scale. */
  private ratedLevels(
    rated: History,
    epoch: number,
  ): { number: number; item: ItemId; level: number | undefined }[] {
    if (!this.state.mayDecide(epoch)) return [];
    return [...this.disclosure.items.entries()]
      .filter(
        ([number, item]) =>
          rated.has(item) && this.state.isUndecided(item) && this.decidable(number),
      )
      .map(([number, item]) => ({ number, item, level: this.level(rated.get(item) as number) }));
  }

  /** On a scale of whole stars, only whole levels are on it. */
  private level(stars: number): number | undefined {
    const { minimum, step, levels } = this.disclosure;
    const level = (stars - toNumber(minimum)) / toNumber(step);
    const inside = level >= -1e-6 && level <= this.highest() + 1e-6;
    if (!inside || (levels > 0 && Math.abs(level - roundHalfEven(level)) > 1e-6)) return undefined;
    const whole = levels > 0 ? roundHalfEven(level) * MICRO : roundHalfEven(level * MICRO);
    if (whole > LARGEST) throw new MessageError("an item and its level, both whole");
    return whole;
  }

  /** Whether the tables have a chance for this item; otherwise it waits for others. */
  private decidable(number: number): boolean {
    return !this.disclosure.rule.selection || this.chances(number).every((chance) => chance > 0);
  }

  /**
   * The released level, null for held back. Draws come in a fixed order: one die for each attribute,
   * all of them whatever the first one shows; then those of the level.
   */
  private async decide(number: number, level: number, draw: Draw): Promise<number | null> {
    const { rule } = this.disclosure;
    if (rule.selection) {
      const dice: number[] = [];
      for (const _ of this.ownRows) dice.push(await draw(MICRO));
      const chances = this.chances(number);
      if (!dice.every((die, at) => die < (chances[at] as number))) return null;
    }
    const released = await this.transform(number, level, draw);
    return rule.rounding ? this.round(released, draw) : Number(released);
  }

  private async transform(number: number, level: number, draw: Draw): Promise<bigint> {
    const { rule, itemMeans, attributes } = this.disclosure;
    if (rule.transform === "scheme") return BigInt(level) - this.offset(number);
    if (rule.transform === "coupling") return BigInt(await this.couple(number, level, draw));
    if (rule.transform === "movie-average") return BigInt(itemMeans[number] as number);
    const { means } = attributes[0] as AttributeTable;
    return BigInt(means[await draw(means.length)]?.[number] as number);
  }

  /** Send the level through each attribute's coupling, one after the other. */
  private async couple(number: number, level: number, draw: Draw): Promise<number> {
    let step = Math.floor(level / MICRO);
    for (const [attribute, table] of this.disclosure.attributes.entries()) {
      const pickOwnRow = this.row(table.coupling, attribute)[number]?.[step] as readonly number[];
      step = bisectRight(pickOwnRow, await draw(MICRO));
    }
    return step * MICRO;
  }

  /** A whole level with the given mean: k + 1 with chance level - k; clipped to the scale. */
  private async round(level: bigint, draw: Draw): Promise<number> {
    const micro = BigInt(MICRO);
    const rest = ((level % micro) + micro) % micro;
    const up = (await draw(MICRO)) < Number(rest) ? 1 : 0;
    const whole = Number((level - rest) / micro) + up;
    return Math.min(Math.max(whole, 0), this.highest()) * MICRO;
  }

  /** The owner's chance to show an item, by each attribute's table. */
  private chances(number: number): number[] {
    return this.disclosure.attributes.map(
      ({ keep }, attribute) => this.row(keep, attribute)[number] as number,
    );
  }

  /** Micro-levels to subtract for the person's own values. */
  private offset(number: number): bigint {
    return this.disclosure.attributes.reduce(
      (sum, table, attribute) => sum + BigInt(this.row(table.offsets, attribute)[number] as number),
      0n,
    );
  }

  /** The person's own row of one attribute's table. */
  private row<T>(table: readonly T[], attribute: number): T {
    return table[this.ownRows[attribute] as number] as T;
  }

  private highest(): number {
    return this.disclosure.levels > 0 ? this.disclosure.levels - 1 : CONTINUOUS_LEVELS;
  }
}

/** All that is shown and in the catalogue: no owner and no dice are needed. */
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

/** A map by items under new ids; an entry of the new id itself counts before an old id's. */
export function renameRatings<V>(
  entries: ReadonlyMap<ItemId, V>,
  { aliases }: Pick<Disclosure, "aliases">,
): Map<ItemId, V> {
  const underNewIds = aliases
    .filter(([oldIds]) => entries.has(oldIds))
    .map(([old, now]) => [now, entries.get(old) as V] as const);
  const old = new Set(aliases.map(([id]) => id));
  return new Map([...underNewIds, ...[...entries].filter(([item]) => !old.has(item))]);
}

function findOwnRow(table: AttributeTable, values: Values): number {
  const row = Object.hasOwn(values, table.name)
    ? table.values.indexOf(values[table.name] as string)
    : -1;
  if (row < 0) {
    throw new Refusal(`attribute '${table.name}' has to be one of: ${table.values.join(", ")}`);
  }
  return row;
}

/** Names the rule, the scale, the epochs and the person's values; it never leaves the device. */
async function bindingDigest(disclosure: Disclosure, values: Values): Promise<string> {
  const bound = sortedFields({
    epoch_length: disclosure.epochLength,
    owner: disclosure.attributes.map(({ name }) => [name, values[name] as string]),
    rule: ruleToWire(disclosure.rule),
    scale: scaleToWire(disclosure),
  });
  return toHex(await sha256(encode(bound))).slice(0, 16);
}

/** How many entries of a row that goes up are at most `value`. */
function bisectRight(row: readonly number[], value: number): number {
  return row.filter((entry) => entry <= value).length;
}

/** The nearest whole number, the even one of two: as Python rounds. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}
