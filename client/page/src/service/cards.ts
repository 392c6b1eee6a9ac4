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
  /** How many were attacked, and how many of them hold the rarest value. */
  readonly people: number;
  readonly rarest: number;
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

const LEAST_PEOPLE = 2000;
const LEAST_OF_RAREST = 500;
/** A distance from 0.5 below which so few people could not tell it from none. */
const SMALL = 0.15;

/**
 * The figure of a card about a panel of attackers, in the words of src/tacit/privacy/panel.py;
 * undefined where no panel attacked.
 */
export function figure({ measurements }: Card): string | undefined {
  const found = measurements.find((each) => each.trained_on === "panel");
  const chance = measurements.find((each) => each.trained_on === "permuted labels");
  if (found === undefined) return undefined;
  const few = found.people < LEAST_PEOPLE || found.rarest < LEAST_OF_RAREST;
  if (few && found.auc - 0.5 < SMALL) {
    return (
      `Too few people to say: ${count(found.people)}, of whom ${count(found.rarest)} hold the rarest ` +
      `value; ${count(LEAST_PEOPLE)} and ${LEAST_OF_RAREST} are needed. The 95 % bound for the ` +
      `attackers together is AUC ${found.high.toFixed(3)} on ${found.data}.`
    );
  }
  const permuted = chance === undefined ? "" : `, and ${chance.auc.toFixed(3)} on permuted labels`;
  return (
    `The ${found.attack}, reached AUC ${found.auc.toFixed(3)} on ${found.data}; the 95 % bound for the ` +
    `attackers together is ${found.high.toFixed(3)}${permuted}. Other attackers may do better.`
  );
}

function count(people: number): string {
  return people.toLocaleString("en");
}
