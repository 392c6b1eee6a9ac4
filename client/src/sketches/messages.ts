/**
 * All messages between devices and the recommender in the sketches.
 *
 * Campaign   recommender -> device   one public question, the same for everybody
 * Report     device -> recommender   randomised bits, once; 22 bytes (30 where pairs are chosen)
 * Clusters   recommender -> device   the learned label and score of every item
 *
 * Mirrors src/tacit/designs/sketches/messages.py to the byte. A message is checked when it is made or
 * read: fields that do not fit together throw MessageError.
 */

import { concatBytes, encodeUtf8WithSurrogates, type Bytes } from "../bytes.js";
import { isItemId, type ItemId } from "../items.js";
import { MessageError, require } from "../message-error.js";
import { sha256 } from "../randomness.js";
import { keepsEpsilon, lossMicros } from "./epsilon.js";

/** Version of campaigns and reports. */
export const VERSION = 1;
export const CLUSTERS_VERSION = 2;
/** Millionths in 1. */
export const MICRO = 1_000_000;
/** Chances are whole numbers from 0 to this, which is a chance of 1. */
export const CERTAIN = 2 ** 53;
/** The `epsilon` of a campaign without noise, which devices refuse. */
export const NO_NOISE = 2 ** 31 - 1;
export const LARGEST_COUNT = 2 ** 31 - 1;
export const MOST_QUESTIONS = 32;
/** Methods by their number in a campaign; multi-maxsense with one question is MaxSense. */
export const METHODS = [
  "multi-maxsense",
  "pairwise-preference",
  "pairwise-rated",
  "pairwise-identical",
  "pairwise-rated-identical",
] as const;
/** What epsilon protects: everything a person rated; one rating; which item a rating is for. */
export const UNITS = ["user", "rating", "moved rating"] as const;
export const REPORT_BYTES = 22;
export const RATED_REPORT_BYTES = 30;

export type Method = (typeof METHODS)[number];
export type Unit = (typeof UNITS)[number];

const CAMPAIGN_BYTES = 96;
const CLUSTERS_BYTES = 76;
const MAGIC = 0x74636974;
const KIND_CAMPAIGN = 1;
const KIND_REPORT = 2;
const KIND_CLUSTERS = 3;

/** Count the bits of a report in which the answers to two neighbouring inputs can differ. */
export function exposedBits(method: Method, unit: Unit, questions: number, rated: number): number {
  if (method !== "multi-maxsense") return questions;
  if (unit === "user") return Math.min(questions, 2 * rated);
  return unit === "rating" ? 1 : Math.min(questions, 2);
}

/** Compute SHA-256 of the item ids in their order; an integer and its text differ. */
export async function catalogueDigest(items: readonly ItemId[]): Promise<Bytes> {
  const parts = items.flatMap((item) => {
    if (!isItemId(item))
      throw new RangeError(`an item is an integer or a text; got ${String(item)}`);
    const encoded = encodeUtf8WithSurrogates(`${typeof item === "string" ? "s" : "i"}${item}`);
    const size = new Uint8Array(4);
    new DataView(size.buffer).setUint32(0, encoded.length);
    return [size, encoded];
  });
  return sha256(concatBytes(...parts));
}

/** Fields of a campaign. */
export interface CampaignFields {
  readonly method: Method;
  readonly unit: Unit;
  /** Number of items in the catalogue. */
  readonly items: number;
  /** w, the number of items that a person is assumed to have rated. */
  readonly rated: number;
  /** In millionths; a sensed set has about theta * items / rated items. 0 for pairs. */
  readonly theta: number;
  /** Number of bits in a report. */
  readonly questions: number;
  /** Millionths of a nat, for the whole report and the stated unit. */
  readonly epsilon: number;
  /** Lowest rating that is a like, in thousandths of a star. */
  readonly likedFrom: number;
  /** Chance that a bit is released and not flipped, in units of 2^-53. */
  readonly truth: number;
  /** Unix second after which reports are not counted. */
  readonly closes: number;
  /** 16 public bytes, from which the questions are drawn. */
  readonly seed: Bytes;
  /** SHA-256 of the item ids in their order. */
  readonly catalogue: Bytes;
}

/** Fields of a campaign with their least and largest values. */
const BOUNDS = [
  ["items", 2, LARGEST_COUNT],
  ["rated", 1, LARGEST_COUNT],
  ["theta", 0, LARGEST_COUNT],
  ["questions", 1, MOST_QUESTIONS],
  ["epsilon", 1, NO_NOISE],
  ["likedFrom", -LARGEST_COUNT, LARGEST_COUNT],
  ["truth", CERTAIN / 2, CERTAIN],
  ["closes", 0, CERTAIN],
] as const;

/** One question to everybody. */
export class Campaign implements CampaignFields {
  readonly method: Method;
  readonly unit: Unit;
  readonly items: number;
  readonly rated: number;
  readonly theta: number;
  readonly questions: number;
  readonly epsilon: number;
  readonly likedFrom: number;
  readonly truth: number;
  readonly closes: number;
  readonly seed: Bytes;
  readonly catalogue: Bytes;
  /** The smallest prime that is at least `items`: number of places from which sensed sets are drawn. */
  readonly modulus: number;
  /** Number of places in a sensed set: theta * modulus / rated, rounded, at least 1; 0 for pairs. */
  readonly setSize: number;
  private digestPromise: Promise<Bytes> | undefined;

  constructor(fields: CampaignFields) {
    this.method = fields.method;
    this.unit = fields.unit;
    const isNamed = METHODS.includes(fields.method) && UNITS.includes(fields.unit);
    require(isNamed, "a campaign names method and unit");
    for (const [name, least, most] of BOUNDS) {
      require(isInteger(fields[name], least, most), `${toSnakeCase(name)} is out of bounds`);
    }
    this.items = fields.items;
    this.rated = fields.rated;
    this.theta = fields.theta;
    this.questions = fields.questions;
    this.epsilon = fields.epsilon;
    this.likedFrom = fields.likedFrom;
    this.truth = fields.truth;
    this.closes = fields.closes;
    this.seed = fields.seed;
    this.catalogue = fields.catalogue;
    require(this.rated <= this.items, "nobody rates more items than there are");
    require(isBytes(this.seed, 16), "a seed has 16 bytes");
    require(isBytes(this.catalogue, 32), "a catalogue is named by 32 bytes");
    require(this.theta > 0 === this.hasSensedSets, "theta is for sensed sets, and they need one");
    const hasOneQuestion = !this.namesPair || this.questions === 1;
    require(hasOneQuestion, "about one pair of rated items there is one question");
    this.modulus = nextPrime(this.items);
    this.setSize = this.hasSensedSets ? setSize(this.modulus, this.theta, this.rated) : 0;
    const fits = this.questions * this.setSize <= this.modulus;
    require(fits, "the sensed sets of one person do not fit into the catalogue");
    require(this.keepsEpsilon(), "the chance of the truth is higher than epsilon allows");
  }

  /** Whether the questions are sensed sets, and not pairs. */
  get hasSensedSets(): boolean {
    return this.method === "multi-maxsense";
  }

  /** Whether the device chooses a pair of rated items and names it in its report. */
  get namesPair(): boolean {
    return this.method === "pairwise-rated" || this.method === "pairwise-rated-identical";
  }

  /** Whether a pair's true answer is that both items are liked, or both disliked. */
  get asksIdentical(): boolean {
    return this.method === "pairwise-identical" || this.method === "pairwise-rated-identical";
  }

  /** Number of bits in which the answers to two neighbouring inputs can differ. */
  get exposedBits(): number {
    return exposedBits(this.method, this.unit, this.questions, this.rated);
  }

  /** Most liked items that a device uses; undefined if it uses all of them. */
  get likesCap(): number | undefined {
    return this.hasSensedSets && this.unit === "user" ? this.rated : undefined;
  }

  /**
   * Millionths of a nat that a report costs for everything a person rated, rounded up.
   *
   * It is the stated epsilon for the unit "user". For other units a device uses all likes, so every bit
   * can differ, and the cost is up to `questions` times the stated epsilon. If the device names a
   * pair, it covers the stars alone, as the stated epsilon does.
   */
  get userEpsilon(): number {
    if (this.unit === "user" || this.epsilon === NO_NOISE) return this.epsilon;
    const truth = BigInt(this.truth);
    const loss = lossMicros(this.questions, truth, BigInt(CERTAIN) - truth);
    return Math.max(this.epsilon, loss);
  }

  get reportBytes(): number {
    return this.namesPair ? RATED_REPORT_BYTES : REPORT_BYTES;
  }

  encode(): Bytes {
    const data = new Uint8Array(CAMPAIGN_BYTES);
    const view = new DataView(data.buffer);
    view.setUint32(0, MAGIC);
    const head = [VERSION, KIND_CAMPAIGN, METHODS.indexOf(this.method), UNITS.indexOf(this.unit)];
    data.set(head, 4);
    const counts = [this.items, this.rated, this.theta, this.questions, this.epsilon];
    counts.forEach((count, index) => view.setUint32(8 + 4 * index, count));
    view.setInt32(28, this.likedFrom);
    view.setBigUint64(32, BigInt(this.truth));
    view.setBigUint64(40, BigInt(this.closes));
    data.set(this.seed, 48);
    data.set(this.catalogue, 64);
    return data;
  }

  static decode(data: Uint8Array): Campaign {
    require(data.length === CAMPAIGN_BYTES, `a campaign has ${CAMPAIGN_BYTES} bytes`);
    const view = dataViewOf(data);
    const isCampaign = view.getUint32(0) === MAGIC && data[5] === KIND_CAMPAIGN;
    require(isCampaign, "expected a campaign");
    requireVersion(data[4], VERSION);
    const method = METHODS[data[6] as number];
    const unit = UNITS[data[7] as number];
    if (method === undefined || unit === undefined) {
      throw new MessageError("a campaign names method and unit");
    }
    return new Campaign({
      method,
      unit,
      items: view.getUint32(8),
      rated: view.getUint32(12),
      theta: view.getUint32(16),
      questions: view.getUint32(20),
      epsilon: view.getUint32(24),
      likedFrom: view.getInt32(28),
      truth: exactNumber(view.getBigUint64(32), "truth"),
      closes: exactNumber(view.getBigUint64(40), "closes"),
      seed: data.slice(48, 64) as Bytes,
      catalogue: data.slice(64) as Bytes,
    });
  }

  /** Compute SHA-256 of the bytes, which names the campaign on devices. */
  digest(): Promise<Bytes> {
    this.digestPromise ??= sha256(this.encode());
    return this.digestPromise;
  }

  /** Compute the first 8 bytes of the digest, which name the campaign in reports. */
  async id(): Promise<Bytes> {
    return (await this.digest()).slice(0, 8);
  }

  /** Say whether the chance of the truth costs no more than epsilon. */
  private keepsEpsilon(): boolean {
    if (this.truth === CERTAIN || this.epsilon === NO_NOISE) {
      return this.truth === CERTAIN && this.epsilon === NO_NOISE;
    }
    const truth = BigInt(this.truth);
    return keepsEpsilon(this.exposedBits, truth, BigInt(CERTAIN) - truth, this.epsilon);
  }
}

/**
 * All that leaves the device for a campaign: no user id, no rating, no time.
 *
 * campaign: first 8 bytes of its digest. ticket: 64 random bits, different in every campaign, from
 * which the questions are drawn. bits: bit q answers question q. pair: numbers of the two items,
 * where the device chose them (pairwise-rated).
 */
export class Report {
  constructor(
    readonly campaign: Bytes,
    readonly ticket: bigint,
    readonly bits: number,
    readonly pair?: readonly [number, number],
  ) {
    require(isBytes(campaign, 8), "a report names its campaign in 8 bytes");
    const fits = typeof ticket === "bigint" && ticket >= 0n && ticket < 1n << 64n;
    require(fits, "a ticket has 64 bits");
    require(isInteger(bits, 0, 2 ** MOST_QUESTIONS - 1), "a report has 32 bits");
    if (pair !== undefined) {
      const isPair = pair.length === 2 && pair.every((item) => isInteger(item, 0, LARGEST_COUNT));
      require(isPair, "wrong pair");
      require(pair[0] < pair[1], "a pair is two items in their order");
    }
  }

  encode(): Bytes {
    const data = new Uint8Array(this.pair === undefined ? REPORT_BYTES : RATED_REPORT_BYTES);
    const view = new DataView(data.buffer);
    data.set([VERSION, KIND_REPORT]);
    data.set(this.campaign, 2);
    view.setBigUint64(10, this.ticket);
    view.setUint32(18, this.bits);
    this.pair?.forEach((item, index) => view.setUint32(REPORT_BYTES + 4 * index, item));
    return data;
  }

  static decode(data: Uint8Array): Report {
    const hasLength = data.length === REPORT_BYTES || data.length === RATED_REPORT_BYTES;
    require(hasLength, `a report has ${REPORT_BYTES} or ${RATED_REPORT_BYTES} bytes`);
    const view = dataViewOf(data);
    require(data[1] === KIND_REPORT, "expected a report");
    requireVersion(data[0], VERSION);
    const campaign = data.slice(2, 10) as Bytes;
    const ticket = view.getBigUint64(10);
    const bits = view.getUint32(18);
    if (data.length === REPORT_BYTES) return new Report(campaign, ticket, bits);
    return new Report(campaign, ticket, bits, [view.getUint32(22), view.getUint32(26)]);
  }
}

/**
 * The result of a campaign: one label and one score for each item.
 *
 * campaign: digest of the campaign. catalogue: digest of the item ids, in the order of labels and
 * scores. labels: cluster of each item, one byte. scores: in millionths; they order the items of a
 * cluster, the best liked first.
 */
export class Clusters {
  constructor(
    readonly campaign: Bytes,
    readonly catalogue: Bytes,
    readonly labels: Bytes,
    readonly scores: readonly number[],
  ) {
    for (const name of [campaign, catalogue]) {
      require(isBytes(name, 32), "clusters name their campaign and catalogue in 32 bytes each");
    }
    require(labels instanceof Uint8Array && labels.length > 1, "a label is a byte");
    const fits = Array.isArray(scores) && scores.length === labels.length;
    const areScores =
      fits && scores.every((score) => isInteger(score, -LARGEST_COUNT, LARGEST_COUNT));
    require(areScores, "no scores");
  }

  encode(): Bytes {
    const head = new Uint8Array(CLUSTERS_BYTES);
    const view = new DataView(head.buffer);
    view.setUint32(0, MAGIC);
    head.set([CLUSTERS_VERSION, KIND_CLUSTERS], 4);
    head.set(this.campaign, 8);
    head.set(this.catalogue, 40);
    view.setUint32(72, this.labels.length);
    const scores = new DataView(new ArrayBuffer(4 * this.scores.length));
    this.scores.forEach((score, index) => scores.setInt32(4 * index, score));
    return concatBytes(head, this.labels, new Uint8Array(scores.buffer));
  }

  static decode(data: Uint8Array): Clusters {
    require(data.length >= CLUSTERS_BYTES, "clusters are cut short");
    const view = dataViewOf(data);
    const isClusters = view.getUint32(0) === MAGIC && data[5] === KIND_CLUSTERS;
    require(isClusters, "expected clusters");
    requireVersion(data[4], CLUSTERS_VERSION);
    const items = view.getUint32(72);
    const hasLength = data.length === CLUSTERS_BYTES + 5 * items && data[6] === 0 && data[7] === 0;
    require(hasLength, "clusters have 5 bytes for each item");
    const scoresStart = CLUSTERS_BYTES + items;
    return new Clusters(
      data.slice(8, 40) as Bytes,
      data.slice(40, 72) as Bytes,
      data.slice(CLUSTERS_BYTES, scoresStart) as Bytes,
      Array.from({ length: items }, (_, index) => view.getInt32(scoresStart + 4 * index)),
    );
  }
}

/** Throw a MessageError for another version. */
function requireVersion(found: number | undefined, expected: number): void {
  require(found === expected, `expected version ${expected}, found ${found}`);
}

/** Say whether a value is a whole number within bounds, ends included. */
function isInteger(value: unknown, lowest: number, highest: number): value is number {
  return Number.isInteger(value) && (value as number) >= lowest && (value as number) <= highest;
}

function isBytes(value: unknown, size: number): boolean {
  return value instanceof Uint8Array && value.length === size;
}

function dataViewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

/** Convert 64 bits to a number that holds them exactly. MessageError for a value above CERTAIN. */
function exactNumber(value: bigint, name: string): number {
  require(value <= BigInt(CERTAIN), `${name} is out of bounds`);
  return Number(value);
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Compute theta * modulus / rated, rounded to a whole number of at least 1; theta is in millionths. */
function setSize(modulus: number, theta: number, rated: number): number {
  const denominator = BigInt(rated) * BigInt(MICRO);
  const size = (BigInt(modulus) * BigInt(theta) + denominator / 2n) / denominator;
  return size > 1n ? Number(size) : 1;
}

function nextPrime(number: number): number {
  let candidate = number;
  while (!isPrime(candidate)) candidate += 1;
  return candidate;
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) {
    if (number % divisor === 0) return false;
  }
  return number > 1;
}
