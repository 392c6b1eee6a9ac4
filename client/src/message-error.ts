/** Error: a message is not exactly what this version writes. */
export class MessageError extends Error {
  override readonly name = "MessageError";
}

/** Throw a MessageError with this sentence unless the condition holds. */
export function require(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new MessageError(sentence);
}
