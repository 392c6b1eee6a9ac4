/** Whether the hiding was measured, on what, and how well it worked: in plain words. */

import type { Card, Measurement } from "../service/cards";

const ALL = "panel";

export function MeasurementText({ card, hidden }: { card: Card | undefined; hidden: string }) {
  const strongest = card?.measurements.find(({ trained_on }) => trained_on === ALL);
  if (strongest === undefined) {
    return (
      <p class="measured">
        <strong>Not measured:</strong> nobody tried how hard your {hidden} is to guess with these
        tables.
      </p>
    );
  }
  const without = strongestWithoutHiding(card?.measurements ?? []);
  return (
    <p class="measured">
      <strong>Measured</strong> on {strongest.data}, never proved: of one person of each kind, the
      best of the programs that were tried tells who has which {hidden}{" "}
      {timesInHundred(strongest.auc)} times in 100, with 95 % confidence at most{" "}
      {Math.ceil(100 * strongest.high)}. Tossing a coin gives 50
      {without !== undefined && `; without hiding it was ${timesInHundred(without.auc)}`}. Others
      may do better.
    </p>
  );
}

/** Against people who hide nothing. */
function strongestWithoutHiding(measurements: readonly Measurement[]): Measurement | undefined {
  return measurements
    .filter(({ release }) => release === "none")
    .sort((one, other) => other.auc - one.auc)[0];
}

/** AUC is the chance to put two people, one of each kind, in the right order. */
function timesInHundred(auc: number): number {
  return Math.round(100 * auc);
}
