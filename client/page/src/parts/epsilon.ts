/** Budgets written as an epsilon, the number that cards and answers state. */

import type { Budget } from "../service/visitor";

/** Write "epsilon 2.1 of 5", and the delta at which it holds unless that is 0. */
export function epsilonOf({ epsilon, epsilon_cap, epsilon_delta }: Budget): string {
  const delta = Number(epsilon_delta) === 0 ? "" : ` (delta ${epsilon_delta})`;
  return `epsilon ${epsilon} of ${epsilon_cap}${delta}`;
}
