/**
 * The state that a device starts with: a new one, one whose memory is lost or old, and what stays
 * after "forget me".
 *
 * Mirrors src/tacit/designs/standard_scheme/memory.py.
 */

import type { ItemId } from "../items.js";
import { latestEndedEpoch } from "./epochs.js";
import { DAY } from "./messages.js";
import { State } from "./state.js";

/** The time, and what the account knows, when a device starts. */
export interface Start {
  readonly now: number;
  /** The disclosure's epoch length. */
  readonly length: number;
  /** Epoch of the latest letter, as stored beside the secret; -1 where there was none. */
  readonly lastLetterEpoch: number;
}

/**
 * The state to go on with, when a device starts.
 *
 * A secret with letters and without a memory, or with an older one, may have decided anything rated.
 * One that was made elsewhere may still decide there, so that nothing is ever decided here:
 * `lastLetterEpoch` is null then.
 */
export function openState(
  state: State | undefined,
  rated: Iterable<ItemId>,
  {
    now,
    length,
    lastLetterEpoch,
  }: Omit<Start, "lastLetterEpoch"> & { readonly lastLetterEpoch: number | null },
): State {
  if (state !== undefined) {
    const isOlder =
      lastLetterEpoch !== null && lastLetterEpoch > state.lastLetterEpoch && !state.closed;
    if (isOlder) freezeUnrecorded(state, rated, { now, length, lastLetterEpoch });
    return state;
  }
  if (lastLetterEpoch === -1) return new State({ created: now });
  const lost = lostState(rated, { now, length, lastLetterEpoch: lastLetterEpoch ?? -1 });
  lost.closed = lastLetterEpoch === null;
  return lost;
}

/**
 * The state of an account whose memory is lost: what is rated by now is never decided. Nor is what is
 * rated later, where a letter was made: it may have shown an item.
 */
export function lostState(rated: Iterable<ItemId>, { now, length, lastLetterEpoch }: Start): State {
  const created = Math.max(0, now - DAY);
  const showed = lastLetterEpoch >= 0;
  const state = new State({ created, frozen: rated, lastLetterEpoch, showed });
  closeEndedEpochs(state, now, length);
  return state;
}

/**
 * The state for a new account, with a new secret, after "forget me". Every item that the old account
 * may have decided stays frozen; no star is kept.
 */
export function forgottenState(state: State, rated: Iterable<ItemId>, now: number): State {
  const { frozen, records, arrivals, log, aliases } = state;
  const mayBeDecided = [
    ...frozen,
    ...records.keys(),
    ...arrivals.keys(),
    ...state.renameItems(rated),
  ];
  return new State({ created: now, frozen: mayBeDecided, log, aliases });
}

/**
 * Take an older copy of the memory as lost for everything that it has no record of. Letters that it
 * does not know of may have shown an item.
 */
function freezeUnrecorded(
  state: State,
  rated: Iterable<ItemId>,
  { now, length, lastLetterEpoch }: Start,
): void {
  for (const item of [...state.renameItems(rated), ...state.arrivals.keys()]) {
    if (!state.records.has(item)) state.frozen.add(item);
  }
  state.arrivals.clear();
  state.letter = null;
  state.lastLetterEpoch = lastLetterEpoch;
  state.showed = true;
  closeEndedEpochs(state, now, length);
}

/** What ended before now is over: another letter of those epochs may have left. */
function closeEndedEpochs(state: State, now: number, length: number): void {
  const { created, epochLength } = state;
  const ended = latestEndedEpoch(now, { created, length: epochLength || length }) ?? -1;
  state.lastEpoch = Math.max(state.lastEpoch, state.lastLetterEpoch, ended);
}
