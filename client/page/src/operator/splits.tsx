/** A shop's comparison of private lists with popular items, in released figures. */

import { ShowPending, usePending } from "../parts/pending";
import { fetchSplits, type Split } from "../service/operator";

/** Number of latest days that are shown. */
const DAYS = 14;

/** All comparisons, fetched and shown one after the other. */
export function Splits({ apiKey }: { apiKey: string }) {
  const pending = usePending(() => fetchSplits(apiKey), [apiKey]);
  return (
    <ShowPending pending={pending}>
      {(splits) =>
        splits.length === 0 ? (
          <p>
            None is set up: a section <code>[splits.NAME]</code> of tacit.toml begins one.
          </p>
        ) : (
          <>
            {splits.map((split) => (
              <Comparison key={split.name} split={split} />
            ))}
          </>
        )
      }
    </ShowPending>
  );
}

/** One comparison: its verdict, and a table of its days, the latest first. */
function Comparison({ split }: { split: Split }) {
  const days = split.days.slice(-DAYS).reverse();
  return (
    <>
      <h3>
        {split.name} <span class="noun">model {split.model}</span>
      </h3>
      <p>
        <strong>{describeVerdict(split)}</strong> Each figure has noise of about{" "}
        {Math.round(split.noise)} people: epsilon {split.epsilon} of one person a day, {split.lifetime} in all,{" "}
        {split.days_left} days left.
      </p>
      {days.length > 0 && (
        <div
          class="scroll"
          tabIndex={0}
          role="region"
          aria-label={`Figures of ${split.name}, a wide table`}
        >
          <table class="figures stacks">
            <thead>
              <tr>
                <th scope="col">Day (UTC)</th>
                {COLUMNS.map(([, title]) => (
                  <th key={title} scope="col" class="number">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days.map((day) => (
                <tr key={day.day}>
                  <th scope="row">{day.day}</th>
                  {COLUMNS.map(([name, title]) => (
                    <td key={title} class="number" data-name={title}>
                      {day[name]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

const COLUMNS = [
  ["personal_served", "Private lists: served"],
  ["personal_clicked", "Private lists: clicked"],
  ["popularity_served", "Popular items: served"],
  ["popularity_clicked", "Popular items: clicked"],
] as const;

/** Describe in a sentence which lists are clicked by more of the people who get them. */
function describeVerdict({ days, personal_rate, popularity_rate, low, high }: Split): string {
  if (days.length === 0) return "The first figures come when the first day (UTC) is over.";
  if (personal_rate === null || popularity_rate === null || low === null || high === null) {
    return "Too few people yet to say which lists are clicked more.";
  }
  const rates = `${percent(personal_rate)} of the people with private lists clicked, ${percent(popularity_rate)} with popular items`;
  const interval = `difference ${percent(low)} to ${percent(high)} (95 %)`;
  if (low > 0) return `Private lists are clicked by more people: ${rates}; ${interval}.`;
  if (high < 0) return `Popular items are clicked by more people: ${rates}; ${interval}.`;
  return `No difference shows yet: ${rates}; ${interval}.`;
}

/** Write a share of 1 as percent. */
function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
