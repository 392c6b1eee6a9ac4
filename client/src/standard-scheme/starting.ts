/**
 * With which memory a device goes on: a new one, one that is lost or old, one of version 1, and what
 * stays after "forget me".
 *
 * Mirrors src/tacit/designs/standard_scheme/memory.py.
 */

import type { ItemId } from "../items.js";
import { latestEnded } from "./epochs.js";
import { DAY } from "./messages.js";
import { State } from "./state.js";

/** What is known of the time and of the account when a device starts. */
export interface Start {
  readonly now: number;
  /** The disclosure's epoch length. */
  readonly length: number;
  /** The latest epoch that the account spoke in, as kept beside the secret; -1 where it never did. */
  readonly spoken: number;
}

/**
 * The state to go on with, when a device starts. spoken: null where this device did not make the
 * secret. A secret that spoke and has no memory, or an older one, may have decided anything rated. One
 * that was made elsewhere may still decide there, so that nothing is ever decided here.
 */
export function opened(
  state: State | undefined,
  rated: Iterable<ItemId>,
  { now, length, spoken }: Omit<Start, "spoken"> & { readonly spoken: number | null },
): State {
  if (state !== undefined) {
    const old = spoken !== null && spoken > state.spoken && !state.closed;
    if (old) restore(state, rated, { now, length, spoken });
    return state;
  }
  if (spoken === -1) return new State({ created: now });
  const found = lost(rated, { now, length, spoken: spoken ?? -1 });
  found.closed = spoken === null;
  return found;
}

/** The state of an account whose memory is lost: what is rated by now is never decided. */
export function lost(rated: Iterable<ItemId>, { now, length, spoken }: Start): State {
  const state = new State({ created: Math.max(0, now - DAY), frozen: rated, spoken });
  close(state, now, length);
  return state;
}

/**
 * The state that goes on from a memory of version 1, which kept dice and moved chances: everything
 * that it decided is held back. (Python also takes over what the last release showed, where the
 * disclosure of that release is still known.)
 */
export function migrated(decided: Iterable<ItemId>, now: number, length: number): State {
  const state = lost([], { now, length, spoken: -1 });
  const epoch = Math.max(0, state.lastEpoch);
  for (const item of decided) {
    state.records.set(item, { level: null, digest: "", epoch, withdrawn: false });
  }
  return state;
}

/**
 * The state for a new account, with a new secret, after "forget me". Every item that the old account
 * may have decided stays frozen; no star is kept.
 */
export function forgotten(state: State, rated: Iterable<ItemId>, now: number): State {
  const { frozen, records, arrivals, log, aliases } = state;
  const decided = [...frozen, ...records.keys(), ...arrivals.keys(), ...state.named(rated)];
  return new State({ created: now, frozen: decided, log, aliases });
}

/** Take an older copy of the memory as lost for everything that it has no record of. */
function restore(state: State, rated: Iterable<ItemId>, { now, length, spoken }: Start): void {
  for (const item of [...state.named(rated), ...state.arrivals.keys()]) {
    if (!state.records.has(item)) state.frozen.add(item);
  }
  state.arrivals.clear();
  state.letter = null;
  state.spoken = spoken;
  close(state, now, length);
}

/** What ended before now is over: another letter of those epochs may have left. */
function close(state: State, now: number, length: number): void {
  const { created, epochLength } = state;
  const ended = latestEnded(now, { created, length: epochLength || length }) ?? -1;
  state.lastEpoch = Math.max(state.lastEpoch, state.spoken, ended);
}
