/**
 * The device half of the sketches.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars, and the recommender's public campaign and clusters.
 * Releases    a few bits per campaign, each flipped with a stated chance, once.
 * Guarantee   epsilon-local differential privacy of one report for the campaign's unit, whatever the
 *             recommender asks and knows. Noise is made from a secret of 32 random bytes: that is as
 *             good as HMAC-SHA256 is hard to tell from chance.
 *
 * Mirrors src/tacit/designs/sketches/device.py: the same secret, campaign and stars give the
 * same bytes in both languages.
 */

import { compareBytes, equalBytes, toHex, firstWord, type Bytes } from "../bytes.js";
import type { ItemId } from "../items.js";
import type { Store } from "../stores.js";
import { checkSecret, hmac, importSecret, type Secret } from "../randomness.js";
import { Refusal } from "../refusal.js";
import { limitMicros, type Limits, completeLimits } from "./limits.js";
import {
  catalogueDigest,
  MICRO,
  NO_NOISE,
  RATED_REPORT_BYTES,
  Report,
  type Campaign,
  type Clusters,
} from "./messages.js";
import { itemPairs, sensedSets } from "./sensing.js";
import { formatGeneral } from "./formatting.js";

/** The epsilon that was spent, in millionths, and the bytes that were sent. */
export interface Answer {
  readonly epsilon: number;
  readonly sent: Bytes;
}

/**
 * By campaign digest in hex. It holds nothing that the recommender has not got. Keep it with the
 * secret: devices of one account that do not share it each spend the whole lifetime.
 */
export type Memory = Store<Answer>;

/** Item to stars; what is not in the catalogue stays out. */
export type History = ReadonlyMap<ItemId, number>;

/** One person's device. secret: the account's. memory: what was sent before. */
export class Device {
  private readonly limits: Limits;
  private readonly importKey: () => Promise<CryptoKey>;

  constructor(
    secret: Secret,
    private readonly memory: Memory,
    limits: Partial<Limits> = {},
  ) {
    checkSecret(secret);
    this.limits = completeLimits(limits);
    this.importKey = () => importSecret(secret);
  }

  /**
   * The answer to a campaign: what was sent before, or else drawn now and remembered.
   *
   * catalogue: item ids in the campaign's order. Throws Refused for a campaign beyond the limits. It
   * is never answered in part.
   */
  async report(campaign: Campaign, catalogue: readonly ItemId[], history: History): Promise<Report> {
    const name = toHex(await campaign.digest());
    // In turns: two campaigns at once must not both find room in the lifetime.
    return this.memory.runExclusively(async () => {
      const answers = await this.memory.read();
      const earlierAnswer = answers.get(name);
      if (earlierAnswer !== undefined) return Report.decode(earlierAnswer.sent);
      await this.checkCampaign(campaign, catalogue, [...answers.values()]);
      const noise = new Noise(await this.importKey(), campaign);
      const report = await answerCampaign(campaign, catalogue, history, noise);
      // Remembered before it is sent: a crash in between must not lead to a second draw.
      await this.memory.write(new Map([[name, { epsilon: campaign.epsilon, sent: report.encode() }]]));
      return report;
    });
  }

  private async checkCampaign(
    campaign: Campaign,
    catalogue: readonly ItemId[],
    answers: readonly Answer[],
  ): Promise<void> {
    const { epsilon } = campaign;
    const total = answers.reduce((sum, earlier) => sum + earlier.epsilon, epsilon);
    refuseIf(epsilon === NO_NOISE, "this campaign asks for answers without noise");
    refuseIf(
      !(epsilon <= limitMicros(this.limits.epsilon)),
      `this campaign asks for epsilon ${formatGeneral(epsilon / MICRO, 10)}; this device ` +
        `gives at most ${formatGeneral(this.limits.epsilon, 10)} in one campaign`,
    );
    refuseIf(
      !(total <= limitMicros(this.limits.lifetime)),
      `with this campaign, epsilon adds up to ${formatGeneral(total / MICRO, 10)}; this device gives ` +
        `${formatGeneral(this.limits.lifetime, 10)} in all`,
    );
    const isUnitAllowed = this.limits.units.includes(campaign.unit);
    refuseIf(!isUnitAllowed, `this campaign protects a ${campaign.unit} only`);
    if (campaign.namesPair) this.checkRatedPairs(answers);
    const fits =
      catalogue.length === campaign.items &&
      equalBytes(await catalogueDigest(catalogue), campaign.catalogue);
    refuseIf(!fits, "this campaign was made for another list of items");
    // Twice the same item could lie in two sets, and one rating then change two bits.
    const hasRepeatedItem = new Set(catalogue).size !== catalogue.length;
    refuseIf(hasRepeatedItem, "this campaign's list names an item twice");
  }

  private checkRatedPairs(answers: readonly Answer[]): void {
    const { ratedPairs, mostRatedPairs } = this.limits;
    refuseIf(!ratedPairs, "this campaign asks about items that its owner rated, which shows them");
    const namedPairs = answers.filter((earlier) => earlier.sent.length === RATED_REPORT_BYTES).length;
    refuseIf(
      namedPairs >= mostRatedPairs,
      `this device has named ${namedPairs} pairs of items that its owner rated; it names at ` +
        `most ${mostRatedPairs} in all`,
    );
  }
}

/** What the secret makes of one campaign. */
class Noise {
  constructor(
    private readonly key: CryptoKey,
    private readonly campaign: Campaign,
  ) {}

  /** 32 bytes that are random to anyone who does not know the secret. */
  async draw(purpose: string): Promise<Bytes> {
    return hmac(this.key, "tacit sketch\0", await this.campaign.digest(), purpose);
  }

  /**
   * The bit with chance truth / 2^53, else the other one.
   *
   * The noise depends on the true bit: where memory is lost and the bit has changed, it is drawn
   * afresh, and what went out before does not show by how much.
   */
  async releaseBit(question: number, bit: boolean): Promise<boolean> {
    const coin = firstWord(await this.draw(`coin ${question} ${Number(bit)}`)) >> 11n;
    return bit === coin < BigInt(this.campaign.truth);
  }

  /** So many of these items, chosen by the secret without looking at anything else. */
  async choose(items: ReadonlySet<number>, count: number): Promise<number[]> {
    const drawn = await Promise.all(
      [...items].map(async (item) => ({ item, place: await this.draw(`use ${item}`) })),
    );
    drawn.sort((one, other) => compareBytes(one.place, other.place));
    return drawn.slice(0, count).map(({ item }) => item);
  }
}

async function answerCampaign(
  campaign: Campaign,
  catalogue: readonly ItemId[],
  history: History,
  noise: Noise,
): Promise<Report> {
  const ticket = firstWord(await noise.draw("ticket"));
  const rated = new Set<number>();
  let liked = new Set<number>();
  catalogue.forEach((item, number) => {
    const stars = history.get(item);
    if (stars === undefined) return;
    rated.add(number);
    if (stars * 1000 >= campaign.likedFrom) liked.add(number);
  });
  let pair: [number, number] | undefined;
  let truths: boolean[];
  if (campaign.hasSensedSets) {
    const cap = campaign.likesCap;
    // At most as many as epsilon is calibrated for.
    if (cap !== undefined && liked.size > cap) liked = new Set(await noise.choose(liked, cap));
    truths = sensedSets(campaign, ticket).map((members) => members.some((item) => liked.has(item)));
  } else {
    if (campaign.namesPair) pair = await chooseRatedPair(rated, noise);
    const askedPairs = pair === undefined ? itemPairs(campaign, ticket) : [pair];
    truths = askedPairs.map((both) => {
      const areBothDisliked = both.every((item) => rated.has(item) && !liked.has(item));
      return both.every((item) => liked.has(item)) || (campaign.asksIdentical && areBothDisliked);
    });
  }
  const released = await Promise.all(truths.map((bit, question) => noise.releaseBit(question, bit)));
  const bits = released.reduce((sum, bit, question) => sum + (bit ? 2 ** question : 0), 0);
  return new Report(await campaign.id(), ticket, bits, pair);
}

/** Two rated items, chosen by the secret, without looking at the stars. */
async function chooseRatedPair(rated: ReadonlySet<number>, noise: Noise): Promise<[number, number]> {
  refuseIf(rated.size < 2, "this campaign needs an owner who rated two of its items");
  const [one, other] = (await noise.choose(rated, 2)) as [number, number];
  return [Math.min(one, other), Math.max(one, other)];
}

function refuseIf(reason: boolean, what: string): void {
  if (reason) throw new Refusal(what);
}

/**
 * The n best items the owner has not rated. Nothing is sent.
 *
 * An item's cluster counts first, by the share of its rated items that the owner liked (one like and
 * one dislike added), then its score. catalogue: in the campaign's order; RangeError for another one
 * than the clusters name.
 */
export async function recommend(
  clusters: Clusters,
  catalogue: readonly ItemId[],
  history: History,
  { likedFrom, n = 10 }: { likedFrom: number; n?: number },
): Promise<ItemId[]> {
  const fits =
    catalogue.length === clusters.labels.length &&
    equalBytes(await catalogueDigest(catalogue), clusters.catalogue);
  if (!fits) throw new RangeError("these clusters are of another list of items");
  const liked = new Float64Array(256).fill(1);
  const rated = new Float64Array(256).fill(2);
  const unseen: { number: number; share: () => number; score: number }[] = [];
  catalogue.forEach((item, number) => {
    const label = clusters.labels[number] as number;
    const stars = history.get(item);
    if (stars === undefined) {
      const share = () => (liked[label] as number) / (rated[label] as number);
      unseen.push({ number, share, score: clusters.scores[number] as number });
    } else {
      rated[label] = (rated[label] as number) + 1;
      if (stars >= likedFrom) liked[label] = (liked[label] as number) + 1;
    }
  });
  unseen.sort(
    (one, other) =>
      other.share() - one.share() || other.score - one.score || one.number - other.number,
  );
  return unseen.slice(0, n).map(({ number }) => catalogue[number] as ItemId);
}
