/**
 * The file by which devices make lists: magic, length and text of a JSON header, arrays of whole
 * numbers in 16 or 32 bits, little endian, and the SHA-256 of all that precedes.
 *
 * Mirrors src/tacit/designs/private/device.py.
 */

import { equal } from "../bytes.js";
import { require } from "../malformed.js";
import { sha256 } from "../randomness.js";

const MAGIC = Uint8Array.of(0x74, 0x61, 0x63, 0x69, 0x74, 0, 1, 0x0a);
const START = MAGIC.length + 8;
const HASH = 32;
const SIZES = { "<i2": 2, "<i4": 4 } as const;
const MOST = 2 ** 28;

export type Json = Readonly<Record<string, unknown>>;

/** shape and whole numbers, row by row. */
export type Whole = readonly [shape: readonly number[], numbers: readonly number[]];

export interface File {
  readonly header: Json;
  readonly arrays: ReadonlyMap<string, Whole>;
  readonly digest: Uint8Array;
}

/** MessageError for bytes that are not such a file, or that something has changed. */
export async function unpack(data: Uint8Array): Promise<File> {
  const known = data.length >= START + HASH && data.length <= MOST;
  require(known && equal(data.subarray(0, MAGIC.length), MAGIC), "these bytes are no lists");
  const body = new Uint8Array(data.subarray(0, data.length - HASH));
  const digest = data.slice(-HASH);
  require(equal(await sha256(body), digest), "these lists are damaged");
  const view = new DataView(body.buffer);
  const size = view.getBigUint64(MAGIC.length, true);
  require(size <= BigInt(body.length - START), "a header is longer than its file");
  const at = START + Number(size);
  const content = parsed(body.subarray(START, at));
  return { header: object(content["header"]), arrays: read(content["arrays"], view, at), digest };
}

/** A JSON object; MessageError for anything else. */
export function object(value: unknown): Json {
  const is = typeof value === "object" && value !== null && !Array.isArray(value);
  require(is, "lists have a header");
  return value as Json;
}

function parsed(text: Uint8Array): Json {
  try {
    return object(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text)));
  } catch {
    require(false, "a header is no JSON");
  }
}

function read(table: unknown, view: DataView, start: number): Map<string, Whole> {
  require(Array.isArray(table), "lists have arrays");
  const arrays = new Map<string, Whole>();
  let at = start;
  for (const entry of table.map(object)) {
    const { name, dtype, shape } = entry;
    require(typeof name === "string" && (dtype === "<i2" || dtype === "<i4"), "an array is odd");
    const fits = Array.isArray(shape) && shape.every((n) => Number.isSafeInteger(n) && n >= 0);
    require(fits, "an array has a shape");
    const count = (shape as number[]).reduce((product, extent) => product * extent, 1);
    const width = SIZES[dtype];
    require(at + count * width <= view.byteLength, "an array is longer than its file");
    const number = (place: number) =>
      width === 2 ? view.getInt16(at + 2 * place, true) : view.getInt32(at + 4 * place, true);
    arrays.set(name, [shape as number[], Array.from({ length: count }, (_, n) => number(n))]);
    at += count * width;
  }
  require(at === view.byteLength, "more bytes follow the last array");
  return arrays;
}
