/**
 * One spelling for every message, and the checks that nothing else gets in.
 *
 * Canonical JSON in UTF-8: sorted keys, no spaces, no NaN or infinity. Integers stay apart from other
 * numbers, and are exact however long. Whatever is decoded is encoded again and compared byte by
 * byte, so that equal messages are equal bytes, in Python and here.
 */

import { equal, type Bytes } from "../bytes.js";
import { integerId } from "../items.js";
import { MessageError, require } from "../malformed.js";

/** Integers up to here are exact in every language that reads JSON. */
export const LARGEST = 2 ** 53;

/** A number that is spelled with a point or an exponent. */
export class Real {
  constructor(readonly value: number) {}
}

export type Json =
  | null
  | boolean
  | number
  | bigint
  | Real
  | string
  | readonly Json[]
  | ReadonlyMap<string, Json>;

/** The content as a map with its keys in order. */
export function content(fields: Readonly<Record<string, Json>>): ReadonlyMap<string, Json> {
  return new Map(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The canonical bytes. Numbers are integers; maps are in the order of `content`. */
export function encode(value: Json): Bytes {
  return new TextEncoder().encode(spell(value));
}

/** What `build` makes of the content; MessageError for anything but canonical bytes. */
export function decode<M extends { encode(): Bytes }>(
  data: Uint8Array,
  kind: string,
  version: number,
  build: (content: ReadonlyMap<string, Json>) => M,
): M {
  const read = new Reader(textOf(data, kind), kind).whole();
  require(read instanceof Map && read.get("message") === kind, `expected a ${kind}`);
  checkVersion(read.get("version"), version);
  const message = build(read);
  require(equal(message.encode(), data), "the message is not in canonical form");
  return message;
}

/** Says which side is older. */
function checkVersion(found: Json | undefined, version: number): void {
  const readable = `this program reads version ${version}: update the older side`;
  require(isInteger(found), `a message has a version; ${readable}`);
  require(found === version, `this message is of version ${String(found)}; ${readable}`);
}

/** Exactly these fields of a map, in this order. */
export function fieldsOf(value: Json | undefined, kind: string, ...names: string[]): Json[] {
  const fits = value instanceof Map && value.size === names.length;
  const found = names.map((name) => (fits ? (value as ReadonlyMap<string, Json>).get(name) : undefined));
  require(!found.includes(undefined), `a ${kind} has the fields ${names.join(", ")}`);
  return found as Json[];
}

/** A whole number within bounds, ends included. */
export function isInteger(value: unknown, lowest = -LARGEST, highest = LARGEST): boolean {
  const whole = typeof value === "bigint" || Number.isInteger(value);
  return whole && (value as number) >= lowest && (value as number) <= highest;
}

/** Lists nested to this shape, holding whole numbers within bounds. */
export function isTable(
  value: unknown,
  shape: readonly number[],
  lowest: number,
  highest: number,
): boolean {
  if (!Array.isArray(value) || value.length !== shape[0]) return false;
  if (shape.length === 1) return value.every((entry) => isInteger(entry, lowest, highest));
  return value.every((row) => isTable(row, shape.slice(1), lowest, highest));
}

function spell(value: Json): string {
  if (typeof value === "number") {
    require(Number.isInteger(value), "a number here is whole");
    return String(value);
  }
  if (typeof value === "string") {
    // It would be written as an escape, which Python does not do.
    require(!/\p{Surrogate}/u.test(value), "half a character has no place in a message");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(spell).join(",")}]`;
  if (value instanceof Map) {
    const entries = Array.from(value, ([key, entry]) => `${spell(key)}:${spell(entry as Json)}`);
    return `{${entries.join(",")}}`;
  }
  return value instanceof Real ? spellReal(value.value) : String(value);
}

/** As Python writes a float: shortest digits, a point or an exponent of two digits at least. */
function spellReal(value: number): string {
  require(Number.isFinite(value), "a number here is finite");
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa, power] = value.toExponential().split("e") as [string, string];
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const sign = exponent < 0 ? "-" : "+";
    return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const digits = mantissa.replace(/[-.]/g, "");
  const sign = value < 0 ? "-" : "";
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

function textOf(data: Uint8Array, kind: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new MessageError(`a ${kind} is canonical JSON in UTF-8`);
  }
}

const DEEPEST = 16;
/** Python reads no longer integers. */
const LONGEST = 4300;
const NUMBER = /-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/y;
const WORDS: readonly (readonly [string, Json])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
];

/** Reads JSON without spaces. What else is not canonical is found by encoding it again. */
class Reader {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly kind: string,
  ) {}

  whole(): Json {
    const value = this.value(0);
    this.demand(this.at === this.text.length);
    return value;
  }

  private value(depth: number): Json {
    this.demand(depth <= DEEPEST);
    const first = this.text[this.at];
    if (first === "[") return this.list(depth);
    if (first === "{") return this.map(depth);
    if (first === '"') return this.string();
    return first === "n" || first === "t" || first === "f" ? this.word() : this.number();
  }

  private word(): Json {
    for (const [spelled, value] of WORDS) {
      if (this.text.startsWith(spelled, this.at)) {
        this.at += spelled.length;
        return value;
      }
    }
    throw this.refusal();
  }

  private list(depth: number): Json[] {
    const entries: Json[] = [];
    this.each("]", () => entries.push(this.value(depth + 1)));
    return entries;
  }

  private map(depth: number): ReadonlyMap<string, Json> {
    const entries = new Map<string, Json>();
    this.each("}", () => {
      const key = this.string();
      this.demand(this.text[this.at] === ":");
      this.at += 1;
      entries.set(key, this.value(depth + 1));
    });
    return entries;
  }

  /** What stands between the brackets, one entry after the other. */
  private each(closes: string, entry: () => void): void {
    this.at += 1;
    if (this.text[this.at] === closes) {
      this.at += 1;
      return;
    }
    for (;;) {
      entry();
      const next = this.text[this.at];
      this.demand(next === "," || next === closes);
      this.at += 1;
      if (next === closes) return;
    }
  }

  private string(): string {
    const from = this.at;
    this.demand(this.text[from] === '"');
    do {
      this.at = this.text.indexOf('"', this.at + 1);
      this.demand(this.at > 0);
    } while (this.escaped());
    this.at += 1;
    try {
      return JSON.parse(this.text.slice(from, this.at)) as string;
    } catch {
      throw this.refusal();
    }
  }

  /** Whether an odd number of backslashes stands right before. */
  private escaped(): boolean {
    let first = this.at;
    while (this.text[first - 1] === "\\") first -= 1;
    return (this.at - first) % 2 === 1;
  }

  private number(): Json {
    NUMBER.lastIndex = this.at;
    const [spelled, rest] = NUMBER.exec(this.text) ?? [];
    if (spelled === undefined) throw this.refusal();
    this.at = NUMBER.lastIndex;
    if (rest === "") {
      if (spelled.length < 16) return Number(spelled);
      this.demand(spelled.replace("-", "").length <= LONGEST);
      return integerId(BigInt(spelled));
    }
    this.demand(Number.isFinite(Number(spelled)));
    return new Real(Number(spelled));
  }

  private demand(holds: boolean): void {
    if (!holds) throw this.refusal();
  }

  private refusal(): MessageError {
    return new MessageError(`a ${this.kind} is canonical JSON in UTF-8`);
  }
}
