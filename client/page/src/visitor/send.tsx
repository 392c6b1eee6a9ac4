/** Step 4: the letters that would be sent, when and at what cost, and the switch that allows them. */

import { ShowPending, Trouble, usePending, type Pending } from "../parts/pending";
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

/** The letter of disguised stars, and a report for each open campaign. */
export function Send({ visit }: { visit: Visit }) {
  const { offer, offers } = visit;
  const questions = offers.questions.filter(({ isClosed }) => !isClosed);
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

/** The letter as it would be if it were sent now. */
interface StarsDraft {
  /** Null if nothing would be sent. */
  readonly release: Release | null;
  /** The release with its explanation; undefined if nothing would be sent. */
  readonly letter: Letter | undefined;
  /** What the visitor should know: why nothing new, or not every item, would be decided. */
  readonly notice: string | undefined;
  /** Number of rated items that another memory may have decided. */
  readonly frozen: number;
}

/** The letter of disguised stars as it would be now, and the switch that allows such letters. */
function StarsLetter({ visit }: { visit: Visit }) {
  const { offer, stars, values, identity, letters } = visit;
  const guarantee = usePending(() => fetchGuarantee(`disclosures/${offer.name}`), [offer.name]);
  const draftLetter = async (): Promise<StarsDraft> => {
    const account = openAccount(identity);
    const rated = { history: stars, entered: new Map() };
    const { release, notice } = await account.draft(offer, values, rated, currentSecond());
    const frozen = [...((await account.readState())?.frozen ?? [])].filter((item) =>
      stars.has(item),
    );
    const letter = release === null ? undefined : explainLetter(offer, release, stars);
    return { release, notice, letter, frozen: frozen.length };
  };
  const pending = usePending(draftLetter, [offer, values, stars, letters.changes], true);
  return (
    <>
      <p>
        Your taste is meant to be seen, so most stars leave as you gave them. Some{" "}
        {offer.words.many} are held back for good and some stars moved by chance, so that your{" "}
        {hiddenAttributes(offer.disclosure)} shows less in what is left. Each {offer.words.one} is
        decided once, for ever.
      </p>
      {identity.adopted === "" && <Consent visit={visit} guarantee={guarantee} />}
      <ShowPending pending={pending}>
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
                  <summary>
                    {summarize(release, visit)}: every byte of it, with its meaning
                  </summary>
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

/** Write a release in numbers: "6 items, 1 star changed, 2 held back". */
function summarize(release: Release, { offer, stars }: Visit): string {
  const { heldBack, changed } = compareStars(release, offer.disclosure, stars);
  const items = countOf(release.ratings.length, offer.words);
  const changedStars =
    changed === 1 ? "1 star changed" : `${changed === 0 ? "no" : changed} stars changed`;
  return `${items}, ${changedStars}, ${heldBack.length} held back`;
}

/** What a release would show the service, and what stays on the device. */
function Summary(props: { release: Release; visit: Visit; guarantee: Pending<Guarantee> }) {
  const { release, visit } = props;
  const { offer, stars } = visit;
  const { heldBack, changed } = compareStars(release, offer.disclosure, stars);
  const count = release.ratings.length;
  return (
    <>
      <ShowPending pending={props.guarantee}>
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
            {heldBack.length > 0 && (
              <li>
                {countOf(heldBack.length, offer.words)} not in the letter:{" "}
                {heldBack.map(offer.titles).join(", ")}
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
