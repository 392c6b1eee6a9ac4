/** Step 3: exactly what would leave, before it does. */

import { Drafted, useDraft, type Draft } from "../parts/draft";
import { GuaranteeOf } from "../parts/guarantee";
import { Lock } from "../parts/lock";
import type { Visitor } from "../service/person";
import { hiddenBy } from "./hide";
import { LetterShown } from "./letter";
import { compared, draftRelease, draftReport, type Letter, type ReleaseLetter } from "./letters";
import { FEWEST, isAnswered, type Visit } from "./visit";

export function Send({ visit, onNext }: { visit: Visit; onNext: () => void }) {
  if (visit.stars.size < FEWEST || !isAnswered(visit)) {
    const first = visit.stars.size < FEWEST;
    return (
      <section class="lead">
        <h1 tabIndex={-1}>Nothing to send yet</h1>
        <p>
          {first ? `Rate at least ${FEWEST} films first.` : "First answer what should stay yours."}{" "}
          <a href={first ? "#rate" : "#hide"}>Go there</a>
        </p>
      </section>
    );
  }
  return <Letters visit={visit} onNext={onNext} />;
}

function Letters({ visit, onNext }: { visit: Visit; onNext: () => void }) {
  const { offer, offers, stars, values, identity } = visit;
  const questions = offers.questions.filter(({ closed }) => !closed);
  const visitor = useDraft<Visitor>(visit.visitor, [identity.token]);
  const release = useDraft<ReleaseLetter>(
    () => draftRelease(offer, values, stars, identity),
    [offer, values, stars],
  );
  return (
    <section aria-labelledby="send">
      <div class="lead">
        <h1 id="send" tabIndex={-1}>
          This is all that leaves
        </h1>
        <p>
          Your device wrote {questions.length > 0 ? "these letters" : "this letter"}. A letter leaves
          when you press its button, as it stands here, byte for byte.
        </p>
      </div>
      <article class="letter" aria-labelledby="stars-letter">
        <h2 id="stars-letter">Your stars, disguised</h2>
        <Drafted draft={release}>
          {(letter) => (
            <>
              <p>
                Your taste is meant to be seen, so most stars leave as you gave them. Some films are
                held back and some stars moved by chance, so that your{" "}
                {hiddenBy(offer.disclosure)} shows less in what is left.
              </p>
              <Summary letter={letter} visit={visit} />
              <LetterShown
                letter={letter}
                visitor={visitor}
                sent={visit.sent[letter.path]}
                onSend={async () => {
                  await visit.complete(await visit.send(letter));
                  onNext();
                }}
              />
              <GuaranteeOf thing={`disclosures/${offer.name}`} />
            </>
          )}
        </Drafted>
      </article>
      {questions.map((question) => (
        <ReportLetter key={question.name} visit={visit} question={question} visitor={visitor} />
      ))}
    </section>
  );
}

function ReportLetter(given: {
  visit: Visit;
  question: Visit["offers"]["questions"][number];
  visitor: Draft<Visitor>;
}) {
  const { visit, question, visitor } = given;
  const { stars, identity } = visit;
  const draft = useDraft<Letter>(
    () => draftReport(question, stars, identity),
    [question, stars],
  );
  const id = `report-${question.name}`;
  return (
    <article class="letter" aria-labelledby={id}>
      <h2 id={id}>A few answers, by coin toss</h2>
      <p>
        The service groups films by what people like together. It asks everybody a few random
        questions; your device answers the opposite of the truth now and then, and no one can tell
        when. You get a list without this letter too.
      </p>
      <Drafted draft={draft}>
        {(letter) => (
          <>
            <LetterShown
              letter={letter}
              visitor={visitor}
              sent={visit.sent[letter.path]}
              onSend={async () => void (await visit.send(letter))}
            />
            <GuaranteeOf thing={`campaigns/${question.name}`} />
          </>
        )}
      </Drafted>
    </article>
  );
}

function Summary({ letter, visit }: { letter: ReleaseLetter; visit: Visit }) {
  const { offer, stars } = visit;
  const { home, changed } = compared(letter, offer.disclosure, stars);
  const count = letter.release.ratings.length;
  return (
    <div class="balance">
      <div>
        <h3>Leaves</h3>
        <ul>
          <li>
            {count === 1 ? "1 film" : `${count} films`},{" "}
            {changed === 0 ? "all with the stars you gave" : `${changed} with other stars than you gave`}
          </li>
          <li>which tables your device used, the same for everybody</li>
          <li>
            with the connection: a visitor's key, which the service gave for a random number, your
            internet address, the time
          </li>
        </ul>
      </div>
      <div class="home">
        <h3>
          <Lock /> Stays here
        </h3>
        <ul>
          <li>your {hiddenBy(offer.disclosure)}</li>
          <li>which stars are as you gave them, and which are not</li>
          {home.length === 0 && changed === 0 && (
            <li>that chance held back and moved nothing this time: the service cannot know</li>
          )}
          {home.length > 0 && (
            <li>
              {home.length === 1 ? "1 film" : `${home.length} films`} held back:{" "}
              {home.map(offer.titles).join(", ")}
            </li>
          )}
          <li>the secret that the disguise is drawn from, and your list</li>
        </ul>
      </div>
    </div>
  );
}
