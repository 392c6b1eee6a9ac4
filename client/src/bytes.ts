/** Conversions of bytes from and to text and numbers. Numbers of several bytes are big-endian. */

export type Bytes = Uint8Array<ArrayBuffer>;

/** Join parts to one array. */
export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

/** Say whether two arrays hold the same bytes. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && compareBytes(left, right) === 0;
}

/** Compare bytes as Python orders them: below 0 if `left` comes first, above 0 if `right` does. */
export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  for (let position = 0; position < left.length && position < right.length; position++) {
    const difference = (left[position] as number) - (right[position] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Write bytes as hexadecimal digits in lower case. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Read bytes from hexadecimal digits in lower case. RangeError for other text. */
export function fromHex(text: string): Bytes {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) throw new RangeError("expected hexadecimal digits");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Read the first eight bytes as one number. */
export function firstWord(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0);
}

/** Encode a text in UTF-8. RangeError for half of a surrogate pair, which UTF-8 cannot encode. */
export function encodeUtf8(text: string): Bytes {
  if (/\p{Surrogate}/u.test(text)) throw new RangeError("half a character has no UTF-8");
  return new TextEncoder().encode(text);
}

/** Encode a text in UTF-8; half of a surrogate pair becomes three bytes, like any such code point. */
export function encodeUtf8WithSurrogates(text: string): Bytes {
  if (!/\p{Surrogate}/u.test(text)) return new TextEncoder().encode(text);
  const parts = Array.from(text, (character) => {
    const point = character.codePointAt(0) as number;
    const isSurrogate = point >= 0xd800 && point <= 0xdfff;
    if (!isSurrogate) return new TextEncoder().encode(character);
    return Uint8Array.of(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
  });
  return concatBytes(...parts);
}
