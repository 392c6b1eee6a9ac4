/**
 * Canonical JSON: one spelling for every message, and the checks that no other is accepted.
 *
 * It is UTF-8 with sorted keys, no spaces, no NaN or infinity. Integers are kept apart from other
 * numbers, and are exact however long. A message that is decoded is encoded again and compared byte
 * by byte, so that equal messages are equal bytes, in Python and here.
 */

import { equalBytes, type Bytes } from "../bytes.js";
import { integerId } from "../items.js";
import { MessageError, require } from "../message-error.js";

/** Integers up to here are exact in every language that reads JSON. */
export const LARGEST = 2 ** 53;

/** A number that is written with a point or an exponent. */
export class Real {
  constructor(readonly value: number) {}
}

export type Json =
  null | boolean | number | bigint | Real | string | readonly Json[] | ReadonlyMap<string, Json>;

/** Make a map of an object's fields, sorted by key. */
export function sortedFields(fields: Readonly<Record<string, Json>>): ReadonlyMap<string, Json> {
  return new Map(Object.entries(fields).sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Write the canonical bytes of a value whose maps are made by `sortedFields`. */
export function encode(value: Json): Bytes {
  return new TextEncoder().encode(writeJson(value));
}

/**
 * Read a message. MessageError for anything but its canonical bytes.
 *
 * @param kind the value of its field `message`.
 * @param build makes the message from all its fields.
 */
export function decode<M extends { encode(): Bytes }>(
  data: Uint8Array,
  kind: string,
  version: number,
  build: (content: ReadonlyMap<string, Json>) => M,
): M {
  const value = new Reader(decodeText(data, kind), kind).readAll();
  require(value instanceof Map && value.get("message") === kind, `expected a ${kind}`);
  checkVersion(value.get("version"), version);
  const message = build(value);
  require(equalBytes(message.encode(), data), "the message is not in canonical form");
  return message;
}

/** Throw a MessageError for another version, which says that the older side has to be updated. */
function checkVersion(found: Json | undefined, version: number): void {
  const readableVersion = `this program reads version ${version}: update the older side`;
  require(isInteger(found), `a message has a version; ${readableVersion}`);
  require(found === version, `this message is of version ${String(found)}; ${readableVersion}`);
}

/**
 * Return the values of these fields of a map, in this order. MessageError for other or missing fields.
 *
 * @param kind what error messages call the map.
 */
export function readFields(value: Json | undefined, kind: string, ...names: string[]): Json[] {
  const fits = value instanceof Map && value.size === names.length;
  const values = names.map((name) =>
    fits ? (value as ReadonlyMap<string, Json>).get(name) : undefined,
  );
  require(!values.includes(undefined), `a ${kind} has the fields ${names.join(", ")}`);
  return values as Json[];
}

/** Say whether a value is a whole number within bounds, ends included. */
export function isInteger(value: unknown, lowest = -LARGEST, highest = LARGEST): boolean {
  const isWhole = typeof value === "bigint" || Number.isInteger(value);
  return isWhole && (value as number) >= lowest && (value as number) <= highest;
}

/** Say whether a value is nested lists of this shape, of whole numbers within bounds. */
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

/** Write a value as canonical JSON. MessageError for a value that a message cannot hold. */
function writeJson(value: Json): string {
  if (typeof value === "number") {
    require(Number.isInteger(value), "a number here is whole");
    return String(value);
  }
  if (typeof value === "string") {
    // JSON.stringify would write half a character as an escape, which Python does not do.
    require(!/\p{Surrogate}/u.test(value), "half a character has no place in a message");
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (value instanceof Map) {
    const entries = Array.from(
      value,
      ([key, entry]) => `${writeJson(key)}:${writeJson(entry as Json)}`,
    );
    return `{${entries.join(",")}}`;
  }
  return value instanceof Real ? writeReal(value.value) : String(value);
}

/** Write a Real as Python does: the fewest digits, and a point, an exponent, or both. */
function writeReal(value: number): string {
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

/** Decode UTF-8. MessageError for other bytes. */
function decodeText(data: Uint8Array, kind: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new MessageError(`a ${kind} is canonical JSON in UTF-8`);
  }
}

/** Most levels of nested lists and maps. */
const MOST_LEVELS = 16;
/** Most digits of an integer, the limit of Python. */
const MOST_DIGITS = 4300;
const NUMBER = /-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/y;
const WORDS: readonly (readonly [string, Json])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
];

/** Reads JSON without spaces. Other deviations are found by encoding the result again. */
class Reader {
  private position = 0;

  constructor(
    private readonly text: string,
    private readonly kind: string,
  ) {}

  /** Read the whole text as one value. */
  readAll(): Json {
    const value = this.readValue(0);
    this.check(this.position === this.text.length);
    return value;
  }

  /** Read the value at the position, inside `depth` lists and maps. */
  private readValue(depth: number): Json {
    this.check(depth <= MOST_LEVELS);
    const first = this.text[this.position];
    if (first === "[") return this.readList(depth);
    if (first === "{") return this.readMap(depth);
    if (first === '"') return this.readString();
    return first === "n" || first === "t" || first === "f" ? this.readWord() : this.readNumber();
  }

  private readWord(): Json {
    for (const [spelled, value] of WORDS) {
      if (this.text.startsWith(spelled, this.position)) {
        this.position += spelled.length;
        return value;
      }
    }
    throw this.refusal();
  }

  private readList(depth: number): Json[] {
    const entries: Json[] = [];
    this.readEntries("]", () => entries.push(this.readValue(depth + 1)));
    return entries;
  }

  private readMap(depth: number): ReadonlyMap<string, Json> {
    const entries = new Map<string, Json>();
    this.readEntries("}", () => {
      const key = this.readString();
      this.check(this.text[this.position] === ":");
      this.position += 1;
      entries.set(key, this.readValue(depth + 1));
    });
    return entries;
  }

  /** Read the entries up to the closing bracket, each by a call of `readEntry`. */
  private readEntries(closingBracket: string, readEntry: () => void): void {
    this.position += 1;
    if (this.text[this.position] === closingBracket) {
      this.position += 1;
      return;
    }
    for (;;) {
      readEntry();
      const next = this.text[this.position];
      this.check(next === "," || next === closingBracket);
      this.position += 1;
      if (next === closingBracket) return;
    }
  }

  /** Read a text: its end is the next quotation mark without an odd number of backslashes before it. */
  private readString(): string {
    const start = this.position;
    this.check(this.text[start] === '"');
    do {
      this.position = this.text.indexOf('"', this.position + 1);
      this.check(this.position > 0);
    } while (this.isEscaped());
    this.position += 1;
    try {
      return JSON.parse(this.text.slice(start, this.position)) as string;
    } catch {
      throw this.refusal();
    }
  }

  /** Say whether an odd number of backslashes stands right before the position. */
  private isEscaped(): boolean {
    let firstBackslash = this.position;
    while (this.text[firstBackslash - 1] === "\\") firstBackslash -= 1;
    return (this.position - firstBackslash) % 2 === 1;
  }

  /** Read a number: an integer, or a Real if it has a point or an exponent. */
  private readNumber(): Json {
    NUMBER.lastIndex = this.position;
    const [spelled, pointAndExponent] = NUMBER.exec(this.text) ?? [];
    if (spelled === undefined) throw this.refusal();
    this.position = NUMBER.lastIndex;
    const isInteger = pointAndExponent === "";
    if (isInteger) {
      if (spelled.length < 16) return Number(spelled);
      this.check(spelled.replace("-", "").length <= MOST_DIGITS);
      return integerId(BigInt(spelled));
    }
    this.check(Number.isFinite(Number(spelled)));
    return new Real(Number(spelled));
  }

  private check(condition: boolean): void {
    if (!condition) throw this.refusal();
  }

  private refusal(): MessageError {
    return new MessageError(`a ${this.kind} is canonical JSON in UTF-8`);
  }
}
