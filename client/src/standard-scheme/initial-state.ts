/**
 * The state that a device starts with: a new one, one for a lost or an old memory, or the one that
 * stays after "forget me".
 *
 * Mirrors src/tacit/designs/standard_scheme/memory.py.
 */

import type { ItemId } from "../items.js";
import { latestEndedEpoch } from "./epochs.js";
import { DAY } from "./messages.js";
import { State } from "./state.js";

/** The time, and what the account knows, when a device starts. */
export interface Start {
  /** The present second. */
  readonly now: number;
  /** The disclosure's epoch length. */
  readonly length: number;
  /** Epoch of the latest letter, as stored beside the secret; -1 if there was none. */
  readonly lastLetterEpoch: number;
}

/**
 * Choose the state to go on with, when a device starts.
 *
 * If letters were sent with this secret, but the memory is lost or older than them, any rated item may
 * have been decided, so no rated item is decided again. If the secret was made on another device,
 * `lastLetterEpoch` is null: that device may go on deciding, so nothing is ever decided here.
 *
 * @param state the stored state; undefined if there is none.
 * @param rated items that are rated by now.
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
 * Make the state of an account whose memory is lost: no item that is rated by now is ever decided.
 * If a letter was made, which may have shown an item, items that are rated later are not decided either.
 */
export function lostState(rated: Iterable<ItemId>, { now, length, lastLetterEpoch }: Start): State {
  const created = Math.max(0, now - DAY);
  const showed = lastLetterEpoch >= 0;
  const state = new State({ created, frozen: rated, lastLetterEpoch, showed });
  closeEndedEpochs(state, now, length);
  return state;
}

/**
 * Make the state of a new account, with a new secret, after "forget me". Every item that the old
 * account may have decided stays frozen; no star is kept. The list of values is kept: under another
 * one, the new account decides nothing. A caller that does not store this state keeps no such list.
 */
export function forgottenState(state: State, rated: Iterable<ItemId>, now: number): State {
  const { frozen, records, arrivals, log, aliases, values } = state;
  const mayBeDecided = [
    ...frozen,
    ...records.keys(),
    ...arrivals.keys(),
    ...state.renameItems(rated),
  ];
  return new State({ created: now, frozen: mayBeDecided, log, aliases, values });
}

/**
 * Freeze every item that an older copy of the memory has no record of, as if the memory were lost.
 * Letters that were sent after it was copied may have shown an item. What the owner deleted since is
 * not known, so nothing else is decided either (`State.mayDecide`).
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

/** Make no further letter for the epochs that have ended by now: one of each may have left already. */
function closeEndedEpochs(state: State, now: number, length: number): void {
  const { created, epochLength } = state;
  const ended = latestEndedEpoch(now, { created, length: epochLength || length }) ?? -1;
  state.lastEpoch = Math.max(state.lastEpoch, state.lastLetterEpoch, ended);
}
