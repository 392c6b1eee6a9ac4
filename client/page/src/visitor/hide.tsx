/** Step 3: what the service must not learn, and the visitor's own answer, which stays here. */

import type { ItemId } from "../../../src/items.js";
import { printableId } from "../../../src/sketches/formatting.js";
import { toNumber, type Disclosure } from "../../../src/standard-scheme/messages.js";
import { MICRO, type AttributeTable } from "../../../src/standard-scheme/tables.js";
import { Lock } from "../parts/lock";
import { releasePath } from "./letters";
import { hasAllValues, type Visit } from "./visit";

/** Choices of the attribute to hide and of the visitor's own value of it. */
export function Hide({ visit, onNext }: { visit: Visit; onNext: () => void }) {
  const { offer, offers, values, setValues, choose } = visit;
  const { attributes } = offer.disclosure;
  const { words } = offer;
  return (
    <section aria-labelledby="hide">
      <div class="lead">
        <h1 id="hide" tabIndex={-1}>
          What should stay yours?
        </h1>
        <p>
          {offer.table !== undefined &&
            "Only for letters to the service: your list does not need this. "}
          What people choose, and how they rate it, reveals a lot about them. Here it can be made
          harder to read your{" "}
          {offers.offers.map(({ disclosure }) => hiddenAttributes(disclosure)).join(" or your ")}{" "}
          from your stars.
        </p>
      </div>
      {offers.offers.length > 1 && (
        <fieldset class="choices">
          <legend>Hide my</legend>
          {offers.offers.map(({ name, disclosure }) => (
            <Choice
              key={name}
              group="what"
              label={hiddenAttributes(disclosure)}
              checked={name === offer.name}
              onChoose={() => choose(name)}
            />
          ))}
        </fieldset>
      )}
      {attributes.map((table) => (
        <fieldset key={table.name} class="choices">
          <legend>My {printableId(table.name)} is</legend>
          {table.values.map((value) => (
            <Choice
              key={value}
              group={`own-${table.name}`}
              label={formatValue(value)}
              checked={values[table.name] === value}
              onChoose={() => setValues({ ...values, [table.name]: value })}
            />
          ))}
          <p class="stays">
            These are the values in the data that the service learned from. If none is yours,
            nothing here can hide it: send no letters. Your list does not need them.
          </p>
          <p class="stays">
            <Lock /> This answer never leaves your device. It is needed here, to choose which{" "}
            {words.many} are held back and which stars are moved.
          </p>
          {visit.sent[releasePath(offer.name)] !== undefined && (
            <p class="stays">
              Your letters were disguised under one answer. Under another one your device decides
              nothing new and repeats the latest letter: new {words.many} could reveal which
              answer is true.
            </p>
          )}
        </fieldset>
      ))}
      <div class="hold">
        {hasAllValues(visit) &&
          attributes.map((table) => <Traces key={table.name} table={table} visit={visit} />)}
      </div>
      <div class="bar">
        <p role="status">{hasAllValues(visit) ? "Kept here" : "Not answered yet"}</p>
        <button type="button" disabled={!hasAllValues(visit)} onClick={onNext}>
          Next: what leaves
        </button>
      </div>
    </section>
  );
}

/** One radio button of a group, with its label. */
function Choice(props: { group: string; label: string; checked: boolean; onChoose: () => void }) {
  return (
    <label class="choice">
      <input type="radio" name={props.group} checked={props.checked} onChange={props.onChoose} />
      <span>{props.label}</span>
    </label>
  );
}

/** The three rated items whose stars would reveal the answer most, by the public tables. */
function Traces({ table, visit }: { table: AttributeTable; visit: Visit }) {
  const { offer, stars, values } = visit;
  const { itemNumber, step } = offer.disclosure;
  const offsets = table.offsets[table.values.indexOf(values[table.name] as string)] ?? [];
  const starsAboveMean = (item: ItemId) =>
    ((offsets[itemNumber.get(item) as number] ?? 0) / MICRO) * toNumber(step);
  const distance = (item: ItemId) => Math.abs(starsAboveMean(item));
  const mostRevealing = [...stars.keys()]
    .filter((item) => itemNumber.has(item))
    .sort((left, right) => distance(right) - distance(left))
    .slice(0, 3);
  return (
    <div class="traces">
      <h2>Where it would show</h2>
      <p>
        On average, people who answer as you do rate these {offer.words.many} otherwise than people as a
        whole. Your device evens that out, and holds some back for good.
      </p>
      <ul>
        {mostRevealing.map((item) => (
          <li key={String(item)}>
            <span>{offer.titles(item)}</span>
            <span class="gap">
              {`${distance(item).toFixed(2)} stars ${starsAboveMean(item) < 0 ? "lower" : "higher"}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Write the names of the attributes that a disclosure hides. */
export function hiddenAttributes({ attributes }: Disclosure): string {
  return attributes.map(({ name }) => printableId(name)).join(" and ");
}

/** Write a value for people; codes of well-known data sets are written out. */
function formatValue(value: string): string {
  return { F: "female", M: "male" }[value] ?? printableId(value);
}
