/**
 * Lists on the device from the released model: a person's own stars never leave it.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars and the published file, the same for everybody.
 * Releases    nothing.
 * Guarantee   the file's own: (epsilon, delta) for each person whose ratings it was learned from.
 *
 * Mirrors src/tacit/designs/private/device.py. Sums run in the order of the item numbers, and only
 * +, *, / and square roots are used, so that two languages find the same scores to the last bit.
 */

import { hex } from "../bytes.js";
import { isId, type ItemId } from "../items.js";
import { MessageError, require } from "../malformed.js";
import { object, unpack, type Json, type Whole } from "./file.js";

type Floats = readonly number[];

/** An item and what it is ranked by. */
export type Scored = readonly [item: ItemId, score: number];

interface Tastes {
  readonly damping: Floats;
  readonly features: readonly (readonly number[])[];
  readonly mean: Floats;
  readonly directions: readonly Floats[];
  readonly items: readonly Floats[];
}

interface TopItems {
  readonly context: readonly number[];
  readonly targets: readonly number[];
  readonly weights: readonly Floats[];
}

/** Who may be in a list, and of how many lines. */
export interface Asked {
  readonly n?: number;
  readonly exclude?: Iterable<ItemId>;
  readonly candidates?: Iterable<ItemId>;
}

/**
 * What a device needs to make lists.
 *
 * header: all that the file says, with `titles` and the `card` of the model. digest: SHA-256 of the
 * file, in hex. Ids are texts, or integers that a number holds exactly.
 */
export class DeviceLists {
  private constructor(
    readonly header: Json,
    readonly digest: string,
    readonly items: readonly ItemId[],
    readonly context: readonly ItemId[],
    private readonly means: Floats,
    private readonly found: { readonly tastes?: Tastes; readonly topItems?: TopItems },
  ) {}

  /** MessageError for bytes that are not such a file, or do not fit together. */
  static async decode(data: Uint8Array): Promise<DeviceLists> {
    const { header, arrays, digest } = await unpack(data);
    const known = header["message"] === "private-lists" && header["version"] === 1;
    require(known, "these lists are of a form that is not known here");
    const items = ids(header["items"]);
    const context = header["context"] === null ? items : ids(header["context"]);
    const from = new Reader(header, arrays);
    const means = from.column("means", items.length);
    const found = from.found(context.length, items.length);
    const [low, high, ...more] = numbers(header["scale"]);
    require(low !== undefined && high !== undefined && more.length === 0, "a scale has two ends");
    for (const name of ["liked_from", "low", "beside", "clip"]) finite(header[name]);
    return new DeviceLists(header, hex(digest), items, context, means, found);
  }

  /**
   * The n best items that are not in the history or excluded, with their scores, best first; ties
   * in the order of the items. RangeError for stars off the scale.
   */
  rank(history: ReadonlyMap<ItemId, number>, asked: Asked = {}): Scored[] {
    const n = asked.n ?? 10;
    if (!(n >= 1)) throw new RangeError(`A list has at least one entry; got n=${n}.`);
    const scores = this.scores(history);
    const leftOut = new Set<ItemId>([...history.keys(), ...(asked.exclude ?? [])]);
    const allowed = asked.candidates === undefined ? undefined : new Set(asked.candidates);
    const rows = this.items
      .map((item, place): Scored => [item, scores[place] as number])
      .filter(([item]) => !leftOut.has(item) && (allowed?.has(item) ?? true));
    rows.sort(([, one], [, other]) => other - one);
    return rows.slice(0, n);
  }

  /** Of every item, for a person with this history. */
  scores(history: ReadonlyMap<ItemId, number>): number[] {
    const [least, most] = this.header["scale"] as [number, number];
    if (![...history.values()].every((stars) => least <= stars && stars <= most)) {
      throw new RangeError(`Stars lie between ${least} and ${most}.`);
    }
    const likedFrom = this.number("liked_from");
    const own = this.context.flatMap((item, place): Own[] => {
      const stars = history.get(item);
      return stars === undefined ? [] : [[place, stars >= likedFrom]];
    });
    const { tastes, topItems } = this.found;
    if (tastes !== undefined) {
      return byTastes(tastes, own, this.number("low"), this.number("clip"), this.means);
    }
    if (topItems === undefined) return [...this.means];
    const low = this.header["context"] === null ? 0 : this.number("low");
    return byTopItems(topItems, own, low, this.means.map((mean) => this.number("beside") * mean));
  }

  private number(name: string): number {
    return this.header[name] as number;
  }
}

type Own = readonly [place: number, liked: boolean];

function byTastes(found: Tastes, own: Own[], low: number, clip: number, means: Floats): number[] {
  const taste = tasteOf(found, own, low);
  const length = Math.sqrt(dot(taste, taste));
  const most = clip * Math.sqrt(taste.length);
  const cut = length > most ? most / length : 1;
  const within = taste.map((value) => value * cut);
  return means.map((mean, item) => mean + dot(within, found.items[item] as Floats));
}

/** (k) the mean features of the own items less the average ones, in k directions. */
function tasteOf(found: Tastes, own: Own[], low: number): number[] {
  let total = 0;
  const shares = found.mean.map(() => 0);
  for (const [place, liked] of own) {
    const weight = (liked ? 1 : low) * (found.damping[place] as number);
    total += weight;
    const row = found.features[place] as readonly number[];
    for (const column of row) {
      shares[column] = (shares[column] as number) + weight / Math.sqrt(row.length);
    }
  }
  let taste = (found.directions[0] as Floats).map(() => 0);
  if (total <= 0) return taste;
  for (const [feature, direction] of found.directions.entries()) {
    const apart = (shares[feature] as number) / total - (found.mean[feature] as number);
    taste = taste.map((value, at) => value + apart * (direction[at] as number));
  }
  return taste;
}

function byTopItems(found: TopItems, own: Own[], low: number, means: Floats): number[] {
  const weight = new Map(own.map(([place, liked]) => [place, liked ? 1 : low]));
  const row = found.context.map((place) => weight.get(place) ?? 0);
  const length = Math.sqrt(dot(row, row));
  const scores = [...means];
  if (length === 0) return scores;
  let added = found.targets.map(() => 0);
  for (const [at, value] of row.entries()) {
    if (value === 0) continue;
    const weights = found.weights[at] as Floats;
    added = added.map((sum, target) => sum + value * (weights[target] as number));
  }
  for (const [at, place] of found.targets.entries()) {
    scores[place] = (scores[place] as number) + (added[at] as number) / length;
  }
  return scores;
}

function dot(one: Floats, other: Floats): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] as number), 0);
}

/** Arrays of a file as what they stand for; MessageError where they do not fit. */
class Reader {
  constructor(
    private readonly header: Json,
    private readonly arrays: ReadonlyMap<string, Whole>,
  ) {}

  found(known: number, items: number): { tastes?: Tastes; topItems?: TopItems } {
    const mode = this.header["mode"];
    if (mode === "taste") return { tastes: this.tastes(known, items) };
    if (mode === "top-items") return { topItems: this.topItems(known, items) };
    require(mode === "popularity", "lists are of a mode that is not known here");
    return {};
  }

  column(name: string, length?: number): Floats {
    const [shape, whole] = this.whole(name);
    const unit = finite(this.unit(name));
    require(shape.length === 1 && (length ?? shape[0]) === shape[0], `${name} fits the items`);
    return whole.map((number) => unit * number);
  }

  private tastes(known: number, items: number): Tastes {
    const mean = this.column("mean");
    const [offsets, columns] = [this.whole("offsets")[1], this.whole("columns")[1]];
    const rises = offsets.every((offset, at) => at === 0 || (offsets[at - 1] as number) <= offset);
    const ends = offsets[0] === 0 && offsets[known] === columns.length;
    require(offsets.length === known + 1 && rises && ends, "features fit the items");
    require(columns.every((column) => 0 <= column && column < mean.length), "features are known");
    const directions = this.table("directions", mean.length);
    const wide = (directions[0] as Floats).length;
    return {
      damping: this.column("damping", known),
      features: offsets.slice(1).map((end, at) => columns.slice(offsets[at], end)),
      mean,
      directions,
      items: this.table("items", items, wide),
    };
  }

  private topItems(known: number, items: number): TopItems {
    const context = this.places("context", known);
    const targets = this.places("targets", items);
    return { context, targets, weights: this.table("weights", context.length, targets.length) };
  }

  private places(name: string, below: number): readonly number[] {
    const [, places] = this.whole(name);
    const known = places.every((place) => 0 <= place && place < below);
    require(known && new Set(places).size === places.length, `${name} are items`);
    return places;
  }

  private table(name: string, rows: number, width?: number): Floats[] {
    const [shape, whole] = this.whole(name);
    const [height, wide] = shape;
    const units = numbers(this.unit(name));
    const fits = shape.length === 2 && height === rows && wide === units.length;
    require(fits && wide === (width ?? wide) && rows > 0 && wide > 0, `${name} fits the items`);
    return Array.from({ length: rows }, (_, row) =>
      units.map((unit, at) => unit * (whole[row * wide + at] as number)),
    );
  }

  private whole(name: string): Whole {
    const found = this.arrays.get(name);
    require(found !== undefined, `lists have ${name}`);
    return found;
  }

  private unit(name: string): unknown {
    return object(this.header["units"])[name];
  }
}

function ids(value: unknown): ItemId[] {
  const known = Array.isArray(value) && value.every(isId) && new Set(value).size === value.length;
  require(known, "items have ids, each its own");
  return value as ItemId[];
}

function numbers(value: unknown): number[] {
  require(Array.isArray(value), "numbers come as a list");
  return value.map(finite);
}

function finite(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new MessageError("a number is finite");
}
