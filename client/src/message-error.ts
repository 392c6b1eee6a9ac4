/** A message that is not exactly what this version writes. */
export class MessageError extends Error {
  override readonly name = "MessageError";
}

/** MessageError saying `what` should be so. */
export function require(holds: boolean, what: string): asserts holds {
  if (!holds) throw new MessageError(what);
}
