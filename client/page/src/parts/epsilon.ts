/** A budget in the one number that cards and answers share. */

import type { Budget } from "../service/visitor";

/** "epsilon 2.1 of 5", and the delta at which it holds where there is one. */
export function epsilonOf({ epsilon, epsilon_cap, epsilon_delta }: Budget): string {
  const delta = Number(epsilon_delta) === 0 ? "" : ` (delta ${epsilon_delta})`;
  return `epsilon ${epsilon} of ${epsilon_cap}${delta}`;
}
