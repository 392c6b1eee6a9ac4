/** Sends letters when they are due, while the page is open and letters are allowed. */

import { useCallback, useEffect, useState } from "preact/hooks";

import { describeError } from "../service/requests";
import type { Offer } from "../service/offers";
import type { Identity } from "./code";
import * as storage from "./storage";
import {
  startAccount,
  readList,
  planSending,
  sendDueLetter,
  type List,
  type SendingPlan,
} from "./account";

/** The state of the sending of letters, and the switch that allows it. */
export interface LetterSending {
  /** Name of the disclosure for which letters may be sent; empty while none may. */
  readonly allowedDisclosure: string;
  /** Allow letters for the current disclosure, or stop them. */
  readonly allow: (isOn: boolean) => void;
  /** The second from which on the next letter leaves; undefined if none was ever allowed, or none leaves. */
  readonly nextSending: number | undefined;
  /** Whether letters were allowed, and none leaves as things are now. */
  readonly isSilent: boolean;
  /** What the visitor should know of the last try; undefined if there is nothing to say. */
  readonly notice: string | undefined;
  /** Why a letter that is due was not sent; undefined if there was no error. */
  readonly trouble: string | undefined;
  /** The list of the latest answer, empty before the first one; undefined until it has been read. */
  readonly list: List | undefined;
  /** Number of changes of the stored data, on which components that show such data depend. */
  readonly changes: number;
}

/** The disclosure that letters are about, and the visitor who sends them. */
export interface Sender {
  readonly offer: Offer;
  readonly identity: Identity;
  /** The visitor's values of the attributes that the disclosure hides. */
  readonly values: storage.Values;
}

/** Shortest time between two attempts, in milliseconds. */
const RETRY_MILLISECONDS = 5 * 60_000;
/** Longest timer, in milliseconds; when it ends, the remaining time is computed again. */
const LONGEST_TIMER = 60 * 60_000;

/**
 * Send letters when they are due, while the page is open.
 *
 * @param sender undefined before the visit has started and after its end.
 * @param onSent called after each attempt.
 */
export function useLetterSending(sender: Sender | undefined, onSent: () => void): LetterSending {
  const [allowed, setAllowed] = useState(storage.readAllowed);
  const [plan, setPlan] = useState<SendingPlan>();
  const [notBefore, setNotBefore] = useState(0);
  const [trouble, setTrouble] = useState<string>();
  const [notice, setNotice] = useState<string>();
  const [list, setList] = useState<List>();
  const [changes, setChanges] = useState(0);
  const { offer, identity, values } = sender ?? {};

  useEffect(() => {
    if (identity !== undefined) void readList(identity).then((stored) => setList(stored ?? []));
  }, [identity, changes]);
  useEffect(() => {
    const readFromOtherTab = ({ key }: StorageEvent) => {
      if (key !== null && !storage.LETTER_KEYS.includes(key)) return;
      setAllowed(storage.readAllowed());
      setChanges((count) => count + 1);
    };
    addEventListener("storage", readFromOtherTab);
    return () => removeEventListener("storage", readFromOtherTab);
  }, []);
  useEffect(() => {
    if (offer === undefined || identity === undefined || values === undefined) return;
    let isCurrent = true; // false once a dependency has changed: a late plan is then ignored
    void planSending(offer, identity, values).then((newPlan) => isCurrent && setPlan(newPlan));
    return () => void (isCurrent = false);
  }, [offer, identity, values, changes]);
  useEffect(() => {
    if (plan === undefined || allowed === "" || allowed !== offer?.name) return;
    let timer: ReturnType<typeof setTimeout>;
    const waitOrSend = () => {
      const dueAt = plan.isUnanswered ? 0 : plan.nextSending * 1000;
      const milliseconds = Math.max(dueAt, notBefore) - Date.now();
      if (milliseconds > 0) timer = setTimeout(waitOrSend, Math.min(milliseconds, LONGEST_TIMER));
      else void sendNow();
    };
    const sendNow = async () => {
      if (identity === undefined) return;
      try {
        const result = await sendDueLetter(offer, identity);
        if (result.list !== undefined) setList(result.list);
        setNotice(result.notice);
        setTrouble(undefined);
      } catch (error) {
        setTrouble(describeError(error));
      }
      onSent();
      setNotBefore(Date.now() + RETRY_MILLISECONDS);
      setChanges((count) => count + 1);
    };
    waitOrSend();
    return () => clearTimeout(timer);
  }, [allowed, offer, identity, plan, notBefore]);
  const allow = useCallback(
    (isOn: boolean) => {
      if (offer === undefined || identity === undefined) return;
      const name = isOn ? offer.name : "";
      storage.storeAllowed(name);
      setAllowed(name);
      setTrouble(undefined);
      setNotice(undefined);
      if (isOn) void startAccount(identity).then(() => setChanges((count) => count + 1));
    },
    [offer, identity],
  );
  return {
    allowedDisclosure: allowed,
    allow,
    nextSending: plan?.willLeave ? plan.nextSending : undefined,
    isSilent: plan !== undefined && !plan.willLeave,
    notice,
    trouble,
    list,
    changes,
  };
}
