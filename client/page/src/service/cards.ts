/** Guarantee cards, in the form in which the service sends them. */

import { fetchJson } from "./requests";

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

/** The guarantee of one thing that is served. noun, name: for example `disclosures`, `films`. */
export interface Guarantee {
  readonly noun: string;
  readonly name: string;
  readonly sentence: string;
  readonly cards: readonly Card[];
}

/** Fetch the guarantee of one thing, such as `disclosures/films`. */
export function fetchGuarantee(thing: string): Promise<Guarantee> {
  return fetchJson(`/api/guarantees/${thing}`);
}

/** Fetch the guarantees of everything that is served. */
export async function fetchGuarantees(): Promise<readonly Guarantee[]> {
  return (await fetchJson<{ guarantees: Guarantee[] }>("/api/guarantees")).guarantees;
}
