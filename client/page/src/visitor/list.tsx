/** Step 4: the list, made here from the service's scores, and everything that is hers. */

import type { ItemId } from "../../../src/items.js";
import { recommend } from "../../../src/sketches/device.js";
import { Clusters } from "../../../src/sketches/messages.js";
import { Drafted, useDraft } from "../parts/draft";
import { GuaranteeOf } from "../parts/guarantee";
import { askOctets } from "../service/asking";
import type { Question } from "../service/offers";
import { releasePath } from "./letters";
import { Poster } from "./poster";
import { starsOnScale } from "./rate";
import { StarsShown } from "./stars";
import type { Visit } from "./visit";
import { Yours } from "./yours";

const LENGTH = 10;

export function List({ visit }: { visit: Visit }) {
  const { predictions, offer, offers } = visit;
  return (
    <>
      {predictions === undefined ? (
        <section class="lead">
          <h1 tabIndex={-1}>No list yet</h1>
          <p>
            {visit.sent[releasePath(offer.name)] === undefined
              ? "Your list is made from the answer to your disguised stars."
              : "The page was loaded anew and keeps no list. Send the same bytes again to get it."}{" "}
            <a href="#send">See what would leave</a>
          </p>
        </section>
      ) : (
        <section aria-labelledby="list">
          <div class="lead">
            <h1 id="list" tabIndex={-1}>
              For you
            </h1>
            <p>
              The service scored every film from your disguised stars. Your device added your part,
              sorted them, and tells nobody what came out.
            </p>
          </div>
          <ol class="list">
            {best(predictions, visit).map(([item, stars]) => (
              <li key={String(item)}>
                <Poster id={String(item)} />
                <div>
                  <h2>{offer.titles(item)}</h2>
                  <p>
                    <StarsShown value={stars} most={starsOnScale(offer.disclosure).at(-1) as number} />
                    <span class="about">about {stars.toFixed(1)}</span>
                  </p>
                </div>
              </li>
            ))}
          </ol>
          <GuaranteeOf thing={`disclosures/${offer.name}`} />
        </section>
      )}
      {offers.questions.filter(({ clustered }) => clustered).map((question) => (
        <Groups key={question.name} visit={visit} question={question} />
      ))}
      <Yours visit={visit} />
    </>
  );
}

/** The films she has not rated, the best first; in the catalogue's order where they are equal. */
function best(predictions: ReadonlyMap<ItemId, number>, { stars }: Visit): [ItemId, number][] {
  return [...predictions]
    .filter(([item]) => !stars.has(item))
    .sort(([, one], [, other]) => other - one)
    .slice(0, LENGTH);
}

/** A list by groups of films, where a campaign has made them. */
function Groups({ visit, question }: { visit: Visit; question: Question }) {
  const { name, campaign, catalogue, titles } = question;
  const draft = useDraft(async () => {
    const bytes = await askOctets(`/api/campaigns/${name}/clusters`);
    const likedFrom = campaign.likedFrom / 1000;
    return recommend(Clusters.decode(bytes), catalogue, visit.stars, { likedFrom, n: LENGTH });
  }, [question, visit.stars]);
  return (
    <section class="panel" aria-labelledby={`groups-${name}`}>
      <h2 id={`groups-${name}`}>By groups of films</h2>
      <p>
        The groups were made of everybody's answers by coin toss. Your device fetched all of them and
        chose by itself.
      </p>
      <Drafted draft={draft}>
        {(found) => (
          <ol class="short">
            {found.map((item) => (
              <li key={String(item)}>{titles(item)}</li>
            ))}
          </ol>
        )}
      </Drafted>
    </section>
  );
}
