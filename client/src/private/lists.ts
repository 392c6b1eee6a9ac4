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

import { toHex } from "../bytes.js";
import { isItemId, type ItemId } from "../items.js";
import { MessageError, require } from "../message-error.js";
import { requireObject, unpackFile, type Json, type IntegerArray } from "./file.js";

type Floats = readonly number[];

/** An item and what it is ranked by. */
export type ScoredItem = readonly [item: ItemId, score: number];

interface Tastes {
  readonly damping: Floats;
  readonly features: readonly (readonly number[])[];
  readonly mean: Floats;
  readonly directions: readonly Floats[];
  readonly items: readonly Floats[];
  /** What the tastes of liked items add to a person's; within one domain alone. */
  readonly ownLikes?: OwnLikesMap;
  /** What likes add by pairs of likes, in place of `ownLikes`. */
  readonly pairs?: PairVectors;
  /** (context, r) features beside the named ones, whose rows have the length `namedFeatures`. */
  readonly dense?: readonly Floats[];
  readonly namedFeatures: number;
  /** What a like of each item adds to others, by people who agreed not to be protected. */
  readonly consented?: readonly (readonly (readonly [item: number, weight: number])[])[];
}

interface OwnLikesMap {
  readonly matrix: readonly Floats[];
  /** (k) tastes of an average like. */
  readonly mean: Floats;
}

/** Vectors of popular items: what a like of one adds to another is their product. */
interface PairVectors {
  /** (head) item numbers, ascending. */
  readonly items: readonly number[];
  /** (head, d) */
  readonly vectors: readonly Floats[];
  /** (d) what an average person has. */
  readonly mean: Floats;
}

interface TopItems {
  readonly context: readonly number[];
  readonly targets: readonly number[];
  readonly weights: readonly Floats[];
}

/** Who may be in a list, and of how many lines. */
export interface ListOptions {
  readonly n?: number;
  readonly exclude?: Iterable<ItemId>;
  readonly candidates?: Iterable<ItemId>;
}

/**
 * What a device needs to make lists.
 *
 * header: all that the file says, with `titles` and the `card` of the model. digest: SHA-256 of the
 * file, in hex. cold: the last of the items, which no one rated; they have features alone. Ids are
 * texts, or integers that a number holds exactly.
 */
export class DeviceLists {
  private constructor(
    readonly header: Json,
    readonly digest: string,
    readonly items: readonly ItemId[],
    readonly cold: readonly ItemId[],
    readonly context: readonly ItemId[],
    private readonly means: Floats,
    private readonly model: { readonly tastes?: Tastes; readonly topItems?: TopItems },
  ) {}

  /** MessageError for bytes that are not such a file, or do not fit together. */
  static async decode(data: Uint8Array): Promise<DeviceLists> {
    const { header, arrays, digest } = await unpackFile(data);
    const known = header["message"] === "private-lists" && header["version"] === 1;
    require(known, "these lists are of a form that is not known here");
    const items = requireIds(header["items"]);
    const rated = items.slice(0, items.length - requireColdCount(header, items.length));
    const context = header["context"] === null ? rated : requireIds(header["context"]);
    const reader = new Reader(header, arrays);
    const means = reader.readColumn("means", items.length);
    const model = reader.readModel(context.length, items.length);
    const [low, high, ...more] = requireNumbers(header["scale"]);
    require(low !== undefined && high !== undefined && more.length === 0, "a scale has two ends");
    for (const name of ["liked_from", "low", "beside", "clip"]) requireFinite(header[name]);
    const cold = items.slice(rated.length);
    return new DeviceLists(header, toHex(digest), items, cold, context, means, model);
  }

  /**
   * The n best items that are not in the history or excluded, with their scores, best first; ties
   * in the order of the items. RangeError for stars off the scale.
   */
  rank(history: ReadonlyMap<ItemId, number>, options: ListOptions = {}): ScoredItem[] {
    const n = options.n ?? 10;
    if (!(n >= 1)) throw new RangeError(`A list has at least one entry; got n=${n}.`);
    const scores = this.scores(history);
    const excluded = new Set<ItemId>([...history.keys(), ...(options.exclude ?? [])]);
    const allowed = options.candidates === undefined ? undefined : new Set(options.candidates);
    const rows = this.items
      .map((item, place): ScoredItem => [item, scores[place] as number])
      .filter(([item]) => !excluded.has(item) && (allowed?.has(item) ?? true));
    rows.sort(([, one], [, other]) => other - one);
    return rows.slice(0, n);
  }

  /**
   * For each item, the n own items without which its score would fall most, and by how much. Own
   * items that raise no score are left out; ties in the order of the items. RangeError for stars
   * off the scale.
   */
  reasons(
    history: ReadonlyMap<ItemId, number>,
    items: readonly ItemId[],
    options: { readonly n?: number } = {},
  ): ScoredItem[][] {
    const places = new Map(this.items.map((item, place) => [item, place]));
    const scores = this.scores(history);
    const falls = items.map((): ScoredItem[] => []);
    for (const own of this.context.filter((item) => history.has(item))) {
      const rest = new Map(history);
      rest.delete(own);
      const without = this.scores(rest);
      for (const [number, item] of items.entries()) {
        const place = places.get(item);
        if (place === undefined) continue;
        const fall = (scores[place] as number) - (without[place] as number);
        if (fall > 0) (falls[number] as ScoredItem[]).push([own, fall]);
      }
    }
    for (const fall of falls) fall.sort(([, one], [, other]) => other - one);
    return falls.map((fall) => fall.slice(0, options.n ?? 3));
  }

  /** Of every item, for a person with this history. */
  scores(history: ReadonlyMap<ItemId, number>): number[] {
    const [least, most] = this.header["scale"] as [number, number];
    if (![...history.values()].every((stars) => least <= stars && stars <= most)) {
      throw new RangeError(`Stars lie between ${least} and ${most}.`);
    }
    const likedFrom = this.headerNumber("liked_from");
    const own = this.context.flatMap((item, place): OwnRating[] => {
      const stars = history.get(item);
      return stars === undefined ? [] : [[place, stars >= likedFrom]];
    });
    const { tastes, topItems } = this.model;
    if (tastes !== undefined) {
      return scoreByTastes(
        tastes,
        own,
        this.headerNumber("low"),
        this.headerNumber("clip"),
        this.means,
      );
    }
    if (topItems === undefined) return [...this.means];
    const low = this.header["context"] === null ? 0 : this.headerNumber("low");
    return scoreByTopItems(
      topItems,
      own,
      low,
      this.means.map((mean) => this.headerNumber("beside") * mean),
    );
  }

  private headerNumber(name: string): number {
    return this.header[name] as number;
  }
}

/** How many of the items no one rated: they are there with tastes alone. */
function requireColdCount(header: Json, items: number): number {
  const count = header["cold"];
  const isCount = typeof count === "number" && Number.isSafeInteger(count) && count >= 0;
  require(isCount && count <= items, "lists say how many items no one rated");
  require(count === 0 || header["mode"] === "taste", "items that no one rated have tastes");
  return count;
}

type OwnRating = readonly [place: number, liked: boolean];

function scoreByTastes(
  tastes: Tastes,
  own: OwnRating[],
  low: number,
  clip: number,
  means: Floats,
): number[] {
  const taste = personTaste(tastes, own, low);
  const length = Math.sqrt(dotProduct(taste, taste));
  const longest = clip * Math.sqrt(taste.length);
  const factor = length > longest ? longest / length : 1;
  const clipped = taste.map((value) => value * factor);
  const likes = own.filter(([, liked]) => liked).map(([place]) => place);
  const whole = addOwnLikes(tastes, likes, clipped);
  const scores = means.map((mean, item) => mean + dotProduct(whole, tastes.items[item] as Floats));
  if (tastes.pairs !== undefined && likes.length > 0) addPairs(tastes.pairs, likes, scores);
  const likesLength = Math.sqrt(likes.length);
  for (const place of tastes.consented === undefined ? [] : likes) {
    for (const [item, weight] of tastes.consented?.[place] ?? []) {
      scores[item] = (scores[item] as number) + weight / likesLength;
    }
  }
  return scores;
}

/** (k) taste + (x B - mean) matrix, with x the unit row of the likes; as it is without any. */
function addOwnLikes(tastes: Tastes, likes: number[], clipped: number[]): number[] {
  const map = tastes.ownLikes;
  if (map === undefined || likes.length === 0) return clipped;
  let total = map.mean.map(() => 0);
  for (const place of likes) {
    const row = tastes.items[place] as Floats;
    total = total.map((value, at) => value + (row[at] as number));
  }
  const length = Math.sqrt(likes.length);
  let taste = clipped;
  for (const [direction, row] of map.matrix.entries()) {
    const apart = (total[direction] as number) / length - (map.mean[direction] as number);
    taste = taste.map((value, at) => value + apart * (row[at] as number));
  }
  return taste;
}

/** Adds (x P - mean) P' to the scores of the head, with x the unit row of the likes. */
function addPairs(pairs: PairVectors, likes: number[], scores: number[]): void {
  const vectorOf = new Map(pairs.items.map((item, at) => [item, pairs.vectors[at] as Floats]));
  let total = pairs.mean.map(() => 0);
  for (const place of likes) {
    const vector = vectorOf.get(place);
    if (vector !== undefined) total = total.map((sum, at) => sum + (vector[at] as number));
  }
  const length = Math.sqrt(likes.length);
  const apart = total.map((sum, at) => sum / length - (pairs.mean[at] as number));
  for (const [item, vector] of vectorOf) {
    scores[item] = (scores[item] as number) + dotProduct(apart, vector);
  }
}

/** (k) the mean features of the own items less the average ones, in k directions. */
function personTaste(tastes: Tastes, own: OwnRating[], low: number): number[] {
  let total = 0;
  const shares = tastes.mean.map(() => 0);
  for (const [place, liked] of own) {
    const weight = (liked ? 1 : low) * (tastes.damping[place] as number);
    total += weight;
    const row = tastes.features[place] as readonly number[];
    for (const column of row) {
      const share = (weight / Math.sqrt(row.length)) * tastes.namedFeatures;
      shares[column] = (shares[column] as number) + share;
    }
    const dense = tastes.dense?.[place] ?? [];
    const first = shares.length - dense.length;
    for (const [column, value] of dense.entries()) {
      shares[first + column] = (shares[first + column] as number) + weight * value;
    }
  }
  let taste = (tastes.directions[0] as Floats).map(() => 0);
  if (total <= 0) return taste;
  for (const [feature, direction] of tastes.directions.entries()) {
    const difference = (shares[feature] as number) / total - (tastes.mean[feature] as number);
    taste = taste.map((value, at) => value + difference * (direction[at] as number));
  }
  return taste;
}

function scoreByTopItems(
  topItems: TopItems,
  own: OwnRating[],
  low: number,
  means: Floats,
): number[] {
  const weight = new Map(own.map(([place, liked]) => [place, liked ? 1 : low]));
  const row = topItems.context.map((place) => weight.get(place) ?? 0);
  const length = Math.sqrt(dotProduct(row, row));
  const scores = [...means];
  if (length === 0) return scores;
  let added = topItems.targets.map(() => 0);
  for (const [at, value] of row.entries()) {
    if (value === 0) continue;
    const weights = topItems.weights[at] as Floats;
    added = added.map((sum, target) => sum + value * (weights[target] as number));
  }
  for (const [at, place] of topItems.targets.entries()) {
    scores[place] = (scores[place] as number) + (added[at] as number) / length;
  }
  return scores;
}

function dotProduct(left: Floats, right: Floats): number {
  return left.reduce((sum, value, position) => sum + value * (right[position] as number), 0);
}

/** Arrays of a file as what they stand for; MessageError where they do not fit. */
class Reader {
  constructor(
    private readonly header: Json,
    private readonly arrays: ReadonlyMap<string, IntegerArray>,
  ) {}

  readModel(contextSize: number, items: number): { tastes?: Tastes; topItems?: TopItems } {
    const mode = this.header["mode"];
    if (mode === "taste") return { tastes: this.readTastes(contextSize, items) };
    if (mode === "top-items") return { topItems: this.readTopItems(contextSize, items) };
    require(mode === "popularity", "lists are of a mode that is not known here");
    return {};
  }

  readColumn(name: string, length?: number): Floats {
    const [shape, readIntegers] = this.whole(name);
    const unitOf = requireFinite(this.unit(name));
    require(shape.length === 1 && (length ?? shape[0]) === shape[0], `${name} fits the items`);
    return readIntegers.map((number) => unitOf * number);
  }

  private readTastes(contextSize: number, items: number): Tastes {
    const mean = this.readColumn("mean");
    const [offsets, columns] = this.readOffsets("", contextSize, mean.length);
    const directions = this.readTable("directions", mean.length);
    const wide = (directions[0] as Floats).length;
    const oneDomain = this.header["context"] === null;
    return {
      damping: this.readColumn("damping", contextSize),
      features: offsets.slice(1).map((end, at) => columns.slice(offsets[at], end)),
      mean,
      directions,
      items: this.readTable("items", items, wide),
      namedFeatures: requireFinite(this.header["named_features"]),
      ...(this.arrays.has("dense") ? { dense: this.readDense(contextSize, mean.length) } : {}),
      ...(oneDomain ? this.readLikes(contextSize, wide) : {}),
      ...(oneDomain && this.arrays.has("consented")
        ? { consented: this.readConsented(contextSize) }
        : {}),
    };
  }

  private readDense(contextSize: number, features: number): Floats[] {
    const dense = this.readTable("dense", contextSize);
    require((dense[0] as Floats).length <= features, "dense features are features");
    return dense;
  }

  private readConsented(items: number): [item: number, weight: number][][] {
    const [offsets, columns] = this.readOffsets("consented_", items, items);
    const weights = this.readColumn("consented", columns.length);
    const pairs = columns.map((item, at): [number, number] => [item, weights[at] as number]);
    return offsets.slice(1).map((end, at) => pairs.slice(offsets[at], end));
  }

  /** Where each of so many rows begins, and the columns of all, each below `width`. */
  private readOffsets(prefix: string, rows: number, width: number): [Floats, Floats] {
    const [offsets, columns] = [this.whole(`${prefix}offsets`)[1], this.whole(`${prefix}columns`)[1]];
    const rises = offsets.every((offset, at) => at === 0 || (offsets[at - 1] as number) <= offset);
    const ends = offsets[0] === 0 && offsets[rows] === columns.length;
    require(offsets.length === rows + 1 && rises && ends, `${prefix}offsets fit the items`);
    require(columns.every((column) => 0 <= column && column < width), `${prefix}columns are known`);
    return [offsets, columns];
  }

  /** What likes add within one domain: by pairs where there are some, else by tastes of items. */
  private readLikes(contextSize: number, k: number): Pick<Tastes, "ownLikes" | "pairs"> {
    if (this.arrays.has("pairs")) return { pairs: this.readPairs(contextSize) };
    return { ownLikes: this.readOwnLikes(k) };
  }

  private readPairs(contextSize: number): PairVectors {
    const items = this.readPositions("pair_items", contextSize);
    const ascend = items.every((item, at) => at === 0 || (items[at - 1] as number) < item);
    require(ascend, "pair_items ascend");
    const mean = this.readColumn("pairs_mean");
    return { items, vectors: this.readTable("pairs", items.length, mean.length), mean };
  }

  private readOwnLikes(k: number): OwnLikesMap {
    const matrix = this.readTable("own_likes", k, k);
    return { matrix, mean: this.readColumn("own_likes_mean", k) };
  }

  private readTopItems(contextSize: number, items: number): TopItems {
    const context = this.readPositions("context", contextSize);
    const targets = this.readPositions("targets", items);
    return { context, targets, weights: this.readTable("weights", context.length, targets.length) };
  }

  private readPositions(name: string, below: number): readonly number[] {
    const [, places] = this.whole(name);
    const known = places.every((place) => 0 <= place && place < below);
    require(known && new Set(places).size === places.length, `${name} are items`);
    return places;
  }

  private readTable(name: string, rows: number, width?: number): Floats[] {
    const [shape, whole] = this.whole(name);
    const [height, wide] = shape;
    const units = requireNumbers(this.unit(name));
    const fits = shape.length === 2 && height === rows && wide === units.length;
    require(fits && wide === (width ?? wide) && rows > 0 && wide > 0, `${name} fits the items`);
    return Array.from({ length: rows }, (_, row) =>
      units.map((unit, at) => unit * (whole[row * wide + at] as number)),
    );
  }

  private whole(name: string): IntegerArray {
    const found = this.arrays.get(name);
    require(found !== undefined, `lists have ${name}`);
    return found;
  }

  private unit(name: string): unknown {
    return requireObject(this.header["units"])[name];
  }
}

function requireIds(value: unknown): ItemId[] {
  const known =
    Array.isArray(value) && value.every(isItemId) && new Set(value).size === value.length;
  require(known, "items have ids, each its own");
  return value as ItemId[];
}

function requireNumbers(value: unknown): number[] {
  require(Array.isArray(value), "numbers come as a list");
  return value.map(requireFinite);
}

function requireFinite(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new MessageError("a number is finite");
}
