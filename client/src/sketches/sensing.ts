/**
 * The questions of a ticket. They are public: devices and servers draw the same ones from it.
 *
 * Stream   Words of 64 bits, SplitMix64 from a key made of the campaign's seed and the ticket.
 * Sets     Places c, c + a, c + 2a, ... modulo a prime p; a set is a run of them.
 * Pairs    Two different items, all pairs equally likely.
 *
 * Mirrors src/tacit/designs/sketches/sensing.py, which says why.
 */

import { firstWord, type Bytes } from "../bytes.js";
import type { Campaign } from "./messages.js";

const WORD_MASK = (1n << 64n) - 1n;
const WORD_STEP = 0x9e3779b97f4a7c15n;

/** Mix a 64-bit word by SplitMix64's finaliser, a permutation of such words. */
export function mixWord(input: bigint): bigint {
  let mixed = ((input ^ (input >> 30n)) * 0xbf58476d1ce4e5b9n) & WORD_MASK;
  mixed = ((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn) & WORD_MASK;
  return mixed ^ (mixed >> 31n);
}

/** Yield endlessly the words of one ticket, in a campaign with this seed of 16 bytes. */
export function* wordStream(seed: Bytes, ticket: bigint): Generator<bigint, never> {
  let state = mixWord(firstWord(seed) ^ mixWord(firstWord(seed.subarray(8)) ^ ticket));
  for (;;) {
    state = (state + WORD_STEP) & WORD_MASK;
    yield mixWord(state);
  }
}

/**
 * Draw a uniform integer in [0, bound).
 *
 * Words from the largest multiple of `bound` on are skipped: they would favour small results.
 */
export function drawBelow(stream: Generator<bigint, never>, bound: number): number {
  const limit = (1n << 64n) - ((1n << 64n) % BigInt(bound));
  let drawnWord = stream.next().value;
  while (drawnWord >= limit) drawnWord = stream.next().value;
  return Number(drawnWord % BigInt(bound));
}

/** Draw the first place c in [0, p) and the step a in [1, p) of a ticket's sets. */
export function wheelStart(campaign: Campaign, ticket: bigint): [place: number, step: number] {
  const stream = wordStream(campaign.seed, ticket);
  const place = drawBelow(stream, campaign.modulus);
  return [place, 1 + drawBelow(stream, campaign.modulus - 1)];
}

/** List the item numbers of each question's set, in the order of the places. */
export function sensedSets(campaign: Campaign, ticket: bigint): number[][] {
  const [first, step] = wheelStart(campaign, ticket);
  const sets: number[][] = [];
  let place = first;
  for (let question = 0; question < campaign.questions; question++) {
    const members: number[] = [];
    for (let member = 0; member < campaign.setSize; member++) {
      if (place < campaign.items) members.push(place);
      place = (place + step) % campaign.modulus;
    }
    sets.push(members);
  }
  return sets;
}

/** List the pair of item numbers of each question, the smaller first. */
export function itemPairs(campaign: Campaign, ticket: bigint): [number, number][] {
  const stream = wordStream(campaign.seed, ticket);
  return Array.from({ length: campaign.questions }, () => {
    const first = drawBelow(stream, campaign.items);
    let second = drawBelow(stream, campaign.items - 1);
    if (second >= first) second += 1;
    return [Math.min(first, second), Math.max(first, second)];
  });
}
