/** Bytes beside text and numbers. Numbers of several bytes are big-endian. */

export type Bytes = Uint8Array<ArrayBuffer>;

export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && compareBytes(left, right) === 0;
}

/** Negative where `one` comes first, as Python orders bytes. */
export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  for (let position = 0; position < left.length && position < right.length; position++) {
    const difference = (left[position] as number) - (right[position] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(text: string): Bytes {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) throw new RangeError("expected hexadecimal digits");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** The first eight bytes as one number. */
export function firstWord(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0);
}

/** UTF-8 of a text that has one: half a surrogate pair has none. */
export function encodeUtf8(text: string): Bytes {
  if (/\p{Surrogate}/u.test(text)) throw new RangeError("half a character has no UTF-8");
  return new TextEncoder().encode(text);
}

/** UTF-8 where half a surrogate pair is written in three bytes, like any other code point. */
export function encodeUtf8WithSurrogates(text: string): Bytes {
  if (!/\p{Surrogate}/u.test(text)) return new TextEncoder().encode(text);
  const parts = Array.from(text, (letter) => {
    const point = letter.codePointAt(0) as number;
    if (point < 0xd800 || point > 0xdfff) return new TextEncoder().encode(letter);
    return Uint8Array.of(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
  });
  return concatBytes(...parts);
}
