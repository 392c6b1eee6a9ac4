/** Speaks when the calendar says so, while the page is open and letters are allowed; else never. */

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

export interface LetterSending {
  /** The disclosure that letters may be sent for; empty while none may. */
  readonly allowedDisclosure: string;
  readonly allow: (on: boolean) => void;
  /** The second from which on the next letter leaves; undefined before letters were ever allowed. */
  readonly nextSending: number | undefined;
  /** Why the letter that is due has not left. */
  readonly trouble: string | undefined;
  /** What the latest answer made, empty before the first one; undefined until that is known. */
  readonly list: List | undefined;
  /** How often something was stored: what is shown of it is shown anew. */
  readonly changes: number;
}

export interface Sender {
  readonly offer: Offer;
  readonly identity: Identity;
}

/** Milliseconds: how long after a try the next one may be, and the longest wait at a time. */
const RETRY_MILLISECONDS = 5 * 60_000;
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
  const [list, setList] = useState<List>();
  const [turn, setTurn] = useState(0);
  const { offer, identity } = sender ?? {};

  useEffect(() => {
    if (identity !== undefined) void readList(identity).then((found) => setList(found ?? []));
  }, [identity, turn]);
  useEffect(() => {
    const changedElsewhere = ({ key }: StorageEvent) => {
      if (key !== null && !storage.LETTER_KEYS.includes(key)) return;
      setAllowed(storage.readAllowed());
      setTurn((before) => before + 1);
    };
    addEventListener("storage", changedElsewhere);
    return () => removeEventListener("storage", changedElsewhere);
  }, []);
  useEffect(() => {
    if (offer === undefined || identity === undefined) return;
    let wanted = true;
    void planSending(offer, identity).then((found) => wanted && setPlan(found));
    return () => void (wanted = false);
  }, [offer, identity, turn]);
  useEffect(() => {
    if (plan === undefined || allowed === "" || allowed !== offer?.name) return;
    let timer: ReturnType<typeof setTimeout>;
    const run = () => {
      const left =
        Math.max(plan.isUnanswered ? 0 : plan.nextSending * 1000, notBefore) - Date.now();
      if (left > 0) timer = setTimeout(run, Math.min(left, LONGEST_TIMER));
      else void sendNow();
    };
    const sendNow = async () => {
      if (identity === undefined) return;
      try {
        const newList = await sendDueLetter(offer, identity);
        if (newList !== undefined) setList(newList);
        setTrouble(undefined);
      } catch (error) {
        setTrouble(describeError(error));
      }
      onSent();
      setNotBefore(Date.now() + RETRY_MILLISECONDS);
      setTurn((before) => before + 1);
    };
    run();
    return () => clearTimeout(timer);
  }, [allowed, offer, identity, plan, notBefore]);
  const allow = useCallback(
    (on: boolean) => {
      if (offer === undefined || identity === undefined) return;
      const name = on ? offer.name : "";
      storage.storeAllowed(name);
      setAllowed(name);
      setTrouble(undefined);
      if (on) void startAccount(identity).then(() => setTurn((before) => before + 1));
    },
    [offer, identity],
  );
  return {
    allowedDisclosure: allowed,
    allow,
    nextSending: plan?.nextSending,
    trouble,
    list,
    changes: turn,
  };
}
