/**
 * The file from which devices make lists: magic, length and text of a JSON header, arrays of whole
 * numbers in 16 or 32 bits, little endian, and the SHA-256 of all bytes before it.
 *
 * Mirrors src/tacit/designs/private/device.py.
 */

import { equalBytes } from "../bytes.js";
import { require } from "../message-error.js";
import { sha256 } from "../randomness.js";

/** "tacit", a zero byte, 1 and a line feed. */
const MAGIC = Uint8Array.of(0x74, 0x61, 0x63, 0x69, 0x74, 0, 1, 0x0a);
/** The header follows the magic and its own length in 8 bytes. */
const HEADER_START = MAGIC.length + 8;
const HASH_BYTES = 32;
const BYTES_PER_NUMBER = { "<i2": 2, "<i4": 4 } as const;
/** Largest file that is read: 256 MiB. */
const MOST_BYTES = 2 ** 28;

export type Json = Readonly<Record<string, unknown>>;

/** An array: its shape, and its whole numbers in row-major order. */
export type IntegerArray = readonly [shape: readonly number[], numbers: readonly number[]];

/** Content of a file from which devices make lists. */
export interface ListsFile {
  readonly header: Json;
  /** Arrays by name. */
  readonly arrays: ReadonlyMap<string, IntegerArray>;
  /** The SHA-256 with which the file ends. */
  readonly digest: Uint8Array;
}

/** Read the bytes of such a file. MessageError for other bytes, or for a file that was changed. */
export async function unpackFile(data: Uint8Array): Promise<ListsFile> {
  const hasSize = data.length >= HEADER_START + HASH_BYTES && data.length <= MOST_BYTES;
  require(hasSize && equalBytes(data.subarray(0, MAGIC.length), MAGIC), "these bytes are no lists");
  const body = new Uint8Array(data.subarray(0, data.length - HASH_BYTES));
  const digest = data.slice(-HASH_BYTES);
  require(equalBytes(await sha256(body), digest), "these lists are damaged");
  const view = new DataView(body.buffer);
  const size = view.getBigUint64(MAGIC.length, true);
  require(size <= BigInt(body.length - HEADER_START), "a header is longer than its file");
  const arraysStart = HEADER_START + Number(size);
  const content = parseHeader(body.subarray(HEADER_START, arraysStart));
  return {
    header: requireObject(content["header"]),
    arrays: readArrays(content["arrays"], view, arraysStart),
    digest,
  };
}

/** Return a JSON object; MessageError for anything else. */
export function requireObject(value: unknown): Json {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  require(isObject, "lists have a header");
  return value as Json;
}

/** Parse the JSON of a header. MessageError for anything but an object. */
function parseHeader(text: Uint8Array): Json {
  try {
    return requireObject(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text)));
  } catch {
    require(false, "a header is no JSON");
  }
}

/** Read the arrays that a header's table lists, one after another from `start` to the end. */
function readArrays(table: unknown, view: DataView, start: number): Map<string, IntegerArray> {
  require(Array.isArray(table), "lists have arrays");
  const arrays = new Map<string, IntegerArray>();
  let position = start;
  for (const entry of table.map(requireObject)) {
    const { name, dtype, shape } = entry;
    require(typeof name === "string" && (dtype === "<i2" || dtype === "<i4"), "an array has a name and a kind of number");
    const fits = Array.isArray(shape) && shape.every((n) => Number.isSafeInteger(n) && n >= 0);
    require(fits, "an array has a shape");
    const count = (shape as number[]).reduce((product, extent) => product * extent, 1);
    const width = BYTES_PER_NUMBER[dtype];
    require(position + count * width <= view.byteLength, "an array is longer than its file");
    const arrayStart = position;
    const numberAt = (index: number) => {
      const offset = arrayStart + width * index;
      return width === 2 ? view.getInt16(offset, true) : view.getInt32(offset, true);
    };
    const numbers = Array.from({ length: count }, (_, index) => numberAt(index));
    arrays.set(name, [shape as number[], numbers]);
    position += count * width;
  }
  require(position === view.byteLength, "more bytes follow the last array");
  return arrays;
}
