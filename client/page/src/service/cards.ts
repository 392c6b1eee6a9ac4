/** Guarantee cards as the service gives them. */

import { askJson } from "./asking";

export interface Measurement {
  readonly attack: string;
  readonly trained_on: string;
  readonly release: string;
  readonly auc: number;
  readonly low: number;
  readonly high: number;
  readonly data: string;
}

export interface Claim {
  readonly text: string;
  readonly verdict: string;
  readonly evidence: readonly string[];
}

export interface Card {
  readonly name: string;
  readonly first_line: string;
  readonly sentence: string;
  readonly protects: string;
  readonly adjacency: { readonly unit: string; readonly change: string };
  readonly against: string;
  readonly trust: string;
  readonly basis: string;
  readonly epsilon: number | null;
  readonly delta: number | null;
  readonly lifetime: string;
  readonly lifetime_epsilon: number | null;
  readonly lifetime_delta: number | null;
  readonly assumptions: readonly string[];
  readonly not_covered: readonly string[];
  readonly sources: readonly string[];
  readonly claims: readonly Claim[];
  readonly measurements: readonly Measurement[];
}

/** What is promised about one served thing. noun, name: for example `disclosures`, `films`. */
export interface Guarantee {
  readonly noun: string;
  readonly name: string;
  readonly sentence: string;
  readonly cards: readonly Card[];
}

/** thing: for example `disclosures/films`. */
export function guaranteeOf(thing: string): Promise<Guarantee> {
  return askJson(`/api/guarantees/${thing}`);
}

export async function allGuarantees(): Promise<readonly Guarantee[]> {
  return (await askJson<{ guarantees: Guarantee[] }>("/api/guarantees")).guarantees;
}

/** The attacker that guesses best; an AUC below 0.5 counts as far above it. */
export interface Strongest {
  readonly auc: number;
  readonly upper: number;
  readonly attackers: number;
  readonly data: string;
}

/** undefined where nothing was measured. */
export function strongest({ measurements }: Card): Strongest | undefined {
  const away = (auc: number) => Math.abs(auc - 0.5);
  const [best] = [...measurements].sort((one, other) => away(other.auc) - away(one.auc));
  if (best === undefined) return undefined;
  return {
    auc: 0.5 + away(best.auc),
    upper: 0.5 + Math.max(...measurements.map(({ low, high }) => Math.max(away(low), away(high)))),
    attackers: new Set(measurements.map(({ attack }) => attack)).size,
    data: best.data,
  };
}
