/**
 * The device half of the standard scheme.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars and attributes, and the recommender's public disclosure.
 * Releases    obfuscated stars of some of the rated items, once each.
 * Guarantee   none with an epsilon. If stars follow the linear model exactly, and people choose what
 *             to rate independently item by item, the release is independent of the attribute.
 *
 * Mirrors src/tacit/recommenders/standard_scheme/device.py. Rules that tell the attribute are always
 * refused here: experiments on the paper are made in Python.
 */

import { hex } from "../bytes.js";
import type { ItemId } from "../items.js";
import { MessageError } from "../malformed.js";
import type { Store } from "../memory.js";
import { checkSecret, sha256, type Secret } from "../randomness.js";
import { Refused } from "../refused.js";
import { content, encode, LARGEST } from "./canonical.js";
import { secretDrawing, systemDrawing, type Draw, type Drawing, type Entry } from "./drawing.js";
import {
  CONTINUOUS_LEVELS,
  MICRO,
  numberOf,
  Release,
  ruleToWire,
  scaleToWire,
  type AttributeTable,
  type Disclosure,
  type Pair,
  type Scores,
} from "./messages.js";

/**
 * What a device drew for each item, by the item's JSON. It tells everything: it stays where the
 * stars are. It is bound to the rule, the scale and the person's values: under others it is refused.
 */
export type Memory = Store<Entry>;

/** Item to stars; what the disclosure does not have stays at home. */
export type History = ReadonlyMap<ItemId, number>;

/**
 * One person's device.
 *
 * values: the person's value of each disclosed attribute, which never leaves this object. secret: the
 * account's; two devices with it and the same stars send the same bytes. Without one, only the memory
 * keeps a star from being drawn twice.
 */
export class Device {
  private readonly own: readonly number[];
  private readonly drawing: () => Promise<Drawing>;
  private readonly boundTo: () => Promise<string>;

  constructor(
    private readonly disclosure: Disclosure,
    values: Readonly<Record<string, string>>,
    private readonly memory: Memory,
    secret?: Secret,
  ) {
    refuseUnsafe(disclosure);
    this.own = disclosure.attributes.map((table) => ownRow(table, values));
    if (secret !== undefined) checkSecret(secret);
    const kept = { ...values }; // the caller's may change
    this.drawing = async () =>
      secret === undefined ? systemDrawing() : secretDrawing(secret, disclosure, kept);
    this.boundTo = () => binding(disclosure, kept);
  }

  /** Obfuscate a history for the recommender. */
  async release(history: History): Promise<Release> {
    const disclosure = await this.disclosure.digest();
    const [boundTo, drawing] = [await this.boundTo(), await this.drawing()];
    return this.memory.turn(async () => {
      const { itemNumber, items } = this.disclosure;
      const numbers = [...history.keys()]
        .map((item) => itemNumber.get(item))
        .filter((number) => number !== undefined)
        .sort((one, other) => one - other);
      const strata = this.disclosure.attributes.map((table, attribute) =>
        bisectRight(this.row(table.bounds, attribute), numbers.length),
      );
      const rated = numbers.map((number) => {
        const item = items[number] as ItemId;
        return { item, number, level: this.level(item, history.get(item) as number) };
      });
      const memory = await this.memory.read();
      const known = rated.map(({ item }) => memory.get(spelled(item)));
      refuseForeignMemory(known, boundTo);
      const changed = new Map<string, Entry>();
      const shown: Pair[] = [];
      for (const [at, { item, number, level }] of rated.entries()) {
        const earlier = known[at];
        const draw = drawing(item, earlier);
        const entry = await this.entry({ number, level, strata, earlier, draw, boundTo });
        if (entry !== earlier) changed.set(spelled(item), entry);
        if (entry.released !== null && this.shows(entry, number, strata)) {
          shown.push([item, entry.released]);
        }
      }
      const release = new Release(disclosure, shown);
      // Remembered before it is sent: a crash in between must not lead to a second draw.
      await this.memory.write(changed);
      return release;
    });
  }

  /** Predicted stars for the owner: the recommender's scores plus her attribute's effect. */
  async complete(scores: Scores): Promise<Map<ItemId, number>> {
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
      completed.set(item, numberOf(minimum) + (numberOf(step) * level) / MICRO);
    }
    return completed;
  }

  /** Stars to micro-levels; on a scale of whole stars, only whole levels are accepted. */
  private level(item: ItemId, stars: number): number {
    const { minimum, step, levels } = this.disclosure;
    const level = (stars - numberOf(minimum)) / numberOf(step);
    const inside = level >= -1e-6 && level <= this.highest() + 1e-6;
    if (!inside || (levels > 0 && Math.abs(level - roundHalfEven(level)) > 1e-6)) {
      throw new RangeError(`the stars given to item ${String(item)} lie off the scale`);
    }
    const whole = levels > 0 ? roundHalfEven(level) * MICRO : roundHalfEven(level * MICRO);
    if (whole > LARGEST) throw new MessageError("an item and its level, both whole");
    return whole;
  }

  /**
   * This star's draw, made now if it has not been made. Draws come in a fixed order.
   *
   * The dice of selection are thrown once per item and kept, whatever becomes of the star and of the
   * stratum: what is shown now is then what one release of everything would show.
   */
  private async entry(asked: {
    number: number;
    level: number;
    strata: readonly number[];
    earlier: Entry | undefined;
    draw: Draw;
    boundTo: string;
  }): Promise<Entry> {
    const { number, level, strata, earlier, draw, boundTo } = asked;
    const { mix } = this.disclosure.rule;
    const sameStar = earlier !== undefined && earlier.level === level;
    if (sameStar && earlier.released !== null) return earlier;
    if (!sameStar && mix < MICRO && (await draw(MICRO)) >= mix) {
      return { level, released: level, dice: [], boundTo };
    }
    // None were thrown for a true star.
    const dice = earlier?.dice.length ? earlier.dice : await this.throwDice(draw);
    const hidden = { level, released: null, dice, boundTo };
    if (!this.shows(hidden, number, strata)) return hidden;
    return { ...hidden, released: await this.obfuscate(number, level, draw) };
  }

  /** One die for each attribute's selection. */
  private async throwDice(draw: Draw): Promise<number[]> {
    const dice: number[] = [];
    if (!this.disclosure.rule.selection) return dice;
    for (const _ of this.disclosure.attributes) dice.push(await draw(MICRO));
    return dice;
  }

  /** Whether every attribute's rule lets the item be shown in the present stratum. */
  private shows(entry: Entry, number: number, strata: readonly number[]): boolean {
    return entry.dice.every((die, attribute) => {
      const keep = this.row((this.disclosure.attributes[attribute] as AttributeTable).keep, attribute);
      return die < (keep[strata[attribute] as number]?.[number] as number);
    });
  }

  /** What to release for one item that is shown. */
  private async obfuscate(number: number, level: number, draw: Draw): Promise<number> {
    const { rule, itemMeans, attributes } = this.disclosure;
    let released = BigInt(level);
    if (rule.transform === "scheme") {
      released -= this.offset(number);
    } else if (rule.transform === "coupling") {
      released = BigInt(await this.couple(number, level, draw));
    } else if (rule.transform === "movie-average") {
      released = BigInt(itemMeans[number] as number);
    } else if (rule.transform === "attribute-average") {
      const { means } = attributes[0] as AttributeTable;
      released = BigInt(means[await draw(means.length)]?.[number] as number);
    }
    return rule.rounding ? this.round(released, draw) : Number(released);
  }

  /** Send the level through each attribute's coupling, one after the other. */
  private async couple(number: number, level: number, draw: Draw): Promise<number> {
    let step = Math.floor(level / MICRO);
    for (const [attribute, table] of this.disclosure.attributes.entries()) {
      const row = this.row(table.coupling, attribute)[number]?.[step] as readonly number[];
      step = bisectRight(row, await draw(MICRO));
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

  /** Micro-levels to subtract for the person's own values. */
  private offset(number: number): bigint {
    return this.disclosure.attributes.reduce(
      (sum, table, attribute) => sum + BigInt(this.row(table.offsets, attribute)[number] as number),
      0n,
    );
  }

  /** The person's own row of one attribute's table. */
  private row<T>(table: readonly T[], attribute: number): T {
    return table[this.own[attribute] as number] as T;
  }

  private highest(): number {
    return this.disclosure.levels > 0 ? this.disclosure.levels - 1 : CONTINUOUS_LEVELS;
  }
}

/** How the memory names an item: 12 and "12" are two. */
function spelled(item: ItemId): string {
  return typeof item === "string" ? JSON.stringify(item) : String(item);
}

function ownRow(table: AttributeTable, values: Readonly<Record<string, string>>): number {
  const row = Object.hasOwn(values, table.name) ? table.values.indexOf(values[table.name] as string) : -1;
  if (row < 0) {
    throw new RangeError(`attribute '${table.name}' has to be one of: ${table.values.join(", ")}`);
  }
  return row;
}

/** Names the rule, the scale and the person's values that a draw was made under. */
async function binding(
  disclosure: Disclosure,
  values: Readonly<Record<string, string>>,
): Promise<string> {
  const owner = disclosure.attributes.map(({ name }) => [name, values[name] as string]);
  const rule = ruleToWire(disclosure.rule);
  const scale = scaleToWire(disclosure);
  return hex(await sha256(encode(content({ owner, rule, scale })))).slice(0, 16);
}

function refuseForeignMemory(known: readonly (Entry | undefined)[], boundTo: string): void {
  if (known.some((entry) => entry !== undefined && entry.boundTo !== boundTo)) {
    throw new Refused(
      "this memory holds releases made under another rule, scale or attribute value; " +
        "using them here, or drawing again, could tell the attribute",
    );
  }
}

/** Rules that tell the attribute whatever the tables are. */
function refuseUnsafe({ rule }: Disclosure): void {
  if (rule.transform === "scheme" && !rule.rounding) {
    throw new Refused(
      "unrounded releases tell the attribute exactly: the stars people give end after a " +
        "digit or two, and the released value plus or minus the public offset does for the " +
        "true value only",
    );
  }
  if (rule.transform === "none" || rule.mix === 0) {
    throw new Refused("this disclosure asks for true stars");
  }
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
