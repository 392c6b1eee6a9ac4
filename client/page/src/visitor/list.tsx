/** Step 2: the lists, which are made on this device, and the visitor's own data. */

import type { ItemId } from "../../../src/items.js";
import { recommend } from "../../../src/sketches/device.js";
import { Clusters } from "../../../src/sketches/messages.js";
import { toNumber } from "../../../src/standard-scheme/messages.js";
import { ShowPending, usePending } from "../parts/pending";
import { GuaranteeOf } from "../parts/guarantee";
import { Lock } from "../parts/lock";
import { fetchOctets } from "../service/requests";
import type { Question, ReleasedModel, Titles } from "../service/offers";
import type { RankedItem } from "./storage";
import { Poster } from "./poster";
import { starsOnScale } from "./rate";
import { StarsShown } from "./stars";
import type { Visit } from "./visit";
import { OwnData } from "./own-data";

/** Length of a list. */
const LENGTH = 10;

/** All lists that can be made for the visitor, the first of them with the page's heading. */
export function List({ visit }: { visit: Visit }) {
  const { offer, offers, letters } = visit;
  const { released } = offers;
  const isFirst = released === undefined;
  return (
    <>
      {released !== undefined && <ListOfReleasedModel visit={visit} released={released} />}
      {offer.table !== undefined && <ListByTable visit={visit} isFirst={isFirst} />}
      {letters.list !== undefined && (
        <OtherLists visit={visit} list={letters.list} isFirst={isFirst} />
      )}
    </>
  );
}

/** The lists by letters and campaigns, and the visitor's own data. */
function OtherLists({
  visit,
  list,
  isFirst,
}: {
  visit: Visit;
  list: readonly RankedItem[];
  isFirst: boolean;
}) {
  const { offer, offers } = visit;
  return (
    <>
      {list.length > 0 && (
        <ListByLetter visit={visit} list={list} isFirst={isFirst && offer.table === undefined} />
      )}
      {list.length === 0 && offer.table === undefined && (
        <ListOfMostLiked visit={visit} isFirst={isFirst} />
      )}
      {offers.questions
        .filter(({ hasClusters }) => hasClusters)
        .map((question) => (
          <ListByClusters key={question.name} visit={visit} question={question} />
        ))}
      <OwnData visit={visit} />
    </>
  );
}

/** A list by a model that was released with differential privacy, from the true stars. */
function ListOfReleasedModel({ visit, released }: { visit: Visit; released: ReleasedModel }) {
  const { lists, name, titles } = released;
  const { words } = released.catalogue;
  const [least, most] = lists.header["scale"] as [number, number];
  const history = new Map([...visit.stars].filter(([, stars]) => least <= stars && stars <= most));
  const hasRated = lists.context.some((item) => history.has(item));
  const items = lists.rank(history, { n: LENGTH }).map(([item]): RankedItem => [item, null]);
  return (
    <section aria-labelledby="released">
      <div class="lead">
        <h1 id="released" tabIndex={-1}>
          For you
        </h1>
        <p class="stays">
          <Lock /> Nothing leaves this browser. The service gives everybody the same model; your
          device fetched all of it and ranks with your true stars.
        </p>
      </div>
      {!hasRated && (
        <p>
          These are popular {words.many}. For a list of your own,{" "}
          <a href="#rate">rate {words.many}</a>.
        </p>
      )}
      <RankedItems visit={visit} titles={titles} heading="h2" items={items} />
      <p class="more-about">What the model says about the people it was learned from:</p>
      <GuaranteeOf thing={`models/${name}`} />
    </section>
  );
}

/** A list by the published item table, from the true stars. */
function ListByTable({ visit, isFirst }: { visit: Visit; isFirst: boolean }) {
  const { offer, stars } = visit;
  const { words } = offer;
  const Heading = isFirst ? "h1" : "h2";
  const hasRated = [...stars.keys()].some((item) => offer.disclosure.itemNumber.has(item));
  return (
    <section aria-labelledby="list" class={isFirst ? undefined : "by-letter"}>
      <div class="lead">
        <Heading id="list" tabIndex={-1}>
          {isFirst ? "For you" : `By the table of ${words.many} that go together`}
        </Heading>
        <p class="stays">
          <Lock /> Nothing leaves this browser. The service publishes which {words.many} go together;
          your device fetched the whole table and ranks with your true stars.
        </p>
      </div>
      {hasRated ? (
        <RankedItems
          visit={visit}
          heading={isFirst ? "h2" : "h3"}
          items={rankByTable(visit)}
        />
      ) : (
        <p>
          Give stars to {words.many} first. <a href="#rate">Rate {words.many}</a>
        </p>
      )}
      <p class="more-about">
        The table was made of the ratings of people who agreed that it is published.{" "}
        {offer.table !== undefined && hasRated && (
          <>
            Nothing has to be sent for this list. If you want the service's own list as well, your
            device can send it disguised stars: <a href="#hide">what that takes</a>
          </>
        )}
      </p>
    </section>
  );
}

/** List the best items by the item table, for the person's stars in whole levels. */
function rankByTable({ offer, stars }: Visit): RankedItem[] {
  const { items, minimum, step } = offer.disclosure;
  const levels = new Map<ItemId, number>();
  for (const [item, starsOfItem] of stars) {
    levels.set(item, Math.round((starsOfItem - toNumber(minimum)) / toNumber(step)));
  }
  const ranked = offer.table?.rank(items, levels) ?? [];
  return ranked.slice(0, LENGTH).map(([item]): RankedItem => [item, null]);
}

/** A list by the answer to the latest letter, which is stored here. */
function ListByLetter(props: { visit: Visit; list: readonly RankedItem[]; isFirst: boolean }) {
  const { visit, list, isFirst } = props;
  const Heading = isFirst ? "h1" : "h2";
  const unrated = list.filter(([item]) => !visit.stars.has(item)).slice(0, LENGTH);
  return (
    <section aria-labelledby="by-letter" class="by-letter">
      <div class="lead">
        <Heading id="by-letter" tabIndex={-1}>
          {isFirst ? "For you" : "By your letters"}
        </Heading>
        <p>
          The service answered your latest letter with scores of every {visit.offer.words.one}. They are kept here:
          your device added your part, left out what you rated, and sends the result to nobody.
        </p>
      </div>
      <RankedItems visit={visit} heading={isFirst ? "h2" : "h3"} items={unrated} />
    </section>
  );
}

/** The list before the first answer, the same for everybody. */
function ListOfMostLiked({ visit, isFirst }: { visit: Visit; isFirst: boolean }) {
  const Heading = isFirst ? "h1" : "h2";
  const { offer, letters, stars } = visit;
  const isOn = letters.allowedDisclosure === offer.name;
  const unrated = offer.popular.filter((item) => !stars.has(item)).slice(0, LENGTH);
  return (
    <section aria-labelledby="most-liked">
      <div class="lead">
        <Heading id="most-liked" tabIndex={-1}>
          What most people like
        </Heading>
        <p>
          The service publishes this order for everybody; your device left out what you rated. A
          list of your own is made from disguised stars alone.{" "}
          {isOn && letters.isSilent && (
            <>
              No letter leaves as things are. <a href="#send">See why</a>
            </>
          )}
          {isOn && !letters.isSilent && (
            <>
              Yours comes with the first letter. <a href="#send">See when it leaves</a>
            </>
          )}
          {!isOn && (
            <>
              Nothing was sent. <a href="#hide">See what that takes</a>
            </>
          )}
        </p>
      </div>
      <RankedItems
        visit={visit}
        heading={isFirst ? "h2" : "h3"}
        items={unrated.map((item) => [item, null])}
      />
    </section>
  );
}

/** A list of items with their titles and, if they were predicted, their stars. */
function RankedItems(props: {
  visit: Visit;
  heading: "h2" | "h3";
  items: readonly RankedItem[];
  titles?: Titles;
}) {
  const { visit, heading: Heading, items } = props;
  const { offer } = visit;
  const titles = props.titles ?? offer.titles;
  const most = starsOnScale(offer.disclosure).at(-1) as number;
  return (
    <ol class="list">
      {items.map(([item, stars]) => (
        <li key={String(item)}>
          <Poster id={String(item)} />
          <div>
            <Heading>{titles(item)}</Heading>
            {stars !== null && (
              <p>
                <StarsShown value={stars} most={most} />
                <span class="about">about {stars.toFixed(1)}</span>
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

/** A list by the clusters of items that a campaign has found. */
function ListByClusters({ visit, question }: { visit: Visit; question: Question }) {
  const { name, campaign, catalogue, titles } = question;
  const pending = usePending(async () => {
    const bytes = await fetchOctets(`/api/campaigns/${name}/clusters`);
    const likedFrom = campaign.likedFrom / 1000;
    return recommend(Clusters.decode(bytes), catalogue, visit.stars, { likedFrom, n: LENGTH });
  }, [question]);
  return (
    <section class="panel" aria-labelledby={`groups-${name}`}>
      <h2 id={`groups-${name}`}>By groups of {question.words.many}</h2>
      <p>
        The groups were made of everybody's answers by coin toss. Your device fetched all of them
        and chose by itself.
      </p>
      <ShowPending pending={pending}>
        {(items) => (
          <ol class="short">
            {items.map((item) => (
              <li key={String(item)}>{titles(item)}</li>
            ))}
          </ol>
        )}
      </ShowPending>
    </section>
  );
}
