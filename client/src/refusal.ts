/** The device will not take part: what was asked is too much, or would tell what it protects. */
export class Refusal extends Error {
  override readonly name = "Refused";
}
