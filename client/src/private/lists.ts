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

/** Largest absolute value of a number, as in model files: a product of three stays finite. */
const LARGEST_NUMBER = 1e100;

/** An item and the score by which it is ranked. */
export type ScoredItem = readonly [item: ItemId, score: number];

/**
 * A released model of tastes: k directions in the space of features. `context` is the number of items
 * that a history may hold, `items` that of items that may be listed.
 */
interface Tastes {
  /** (context) weight of each item in a person's mean features. */
  readonly damping: Floats;
  /** (context, ...) columns of the named features that each item has. */
  readonly features: readonly (readonly number[])[];
  /** (features) features of an average person. */
  readonly mean: Floats;
  /** (features, k) maps features to tastes. */
  readonly directions: readonly Floats[];
  /** (items, k) tastes of the items that may be listed. */
  readonly items: readonly Floats[];
  /** Maps the tastes of liked items to an addition to the person's taste; in one domain only. */
  readonly ownLikes?: OwnLikesMap;
  /** Additions to scores by pairs of likes, instead of `ownLikes`. */
  readonly pairs?: PairVectors;
  /** (context, r) features without names: the last r columns of all features. */
  readonly dense?: readonly Floats[];
  /** L2 norm of an item's row of named features. */
  readonly namedFeatures: number;
  /**
   * (context) for each item, the weights that a like of it adds to other items' scores, learned from
   * people who agreed not to be protected.
   */
  readonly consented?: readonly (readonly (readonly [item: number, weight: number])[])[];
}

/**
 * The map of likes to tastes: likes add (x B - mean) matrix, where x is the row of likes divided by
 * its length, and B the items' tastes.
 */
interface OwnLikesMap {
  /** (k, k) */
  readonly matrix: readonly Floats[];
  /** (k) x B of an average person. */
  readonly mean: Floats;
}

/** Vectors of popular items: a like of one adds the product of both vectors to another's score. */
interface PairVectors {
  /** (head) numbers of the popular items, ascending. */
  readonly items: readonly number[];
  /** (head, d) */
  readonly vectors: readonly Floats[];
  /** (d) x P of an average person, for the row x of their likes and the vectors P: see `addPairs`. */
  readonly mean: Floats;
}

/** Released weights between popular items. */
interface TopItems {
  /** Positions, in the history's context, of the items whose ratings count. */
  readonly context: readonly number[];
  /** Positions of the items whose scores change. */
  readonly targets: readonly number[];
  /** (context, targets) */
  readonly weights: readonly Floats[];
}

/** What a list may hold, and its length. */
export interface ListOptions {
  /** Length; 10 if left out. */
  readonly n?: number;
  /** Items to leave out. */
  readonly exclude?: Iterable<ItemId>;
  /** Items to choose from; all if left out. */
  readonly candidates?: Iterable<ItemId>;
}

/**
 * A released model, from which a device makes lists.
 *
 * header: the file's JSON header, with `titles` and the `card` of the model. digest: SHA-256 of the
 * file, in hex. items: the items that may be listed. cold: the last of these items, which no one rated
 * and which have features only. context: the items that a history may hold. Ids are texts, or integers
 * that a number holds exactly.
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

  /** Read a file of lists. MessageError for other bytes, or for parts that do not fit together. */
  static async decode(data: Uint8Array): Promise<DeviceLists> {
    const { header, arrays, digest } = await unpackFile(data);
    const isReadable = header["message"] === "private-lists" && header["version"] === 1;
    require(isReadable, "these lists are of a form that is not known here");
    const items = requireIds(header["items"]);
    const rated = items.slice(0, items.length - requireColdCount(header, items.length));
    const context = header["context"] === null ? rated : requireIds(header["context"]);
    const reader = new Reader(header, arrays);
    const means = reader.readColumn("means", items.length);
    const model = reader.readModel(context.length, items.length);
    const [low, high, ...more] = requireNumbers(header["scale"]);
    require(low !== undefined && high !== undefined && more.length === 0, "a scale has two ends");
    for (const name of ["liked_from", "low", "beside", "clip"]) requireFinite(header[name]);
    require(requireFinite(header["low"]) >= 0, "low is not below 0");
    const cold = items.slice(rated.length);
    return new DeviceLists(header, toHex(digest), items, cold, context, means, model);
  }

  /**
   * List the n best items that are neither in the history nor excluded, with their scores, best
   * first; ties in the order of the items. RangeError for stars off the scale.
   */
  rank(history: ReadonlyMap<ItemId, number>, options: ListOptions = {}): ScoredItem[] {
    const n = options.n ?? 10;
    if (!(n >= 1)) throw new RangeError(`A list has at least one entry; got n=${n}.`);
    const scores = this.scores(history);
    const excluded = new Set<ItemId>([...history.keys(), ...(options.exclude ?? [])]);
    const allowed = options.candidates === undefined ? undefined : new Set(options.candidates);
    const rows = this.items
      .map((item, position): ScoredItem => [item, scores[position] as number])
      .filter(([item]) => !excluded.has(item) && (allowed?.has(item) ?? true));
    rows.sort(([, left], [, right]) => right - left);
    return rows.slice(0, n);
  }

  /**
   * Find, for each item, the n items of the history that raise its score most: the score without one
   * of them is lower by the number returned with it. Items that do not raise the score are left out;
   * ties are in the order of the context. RangeError for stars off the scale.
   */
  reasons(
    history: ReadonlyMap<ItemId, number>,
    items: readonly ItemId[],
    options: { readonly n?: number } = {},
  ): ScoredItem[][] {
    const positions = new Map(this.items.map((item, position) => [item, position]));
    const scores = this.scores(history);
    const reasonsOfItems = items.map((): ScoredItem[] => []);
    for (const ratedItem of this.context.filter((item) => history.has(item))) {
      const shorterHistory = new Map(history);
      shorterHistory.delete(ratedItem);
      const scoresWithout = this.scores(shorterHistory);
      for (const [index, item] of items.entries()) {
        const position = positions.get(item);
        if (position === undefined) continue;
        const fall = (scores[position] as number) - (scoresWithout[position] as number);
        if (fall > 0) (reasonsOfItems[index] as ScoredItem[]).push([ratedItem, fall]);
      }
    }
    for (const reasons of reasonsOfItems) reasons.sort(([, left], [, right]) => right - left);
    return reasonsOfItems.map((reasons) => reasons.slice(0, options.n ?? 3));
  }

  /** Compute the score of every item for a person with this history. RangeError for other stars. */
  scores(history: ReadonlyMap<ItemId, number>): number[] {
    const [least, most] = this.header["scale"] as [number, number];
    if (![...history.values()].every((stars) => least <= stars && stars <= most)) {
      throw new RangeError(`Stars lie between ${least} and ${most}.`);
    }
    const likedFrom = this.headerNumber("liked_from");
    const ratings = this.context.flatMap((item, position): OwnRating[] => {
      const stars = history.get(item);
      return stars === undefined ? [] : [[position, stars >= likedFrom]];
    });
    const { tastes, topItems } = this.model;
    if (tastes !== undefined) {
      return scoreByTastes(
        tastes,
        ratings,
        this.headerNumber("low"),
        this.headerNumber("clip"),
        this.means,
      );
    }
    if (topItems === undefined) return [...this.means];
    const lowWeight = this.header["context"] === null ? 0 : this.headerNumber("low");
    const popularityWeight = this.headerNumber("beside");
    const popularity = this.means.map((mean) => popularityWeight * mean);
    return scoreByTopItems(topItems, ratings, lowWeight, popularity);
  }

  private headerNumber(name: string): number {
    return this.header[name] as number;
  }
}

/** Read the number of items that no one rated. MessageError for an invalid number. */
function requireColdCount(header: Json, items: number): number {
  const count = header["cold"];
  const isCount = typeof count === "number" && Number.isSafeInteger(count) && count >= 0;
  require(isCount && count <= items, "lists say how many items no one rated");
  require(count === 0 || header["mode"] === "taste", "items that no one rated have tastes");
  return count;
}

/** A rated item by its position in the context, and whether it was liked. */
type OwnRating = readonly [position: number, liked: boolean];

/**
 * Compute (items) scores: mean + taste . item, with the person's taste clipped to length
 * clip * sqrt(k), plus what pairs of likes and the ratings of consenting people add.
 */
function scoreByTastes(
  tastes: Tastes,
  ratings: OwnRating[],
  lowWeight: number,
  clip: number,
  means: Floats,
): number[] {
  const unclipped = personTaste(tastes, ratings, lowWeight);
  const length = Math.sqrt(dotProduct(unclipped, unclipped));
  const longest = clip * Math.sqrt(unclipped.length);
  const factor = length > longest ? longest / length : 1;
  const clipped = unclipped.map((value) => value * factor);
  const likes = ratings.filter(([, liked]) => liked).map(([position]) => position);
  const taste = addOwnLikes(tastes, likes, clipped);
  const scores = means.map((mean, item) => mean + dotProduct(taste, tastes.items[item] as Floats));
  if (tastes.pairs !== undefined && likes.length > 0) addPairs(tastes.pairs, likes, scores);
  if (tastes.consented === undefined) return scores;
  const likesLength = Math.sqrt(likes.length);
  for (const position of likes) {
    for (const [item, weight] of tastes.consented[position] ?? []) {
      scores[item] = (scores[item] as number) + weight / likesLength;
    }
  }
  return scores;
}

/**
 * Compute (k) taste + (x B - mean) matrix, where x is the row of the likes divided by its length and
 * B (items, k) are the items' tastes. Without likes or without the map, return the taste unchanged.
 */
function addOwnLikes(tastes: Tastes, likes: number[], clipped: number[]): number[] {
  const map = tastes.ownLikes;
  if (map === undefined || likes.length === 0) return clipped;
  let sum = map.mean.map(() => 0);
  for (const position of likes) {
    const itemTaste = tastes.items[position] as Floats;
    sum = sum.map((value, direction) => value + (itemTaste[direction] as number));
  }
  const length = Math.sqrt(likes.length);
  let taste = clipped;
  for (const [direction, row] of map.matrix.entries()) {
    const difference = (sum[direction] as number) / length - (map.mean[direction] as number);
    taste = taste.map((value, column) => value + difference * (row[column] as number));
  }
  return taste;
}

/**
 * Add (x P - mean) P' to the scores of the popular items, where x is the row of the likes divided by
 * its length, and P (head, d) are the items' vectors.
 */
function addPairs(pairs: PairVectors, likes: number[], scores: number[]): void {
  const vectorOf = new Map(pairs.items.map((item, row) => [item, pairs.vectors[row] as Floats]));
  let total = pairs.mean.map(() => 0);
  for (const position of likes) {
    const vector = vectorOf.get(position);
    if (vector !== undefined) total = total.map((sum, column) => sum + (vector[column] as number));
  }
  const length = Math.sqrt(likes.length);
  const difference = total.map((sum, column) => sum / length - (pairs.mean[column] as number));
  for (const [item, vector] of vectorOf) {
    scores[item] = (scores[item] as number) + dotProduct(difference, vector);
  }
}

/**
 * Compute (k) the taste of a person: the weighted mean of the features of their items, minus the
 * features of an average person, times the directions. An item's weight is its damping, times
 * `lowWeight` if it was not liked. Without items, or if all weights are 0, the taste is 0.
 */
function personTaste(tastes: Tastes, ratings: OwnRating[], lowWeight: number): number[] {
  let totalWeight = 0;
  const sums = tastes.mean.map(() => 0);
  for (const [position, liked] of ratings) {
    const weight = (liked ? 1 : lowWeight) * (tastes.damping[position] as number);
    totalWeight += weight;
    const columns = tastes.features[position] as readonly number[];
    for (const column of columns) {
      const value = (weight / Math.sqrt(columns.length)) * tastes.namedFeatures;
      sums[column] = (sums[column] as number) + value;
    }
    const dense = tastes.dense?.[position] ?? [];
    const firstDense = sums.length - dense.length;
    for (const [column, value] of dense.entries()) {
      sums[firstDense + column] = (sums[firstDense + column] as number) + weight * value;
    }
  }
  let taste = (tastes.directions[0] as Floats).map(() => 0);
  if (totalWeight <= 0) return taste;
  for (const [feature, direction] of tastes.directions.entries()) {
    const difference = (sums[feature] as number) / totalWeight - (tastes.mean[feature] as number);
    taste = taste.map((value, column) => value + difference * (direction[column] as number));
  }
  return taste;
}

/**
 * Compute (items) scores: the popularity of each item and, for the targets, x W, where x is the row
 * of the person's context items (1 for a like, `lowWeight` for another rating) divided by its length.
 */
function scoreByTopItems(
  topItems: TopItems,
  ratings: OwnRating[],
  lowWeight: number,
  popularity: Floats,
): number[] {
  const weightByPosition = new Map(
    ratings.map(([position, liked]) => [position, liked ? 1 : lowWeight]),
  );
  const row = topItems.context.map((position) => weightByPosition.get(position) ?? 0);
  const length = Math.sqrt(dotProduct(row, row));
  const scores = [...popularity];
  if (length === 0) return scores;
  let sums = topItems.targets.map(() => 0);
  for (const [contextNumber, value] of row.entries()) {
    if (value === 0) continue;
    const weights = topItems.weights[contextNumber] as Floats;
    sums = sums.map((sum, target) => sum + value * (weights[target] as number));
  }
  for (const [target, position] of topItems.targets.entries()) {
    scores[position] = (scores[position] as number) + (sums[target] as number) / length;
  }
  return scores;
}

function dotProduct(left: Floats, right: Floats): number {
  return left.reduce((sum, value, position) => sum + value * (right[position] as number), 0);
}

/** Reads the parts of a model from a file's arrays; MessageError where they do not fit. */
class Reader {
  constructor(
    private readonly header: Json,
    private readonly arrays: ReadonlyMap<string, IntegerArray>,
  ) {}

  /** Read the parts of the model that its mode needs; a model of popularity has none. */
  readModel(contextSize: number, items: number): { tastes?: Tastes; topItems?: TopItems } {
    const mode = this.header["mode"];
    if (mode === "taste") return { tastes: this.readTastes(contextSize, items) };
    if (mode === "top-items") return { topItems: this.readTopItems(contextSize, items) };
    require(mode === "popularity", "lists are of a mode that is not known here");
    return {};
  }

  /** Read numbers in one dimension: whole numbers times the unit that the header has for them. */
  readColumn(name: string, length?: number): Floats {
    const [shape, integers] = this.readArray(name);
    const unit = requireFinite(this.readUnit(name));
    require(shape.length === 1 && (length ?? shape[0]) === shape[0], `${name} fits the items`);
    return integers.map((number) => requireFinite(unit * number));
  }

  private readTastes(contextSize: number, items: number): Tastes {
    const mean = this.readColumn("mean");
    const [offsets, columns] = this.readOffsets("", contextSize, mean.length);
    const directions = this.readTable("directions", mean.length);
    const k = (directions[0] as Floats).length;
    const isOneDomain = this.header["context"] === null;
    const hasConsented = isOneDomain && this.arrays.has("consented");
    const damping = this.readColumn("damping", contextSize);
    require(damping.every((value) => value >= 0), "damping is not below 0");
    return {
      damping,
      features: offsets.slice(1).map((end, row) => columns.slice(offsets[row], end)),
      mean,
      directions,
      items: this.readTable("items", items, k),
      namedFeatures: requireFinite(this.header["named_features"]),
      ...(this.arrays.has("dense") ? { dense: this.readDense(contextSize, mean.length) } : {}),
      ...(isOneDomain ? this.readLikes(contextSize, k) : {}),
      ...(hasConsented ? { consented: this.readConsented(contextSize) } : {}),
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
    const pairs = columns.map((item, index): [number, number] => [item, weights[index] as number]);
    return offsets.slice(1).map((end, row) => pairs.slice(offsets[row], end));
  }

  /**
   * Read a sparse matrix: row r has the columns from offsets[r] to offsets[r + 1].
   *
   * @returns the offsets, rows + 1 of them, and the columns of all rows, each below `width`.
   */
  private readOffsets(prefix: string, rows: number, width: number): [Floats, Floats] {
    const [, offsets] = this.readArray(`${prefix}offsets`);
    const [, columns] = this.readArray(`${prefix}columns`);
    const isRising = offsets.every(
      (offset, row) => row === 0 || (offsets[row - 1] as number) <= offset,
    );
    const coversColumns = offsets[0] === 0 && offsets[rows] === columns.length;
    const fits = offsets.length === rows + 1 && isRising && coversColumns;
    require(fits, `${prefix}offsets fit the items`);
    require(columns.every((column) => 0 <= column && column < width), `${prefix}columns are known`);
    return [offsets, columns];
  }

  /** Read what likes add within one domain: by pairs if the file has them, else by tastes of items. */
  private readLikes(contextSize: number, k: number): Pick<Tastes, "ownLikes" | "pairs"> {
    if (this.arrays.has("pairs")) return { pairs: this.readPairs(contextSize) };
    return { ownLikes: this.readOwnLikes(k) };
  }

  private readPairs(contextSize: number): PairVectors {
    const items = this.readPositions("pair_items", contextSize);
    const isAscending = items.every((item, row) => row === 0 || (items[row - 1] as number) < item);
    require(isAscending, "pair_items ascend");
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

  /** Read positions of items, each once and below `limit`. */
  private readPositions(name: string, limit: number): readonly number[] {
    const [, positions] = this.readArray(name);
    const areKnown = positions.every((position) => 0 <= position && position < limit);
    require(areKnown && new Set(positions).size === positions.length, `${name} are items`);
    return positions;
  }

  /** Read a table: whole numbers times the unit that the header has for each column. */
  private readTable(name: string, rows: number, width?: number): Floats[] {
    const [shape, integers] = this.readArray(name);
    const [height, columns] = shape;
    const units = requireNumbers(this.readUnit(name));
    const fits = shape.length === 2 && height === rows && columns === units.length;
    const hasWidth = columns === (width ?? columns);
    require(fits && hasWidth && rows > 0 && columns > 0, `${name} fits the items`);
    return Array.from({ length: rows }, (_, row) =>
      units.map((unit, column) =>
        requireFinite(unit * (integers[row * columns + column] as number)),
      ),
    );
  }

  private readArray(name: string): IntegerArray {
    const array = this.arrays.get(name);
    require(array !== undefined, `lists have ${name}`);
    return array;
  }

  private readUnit(name: string): unknown {
    return requireObject(this.header["units"])[name];
  }
}

/** Return a list of different item ids; MessageError for anything else. */
function requireIds(value: unknown): ItemId[] {
  const areIds =
    Array.isArray(value) && value.every(isItemId) && new Set(value).size === value.length;
  require(areIds, "items have ids, each its own");
  return value as ItemId[];
}

function requireNumbers(value: unknown): number[] {
  require(Array.isArray(value), "numbers come as a list");
  return value.map(requireFinite);
}

/** Return a number; MessageError for anything else, and for one of more than LARGEST_NUMBER. */
function requireFinite(value: unknown): number {
  if (typeof value === "number" && Math.abs(value) <= LARGEST_NUMBER) return value;
  throw new MessageError("a number is finite, and not too large to multiply");
}
