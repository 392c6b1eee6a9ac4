/** Step 1: stars for films. */

import { useState } from "preact/hooks";

import { CONTINUOUS_LEVELS, numberOf, type Disclosure } from "../../../src/standard-scheme/messages.js";
import { Poster } from "./poster";
import { StarRating } from "./stars";
import { FEWEST, type Visit } from "./visit";

const AT_FIRST = 24;
const MORE = 24;

export function Rate({ visit, onNext }: { visit: Visit; onNext: () => void }) {
  const { offer, stars, rate } = visit;
  const [showing, setShowing] = useState(AT_FIRST);
  const items = offer.disclosure.items;
  const choices = starsOnScale(offer.disclosure);
  const rated = items.filter((item) => stars.has(item)).length;
  const missing = FEWEST - rated;
  return (
    <section aria-labelledby="rate">
      <div class="lead">
        <h1 id="rate" tabIndex={-1}>
          What have you watched?
        </h1>
        <p>
          Give stars to at least {FEWEST} films. They stay in this browser: nothing is sent until you
          have seen it, byte by byte, and pressed the button.
        </p>
      </div>
      <ul class="films">
        {items.slice(0, showing).map((item) => {
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
                  onChange={(given) => rate(item, given)}
                />
              </div>
            </li>
          );
        })}
      </ul>
      {showing < items.length && (
        <p class="more">
          <button type="button" class="quiet" onClick={() => setShowing(showing + MORE)}>
            Show more films
          </button>
        </p>
      )}
      <div class="bar">
        <p role="status">
          {rated} rated{missing > 0 ? `, ${missing} more to go` : ""}
        </p>
        <button type="button" disabled={missing > 0} onClick={onNext}>
          Next: what to hide
        </button>
      </div>
    </section>
  );
}

/** The stars that a person may give; of a continuous scale, its whole levels. */
export function starsOnScale({ minimum, step, levels }: Disclosure): number[] {
  const count = levels > 0 ? levels : CONTINUOUS_LEVELS + 1;
  return Array.from({ length: count }, (_, level) => numberOf(minimum) + numberOf(step) * level);
}
