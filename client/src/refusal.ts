/** Error: the device does not answer, because that would exceed its limits or reveal too much. */
export class Refusal extends Error {
  override readonly name = "Refused";
}
