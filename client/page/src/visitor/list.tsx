/** Step 2: the lists, made here, and everything that is the visitor's. */

import { recommend } from "../../../src/sketches/device.js";
import { Clusters } from "../../../src/sketches/messages.js";
import { toNumber } from "../../../src/standard-scheme/messages.js";
import { ShowPending, usePending } from "../parts/draft";
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

const LENGTH = 10;

export function List({ visit }: { visit: Visit }) {
  const { offer, offers, letters: speaking } = visit;
  const { released } = offers;
  const first = released === undefined;
  return (
    <>
      {released !== undefined && <ListOfTheReleasedModel visit={visit} released={released} />}
      {offer.table !== undefined && <ListMadeHere visit={visit} first={first} />}
      {speaking.list !== undefined && (
        <OtherLists visit={visit} list={speaking.list} first={first} />
      )}
    </>
  );
}

/** What stands below the lists made here. */
function OtherLists({
  visit,
  list,
  first,
}: {
  visit: Visit;
  list: readonly RankedItem[];
  first: boolean;
}) {
  const { offer, offers } = visit;
  return (
    <>
      {list.length > 0 && (
        <ListByLetter visit={visit} list={list} first={first && offer.table === undefined} />
      )}
      {list.length === 0 && offer.table === undefined && (
        <ListOfTheMostLiked visit={visit} first={first} />
      )}
      {offers.questions
        .filter(({ hasClusters: clustered }) => clustered)
        .map((question) => (
          <Groups key={question.name} visit={visit} question={question} />
        ))}
      <OwnData visit={visit} />
    </>
  );
}

/** By a model that was released with differential privacy, from the true stars. */
function ListOfTheReleasedModel({ visit, released }: { visit: Visit; released: ReleasedModel }) {
  const { lists, name, titles } = released;
  const { words } = released.catalogue;
  const [least, most] = lists.header["scale"] as [number, number];
  const own = new Map([...visit.stars].filter(([, given]) => least <= given && given <= most));
  const rated = lists.context.some((item) => own.has(item));
  const films = lists.rank(own, { n: LENGTH }).map(([item]): RankedItem => [item, null]);
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
      {!rated && (
        <p>
          These are popular {words.many}. For a list of your own,{" "}
          <a href="#rate">rate {words.many}</a>.
        </p>
      )}
      <Films visit={visit} titles={titles} heading="h2" films={films} />
      <p class="more-about">What the model says about the people it was learned from:</p>
      <GuaranteeOf thing={`models/${name}`} />
    </section>
  );
}

/** By the published table, from the true stars. */
function ListMadeHere({ visit, first }: { visit: Visit; first: boolean }) {
  const { offer, stars } = visit;
  const { words } = offer;
  const Heading = first ? "h1" : "h2";
  const own = [...stars.keys()].filter((item) => offer.disclosure.itemNumber.has(item));
  return (
    <section aria-labelledby="list" class={first ? undefined : "by-letter"}>
      <div class="lead">
        <Heading id="list" tabIndex={-1}>
          {first ? "For you" : `By the table of ${words.many} that go together`}
        </Heading>
        <p class="stays">
          <Lock /> Nothing leaves this browser. The service publishes which {words.many} go together;
          your device fetched the whole table and ranks with your true stars.
        </p>
      </div>
      {own.length === 0 ? (
        <p>
          Give stars to {words.many} first. <a href="#rate">Rate {words.many}</a>
        </p>
      ) : (
        <Films visit={visit} heading={first ? "h2" : "h3"} films={rankByTable(visit)} />
      )}
      <p class="more-about">
        The table was made of the ratings of people who agreed that it is published.{" "}
        {offer.table !== undefined && own.length > 0 && (
          <>
            Nothing has to be sent for this list. If you want the service's own list as well, your
            device can send it disguised stars: <a href="#hide">what that takes</a>
          </>
        )}
      </p>
    </section>
  );
}

function rankByTable({ offer, stars }: Visit): RankedItem[] {
  const { items, minimum, step } = offer.disclosure;
  const level = (given: number) => Math.round((given - toNumber(minimum)) / toNumber(step));
  const levels = new Map([...stars].map(([item, given]) => [item, level(given)]));
  const ranked = offer.table?.rank(items, levels) ?? [];
  return ranked.slice(0, LENGTH).map(([item]): RankedItem => [item, null]);
}

/** By the answer to the latest letter, which is kept here. */
function ListByLetter(given: { visit: Visit; list: readonly RankedItem[]; first: boolean }) {
  const { visit, list, first } = given;
  const Heading = first ? "h1" : "h2";
  const unseen = list.filter(([item]) => !visit.stars.has(item)).slice(0, LENGTH);
  return (
    <section aria-labelledby="by-letter" class="by-letter">
      <div class="lead">
        <Heading id="by-letter" tabIndex={-1}>
          {first ? "For you" : "By your letters"}
        </Heading>
        <p>
          The service answered your latest letter with scores of every {visit.offer.words.one}. They are kept here:
          your device added your part, left out what you rated, and sends the result to nobody.
        </p>
      </div>
      <Films visit={visit} heading={first ? "h2" : "h3"} films={unseen} />
    </section>
  );
}

/** Before the first answer, the same list for everybody. */
function ListOfTheMostLiked({ visit, first }: { visit: Visit; first: boolean }) {
  const Heading = first ? "h1" : "h2";
  const { offer, letters: speaking, stars } = visit;
  const on = speaking.allowedDisclosure === offer.name;
  const unseen = offer.popular.filter((item) => !stars.has(item)).slice(0, LENGTH);
  return (
    <section aria-labelledby="most-liked">
      <div class="lead">
        <Heading id="most-liked" tabIndex={-1}>
          What most people like
        </Heading>
        <p>
          The service publishes this order for everybody; your device left out what you rated. A
          list of your own is made from disguised stars alone.{" "}
          {on ? (
            <>
              Yours comes with the first letter. <a href="#send">See when it leaves</a>
            </>
          ) : (
            <>
              Nothing was sent. <a href="#hide">See what that takes</a>
            </>
          )}
        </p>
      </div>
      <Films
        visit={visit}
        heading={first ? "h2" : "h3"}
        films={unseen.map((item) => [item, null])}
      />
    </section>
  );
}

function Films(given: {
  visit: Visit;
  heading: "h2" | "h3";
  films: readonly RankedItem[];
  titles?: Titles;
}) {
  const { visit, heading: Heading, films } = given;
  const { offer } = visit;
  const titles = given.titles ?? offer.titles;
  const most = starsOnScale(offer.disclosure).at(-1) as number;
  return (
    <ol class="list">
      {films.map(([item, stars]) => (
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

/** A list by groups of films, where a campaign has made them. */
function Groups({ visit, question }: { visit: Visit; question: Question }) {
  const { name, campaign, catalogue, titles } = question;
  const draft = usePending(async () => {
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
      <ShowPending draft={draft}>
        {(found) => (
          <ol class="short">
            {found.map((item) => (
              <li key={String(item)}>{titles(item)}</li>
            ))}
          </ol>
        )}
      </ShowPending>
    </section>
  );
}
