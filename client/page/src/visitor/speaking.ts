/** Speaks when the calendar says so, while the page is open and letters are allowed; else never. */

import { useCallback, useEffect, useState } from "preact/hooks";

import { told } from "../service/asking";
import type { Offer } from "../service/offers";
import type { Identity } from "./code";
import * as kept from "./kept";
import { begin, keptList, planOf, speak, type List, type Plan } from "./release";

export interface Speaking {
  /** The disclosure that letters may be sent for; empty while none may. */
  readonly allowed: string;
  readonly allow: (on: boolean) => void;
  /** The second from which on the next letter leaves; undefined before letters were ever allowed. */
  readonly next: number | undefined;
  /** Why the letter that is due has not left. */
  readonly trouble: string | undefined;
  /** What the latest answer made, empty before the first one; undefined until that is known. */
  readonly list: List | undefined;
  /** How often something was kept: what is drawn from it is drawn again. */
  readonly turn: number;
}

export interface Speaker {
  readonly offer: Offer;
  readonly identity: Identity;
}

/** Milliseconds: how long after a try the next one may be, and the longest wait at a time. */
const AGAIN = 5 * 60_000;
const LONGEST = 60 * 60_000;

/** speaker: undefined before the visit has begun and after its end. onSent: after each try. */
export function useSpeaking(speaker: Speaker | undefined, onSent: () => void): Speaking {
  const [allowed, setAllowed] = useState(kept.keptAllowed);
  const [plan, setPlan] = useState<Plan>();
  const [notBefore, setNotBefore] = useState(0);
  const [trouble, setTrouble] = useState<string>();
  const [list, setList] = useState<List>();
  const [turn, setTurn] = useState(0);
  const { offer, identity } = speaker ?? {};

  useEffect(() => {
    if (identity !== undefined) void keptList(identity).then((found) => setList(found ?? []));
  }, [identity, turn]);
  useEffect(() => {
    const changedElsewhere = ({ key }: StorageEvent) => {
      if (key !== null && !kept.ABOUT_LETTERS.includes(key)) return;
      setAllowed(kept.keptAllowed());
      setTurn((before) => before + 1);
    };
    addEventListener("storage", changedElsewhere);
    return () => removeEventListener("storage", changedElsewhere);
  }, []);
  useEffect(() => {
    if (offer === undefined || identity === undefined) return;
    let wanted = true;
    void planOf(offer, identity).then((found) => wanted && setPlan(found));
    return () => void (wanted = false);
  }, [offer, identity, turn]);
  useEffect(() => {
    if (plan === undefined || allowed === "" || allowed !== offer?.name) return;
    let timer: ReturnType<typeof setTimeout>;
    const run = () => {
      const left = Math.max(plan.waiting ? 0 : plan.next * 1000, notBefore) - Date.now();
      if (left > 0) timer = setTimeout(run, Math.min(left, LONGEST));
      else void speakNow();
    };
    const speakNow = async () => {
      if (identity === undefined) return;
      try {
        const answered = await speak(offer, identity);
        if (answered !== undefined) setList(answered);
        setTrouble(undefined);
      } catch (error) {
        setTrouble(told(error));
      }
      onSent();
      setNotBefore(Date.now() + AGAIN);
      setTurn((before) => before + 1);
    };
    run();
    return () => clearTimeout(timer);
  }, [allowed, offer, identity, plan, notBefore]);
  const allow = useCallback(
    (on: boolean) => {
      if (offer === undefined || identity === undefined) return;
      const name = on ? offer.name : "";
      kept.keepAllowed(name);
      setAllowed(name);
      setTrouble(undefined);
      if (on) void begin(identity).then(() => setTurn((before) => before + 1));
    },
    [offer, identity],
  );
  return { allowed, allow, next: plan?.next, trouble, list, turn };
}
