/** Sentences on how well attackers guess the hidden attribute, if that was measured. */

import type { Card, Measurement } from "../service/cards";

/** `trained_on` of the measurement by all attackers together. */
const ALL_ATTACKERS = "panel";

/** The measurements of a card as a paragraph. hidden: name of the hidden attributes. */
export function MeasurementText({ card, hidden }: { card: Card | undefined; hidden: string }) {
  const strongest = card?.measurements.find(({ trained_on }) => trained_on === ALL_ATTACKERS);
  if (strongest === undefined) {
    return (
      <p class="measured">
        <strong>Not measured:</strong> nobody tried how hard your {hidden} is to guess with these
        tables.
      </p>
    );
  }
  const withoutHiding = strongestWithoutHiding(card?.measurements ?? []);
  return (
    <p class="measured">
      <strong>Measured</strong> on {strongest.data}, never proved: of one person of each kind, the
      best of the programs that were tried tells who has which {hidden}{" "}
      {timesInHundred(strongest.auc)} times in 100, with 95 % confidence at most{" "}
      {Math.ceil(100 * strongest.high)}. Tossing a coin gives 50
      {withoutHiding !== undefined &&
        `; without hiding it was ${timesInHundred(withoutHiding.auc)}`}
      . Others
      may do better.
    </p>
  );
}

/** Find the strongest measured attack on people who hide nothing; undefined if there is none. */
function strongestWithoutHiding(measurements: readonly Measurement[]): Measurement | undefined {
  return measurements
    .filter(({ release }) => release === "none")
    .sort((left, right) => right.auc - left.auc)[0];
}

/** Convert an AUC, the chance to tell which of two people has which value, to times in a hundred. */
function timesInHundred(auc: number): number {
  return Math.round(100 * auc);
}
