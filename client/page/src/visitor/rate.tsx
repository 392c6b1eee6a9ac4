/** Step 1: stars for items. */

import { useState } from "preact/hooks";

import { CONTINUOUS_LEVELS, toNumber, type Disclosure } from "../../../src/standard-scheme/messages.js";
import { countOf } from "../service/catalogue";
import { Poster } from "./poster";
import { StarRating } from "./stars";
import type { Visit } from "./visit";

/** Number of items that are shown at first. */
const AT_FIRST = 24;
/** Number of further items after each click on "Show more". */
const MORE = 24;

/** The items of the disclosure, each with its stars. */
export function Rate({ visit, onNext }: { visit: Visit; onNext: () => void }) {
  const { offer, stars, rate } = visit;
  const { words } = offer;
  const [shownCount, setShownCount] = useState(AT_FIRST);
  const items = offer.disclosure.items;
  const choices = starsOnScale(offer.disclosure);
  const ratedCount = items.filter((item) => stars.has(item)).length;
  return (
    <section aria-labelledby="rate">
      <div class="lead">
        <h1 id="rate" tabIndex={-1}>
          Which {words.many} do you know?
        </h1>
        <p>
          Give stars to {words.many} that you know. They stay in this browser
          {offer.table === undefined
            ? ": nothing is sent unless you allow it later."
            : ", and so does the list that it makes of them. Nothing is sent."}
        </p>
      </div>
      <ul class="films">
        {items.slice(0, shownCount).map((item) => {
          const title = offer.titles(item);
          return (
            <li key={String(item)} class="film">
              <Poster id={String(item)} />
              <div>
                <h2>{title}</h2>
                <StarRating
                  name={`film-${item}`}
                  title={title}
                  choices={choices}
                  value={stars.get(item)}
                  onChange={(newStars) => rate(item, newStars)}
                />
              </div>
            </li>
          );
        })}
      </ul>
      {shownCount < items.length && (
        <p class="more">
          <button type="button" class="quiet" onClick={() => setShownCount(shownCount + MORE)}>
            Show more {words.many}
          </button>
        </p>
      )}
      <div class="bar">
        <p role="status">{`${countOf(ratedCount, words)} rated`}</p>
        <button type="button" onClick={onNext}>
          Next: your list
        </button>
      </div>
    </section>
  );
}

/** List the stars that a person may give: on a continuous scale, those of its whole levels. */
export function starsOnScale({ minimum, step, levels }: Disclosure): number[] {
  const count = levels > 0 ? levels : CONTINUOUS_LEVELS + 1;
  return Array.from({ length: count }, (_, level) => toNumber(minimum) + toNumber(step) * level);
}
