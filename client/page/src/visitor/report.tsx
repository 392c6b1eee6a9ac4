/** A few answers by coin toss: a letter of fixed size that leaves by its button. */

import { useState } from "preact/hooks";

import { toHex } from "../../../src/bytes.js";
import { completeLimits } from "../../../src/sketches/limits.js";
import { MICRO } from "../../../src/sketches/messages.js";
import { sha256 } from "../../../src/randomness.js";
import { ShowPending, Trouble, usePending } from "../parts/pending";
import { GuaranteeShown } from "../parts/guarantee";
import { shareOf } from "../parts/share";
import { describeError } from "../service/requests";
import { fetchGuarantee, type Guarantee } from "../service/cards";
import type { Question } from "../service/offers";
import { Envelope, PartsShown, formatTime } from "./letter";
import { draftReport, type ReportDraft } from "./letters";
import type { Visit } from "./visit";

/** The report that would answer a campaign, with its bytes, its cost and the button that sends it. */
export function ReportLetter({ visit, question }: { visit: Visit; question: Question }) {
  const { stars, identity } = visit;
  const pending = usePending<ReportDraft>(
    () => draftReport(question, stars, identity),
    [question, stars],
  );
  const guarantee = usePending(() => fetchGuarantee(`campaigns/${question.name}`), [question.name]);
  const id = `report-${question.name}`;
  const { questions, userEpsilon } = question.campaign;
  const answers = questions === 1 ? "1 answer" : `${questions} answers`;
  const share = shareOf(userEpsilon / MICRO, completeLimits({}).lifetime);
  return (
    <article class="letter" aria-labelledby={id}>
      <h2 id={id}>A few answers, by coin toss</h2>
      <p>
        The service groups {question.words.many} by what people like together. It asks everybody a few random
        questions; your device answers the opposite of the truth now and then, and no one can tell
        when. No list needs this letter. It has the same size whatever you rated.
      </p>
      <ShowPending pending={pending}>
        {(report) => (
          <>
            <details class="whole">
              <summary>{answers} by coin toss: every byte of it, with its meaning</summary>
              <PartsShown letter={report} />
            </details>
            <Envelope letter={report} token={identity.token} />
            <ShowPending pending={guarantee}>
              {(value) => (
                <>
                  <Price share={share} guarantee={value} />
                  <Sending visit={visit} report={report} />
                  <div class="guarantee">
                    <GuaranteeShown guarantee={value} />
                  </div>
                </>
              )}
            </ShowPending>
          </>
        )}
      </ShowPending>
    </article>
  );
}

/** The cost and the guarantee, shown with the button that sends the report. */
function Price({ share, guarantee: { cards, sentence } }: { share: string; guarantee: Guarantee }) {
  return (
    <p class="price">
      It costs <strong>{share}</strong> of what you can ever spend on such questions, and promises
      this: {cards[0]?.sentence ?? sentence}
    </p>
  );
}

/** The button that sends the report, and whether it was sent before. */
function Sending({ visit, report }: { visit: Visit; report: ReportDraft }) {
  const [isSending, setIsSending] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const sent = visit.sent[report.path];
  const digest = usePending(async () => toHex(await sha256(report.body)), [report]);
  const wasSentBefore = sent !== undefined && sent.digest === digest.value;
  const send = async () => {
    setIsSending(true);
    setTrouble(undefined);
    try {
      await visit.sendReport(report);
    } catch (error) {
      setTrouble(describeError(error));
    }
    setIsSending(false);
  };
  return (
    <>
      <p class="before">
        {wasSentBefore
          ? "These are the bytes that you sent before: who reads them again learns nothing more."
          : "They leave when you press the button, and not before."}
      </p>
      <div class="bar">
        <p role="status">{sent === undefined ? "Not sent" : `Sent on ${formatTime(sent.at)}`}</p>
        <button
          type="button"
          aria-disabled={isSending} // a disabled button would lose the focus
          onClick={() => !isSending && void send()}
        >
          {isSending
            ? "Sending …"
            : `Send these ${report.body.length} bytes${wasSentBefore ? " again" : ""}`}
        </button>
      </div>
      {trouble !== undefined && <Trouble>{trouble}</Trouble>}
    </>
  );
}
