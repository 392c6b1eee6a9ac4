/** The operator's table of all budgets, fetched page by page. */

import { useEffect, useState } from "preact/hooks";

import { Trouble } from "../parts/pending";
import { describeError } from "../service/requests";
import { fetchBudgets, type HeldBudget } from "../service/operator";

/** A table of all budgets, with a button for the next page if there is one. */
export function Budgets({ apiKey }: { apiKey: string }) {
  const [budgets, setBudgets] = useState<readonly HeldBudget[]>();
  const [next, setNext] = useState<number | null>(0);
  const [trouble, setTrouble] = useState<string>();
  const fetchPage = async (after: number) => {
    try {
      const page = await fetchBudgets(apiKey, after);
      setBudgets((earlier) => [...(earlier ?? []), ...page.budgets]);
      setNext(page.next);
      setTrouble(undefined);
    } catch (error) {
      setTrouble(describeError(error));
    }
  };
  useEffect(() => void fetchPage(0), [apiKey]);
  if (trouble !== undefined) return <Trouble>{trouble}</Trouble>;
  if (budgets === undefined) return <p class="waiting">One moment …</p>;
  if (budgets.length === 0) return <p>No budget was opened yet.</p>;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Budgets, a wide table">
        <table class="figures stacks">
          <thead>
            <tr>
              <th scope="col">Of</th>
              <th scope="col" class="number">
                Epsilon spent
              </th>
              <th scope="col" class="number">
                At most
              </th>
              <th scope="col" class="number">
                At delta
              </th>
              <th scope="col">Share</th>
              <th scope="col">Stored</th>
            </tr>
          </thead>
          <tbody>
            {budgets.map(({ number, kind, name, budget }) => (
              <tr key={number}>
                <th scope="row">
                  {name} <span class="noun">{kind}</span>
                </th>
                <td class="number" data-name="Epsilon spent">
                  {budget.epsilon}
                </td>
                <td class="number" data-name="At most">
                  {budget.epsilon_cap}
                </td>
                <td class="number" data-name="At delta">
                  {budget.epsilon_delta}
                </td>
                <td class="share">
                  <progress
                    value={Number(budget.epsilon)}
                    max={Number(budget.epsilon_cap)}
                    aria-label={`Share of ${name} that is spent`}
                  />
                </td>
                <td data-name="Stored">{`${budget.spent} of ${budget.cap} ${budget.counted_in}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {next !== null && (
        <button type="button" class="quiet" onClick={() => void fetchPage(next)}>
          Show more
        </button>
      )}
    </>
  );
}
