/** The switch that allows letters, with their cost and guarantee. While it is off, none is sent. */

import { useState } from "preact/hooks";

import { ShowPending, Trouble, type Pending } from "../parts/pending";
import { GuaranteeShown } from "../parts/guarantee";
import type { Guarantee } from "../service/cards";
import { hiddenAttributes } from "./hide";
import { formatTime } from "./letter";
import { releasePath } from "./letters";
import type { Visit } from "./visit";

/**
 * The cost and the guarantee of letters, and the switch. The switch is shown only with the guarantee,
 * unless letters were allowed before: switching them off must always be possible.
 */
export function Consent({ visit, guarantee }: { visit: Visit; guarantee: Pending<Guarantee> }) {
  const { name, words } = visit.offer;
  const isOn = visit.letters.allowedDisclosure === name;
  const [wasOnAtFirst] = useState(isOn);
  return (
    <div class="consent">
      <h3>What it costs, and what it promises</h3>
      {wasOnAtFirst && <Switch visit={visit} isOn={isOn} />}
      <ShowPending pending={guarantee}>
        {(value) => (
          <>
            <div class="guarantee">
              <GuaranteeShown guarantee={value} />
            </div>
            <ul>
              <li>AUC is how well guessing goes: 0.5 is as by chance, 1 is certainty.</li>
              <li>
                Clicks in a list, looking {words.many} up, saying how many you rated, or one that
                someone knows you had: each reveals what was held back.
              </li>
              <li>The service sees when this page is open, at the time of each letter.</li>
            </ul>
          </>
        )}
      </ShowPending>
      {!wasOnAtFirst && guarantee.value !== undefined && <Switch visit={visit} isOn={isOn} />}
    </div>
  );
}

/** The switch, with the times of the letters. */
function Switch({ visit, isOn }: { visit: Visit; isOn: boolean }) {
  const { letters } = visit;
  return (
    <>
      <p class="price">
        It costs <strong>what the letters show, for good and without a budget</strong>, and promises
        that your {hiddenAttributes(visit.offer.disclosure)} is not sent and shows less in what is.
      </p>
      <label class="switch">
        <input
          type="checkbox"
          role="switch"
          checked={isOn}
          onChange={(event) => letters.allow(event.currentTarget.checked)}
        />
        <span>Allow this page to send letters with my disguised stars</span>
      </label>
      <div role="status" class="schedule">
        <Schedule visit={visit} isOn={isOn} />
      </div>
      {letters.trouble !== undefined && <Trouble>{letters.trouble}</Trouble>}
      {letters.notice !== undefined && <Trouble>{letters.notice}</Trouble>}
    </>
  );
}

/** Sentences about the next letter, and about the last one. */
function Schedule({ visit, isOn }: { visit: Visit; isOn: boolean }) {
  const { offer, letters, sent } = visit;
  const days = Math.round(offer.disclosure.epochLength / 86_400);
  const last = sent[releasePath(offer.name)];
  return (
    <>
      <p>
        <strong>{isOn ? "On." : "Off: nothing leaves."}</strong>{" "}
        {isOn && letters.nextSending !== undefined && (
          <>
            The next letter leaves on <time>{formatTime(letters.nextSending)}</time>, or when this
            page is next open after that. Until then you can switch it off.
          </>
        )}
        {letters.isSilent &&
          "No letter leaves as things are now: this device may not decide what the first one would show."}
        {!isOn &&
          !letters.isSilent &&
          (letters.nextSending === undefined
            ? "The first letter would leave half an hour after you allow it, the second after a day."
            : `The next letter would leave on ${formatTime(letters.nextSending)}, or when you allow it after that.`)}
      </p>
      <p>
        Then one leaves every {days === 7 ? "week" : `${days} days`}, whether or not anything is
        new, at a time that nothing you rate can change. A letter holds everything that is shown.
      </p>
      <p>
        {last === undefined
          ? "No letter has left."
          : last.refused
            ? `The letter of ${formatTime(last.at)} was not taken.`
            : `The latest letter left on ${formatTime(last.at)}: ${last.bytes} bytes.`}
      </p>
    </>
  );
}
