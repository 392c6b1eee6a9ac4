/** Step 4: what would leave, when, at what price, and the switch that allows it. */

import { ShowPending, Trouble, usePending, type Pending } from "../parts/draft";
import { Lock } from "../parts/lock";
import type { Release } from "../../../src/standard-scheme/messages.js";
import { countOf } from "../service/catalogue";
import { fetchGuarantee, type Guarantee } from "../service/cards";
import { Consent } from "./consent";
import { MeasurementText } from "./measurement";
import { hiddenAttributes } from "./hide";
import { Envelope, PartsShown } from "./letter";
import { compareStars, explainLetter, type Letter } from "./letters";
import { openAccount, currentSecond } from "./account";
import { ReportLetter } from "./report";
import { hasAllValues, type Visit } from "./visit";

export function Send({ visit }: { visit: Visit }) {
  const { offer, offers } = visit;
  const questions = offers.questions.filter(({ isClosed: closed }) => !closed);
  return (
    <section aria-labelledby="send">
      <div class="lead">
        <h1 id="send" tabIndex={-1}>
          What leaves, if you allow it
        </h1>
        <p>
          {offer.table === undefined
            ? "The service makes your list from disguised stars. "
            : "Your list needs nothing of this: it is made here. "}
          Nothing on this page leaves before you allow it.
        </p>
      </div>
      <article class="letter" aria-labelledby="stars-letter">
        <h2 id="stars-letter">Your stars, disguised</h2>
        {hasAllValues(visit) ? (
          <StarsLetter visit={visit} />
        ) : (
          <p>
            To disguise your stars, this device has to know what it hides.{" "}
            <a href="#hide">Answer what should stay yours</a>
          </p>
        )}
      </article>
      {questions.map((question) => (
        <ReportLetter key={question.name} visit={visit} question={question} />
      ))}
    </section>
  );
}

interface Drawn {
  readonly release: Release | null;
  readonly letter: Letter | undefined;
  readonly notice: string | undefined;
  /** Items that another memory may have decided. */
  readonly frozen: number;
}

function StarsLetter({ visit }: { visit: Visit }) {
  const { offer, stars, values, identity, letters: speaking } = visit;
  const guarantee = usePending(() => fetchGuarantee(`disclosures/${offer.name}`), [offer.name]);
  const draw = async (): Promise<Drawn> => {
    const account = openAccount(identity);
    const rated = { history: stars, entered: new Map() };
    const { release, notice } = await account.draft(offer, values, rated, currentSecond());
    const frozen = [...((await account.readState())?.frozen ?? [])].filter((item) =>
      stars.has(item),
    );
    const letter = release === null ? undefined : explainLetter(offer, release, stars);
    return { release, notice, letter, frozen: frozen.length };
  };
  const draft = usePending(draw, [offer, values, stars, speaking.changes], true);
  return (
    <>
      <p>
        Your taste is meant to be seen, so most stars leave as you gave them. Some{" "}
        {offer.words.many} are held back for good and some stars moved by chance, so that your{" "}
        {hiddenAttributes(offer.disclosure)} shows less in what is left. Each {offer.words.one} is
        decided once, for ever.
      </p>
      {identity.adopted === "" && <Consent visit={visit} guarantee={guarantee} />}
      <ShowPending draft={draft}>
        {({ release, letter, notice, frozen }) => (
          <>
            {frozen > 0 && release !== null && (
              <p class="stays">
                The memory of an earlier visitor is not here, so{" "}
                {countOf(frozen, offer.words)} {frozen === 1 ? "is" : "are"} frozen: no letter from
                here holds what may have been decided before. What you rate from now on is decided.
              </p>
            )}
            {notice !== undefined && <Trouble>{notice}</Trouble>}
            {release !== null && letter !== undefined && (
              <>
                <h3>The letter as it would be now</h3>
                <Summary release={release} visit={visit} guarantee={guarantee} />
                <details class="whole">
                  <summary>{counted(release, visit)}: every byte of it, with its meaning</summary>
                  <PartsShown letter={letter} />
                </details>
                <Envelope letter={letter} token={identity.token} />
              </>
            )}
          </>
        )}
      </ShowPending>
    </>
  );
}

/** "6 items, 1 star changed, 2 held back". */
function counted(release: Release, { offer, stars }: Visit): string {
  const { home, changed } = compareStars(release, offer.disclosure, stars);
  const moved =
    changed === 1 ? "1 star changed" : `${changed === 0 ? "no" : changed} stars changed`;
  return `${countOf(release.ratings.length, offer.words)}, ${moved}, ${home.length} held back`;
}

function Summary(given: { release: Release; visit: Visit; guarantee: Pending<Guarantee> }) {
  const { release, visit } = given;
  const { offer, stars } = visit;
  const { home, changed } = compareStars(release, offer.disclosure, stars);
  const count = release.ratings.length;
  return (
    <>
      <ShowPending draft={given.guarantee}>
        {({ cards }) => (
          <MeasurementText card={cards[0]} hidden={hiddenAttributes(offer.disclosure)} />
        )}
      </ShowPending>
      <div class="balance">
        <div>
          <h3>Leaves</h3>
          <ul>
            <li>
              {countOf(count, offer.words)}
              {count > 0 &&
                (changed === 0
                  ? ", all with the stars you gave"
                  : `, ${changed} with other stars than you gave`)}
            </li>
            <li>which tables your device used, and which letter of the calendar this is</li>
            <li>
              with the connection: a visitor's key, which the service gives for a random number,
              your internet address, the time
            </li>
          </ul>
        </div>
        <div class="home">
          <h3>
            <Lock /> Stays here
          </h3>
          <ul>
            <li>your {hiddenAttributes(offer.disclosure)}</li>
            <li>which stars are as you gave them, and which are not</li>
            {home.length > 0 && (
              <li>
                {countOf(home.length, offer.words)} not in the letter:{" "}
                {home.map(offer.titles).join(", ")}
              </li>
            )}
            <li>
              how many {offer.words.many} you rated, the secret that chance is drawn from, and your
              list
            </li>
          </ul>
        </div>
      </div>
    </>
  );
}
