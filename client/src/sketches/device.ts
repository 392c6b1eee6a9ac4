/**
 * The device half of the sketches.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars, and the recommender's public campaign and clusters.
 * Releases    a few bits per campaign, each flipped with a stated chance, once.
 * Guarantee   epsilon-local differential privacy of one report for the campaign's unit, whatever the
 *             recommender asks and knows. Noise is derived from a secret of 32 random bytes, under the
 *             assumption that HMAC-SHA256 cannot be distinguished from chance.
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

/** An answer that was sent. */
export interface Answer {
  /** The epsilon that it cost for everything the owner rated (`userEpsilon`), in millionths. */
  readonly epsilon: number;
  /** The bytes of the report. */
  readonly sent: Bytes;
}

/**
 * Answers by the digest of their campaign, in hex. The recommender knows all of them already. They
 * have to be stored with the secret: devices of one account that do not share them each spend the
 * whole lifetime limit.
 */
export type Memory = Store<Answer>;

/** Stars by item; items that are not in the catalogue are ignored. */
export type History = ReadonlyMap<ItemId, number>;

/** One person's device. secret: the account's. memory: the answers that were sent before. */
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
   * Return the report that answers a campaign: the one that was sent before, or a new one, which is
   * stored first. Throws Refusal for a campaign beyond the limits, which is never answered in part.
   *
   * @param catalogue item ids in the campaign's order.
   * @param history the owner's true stars.
   * @param now Unix seconds; by default those of this device's clock.
   */
  async report(
    campaign: Campaign,
    catalogue: readonly ItemId[],
    history: History,
    now: number = Date.now() / 1000,
  ): Promise<Report> {
    const name = toHex(await campaign.digest());
    // One at a time: two campaigns must not both be checked against the same remaining lifetime.
    return this.memory.runExclusively(async () => {
      const answers = await this.memory.read();
      const earlierAnswer = answers.get(name);
      if (earlierAnswer !== undefined) return Report.decode(earlierAnswer.sent);
      await this.checkCampaign(campaign, catalogue, [...answers.values()], now);
      const noise = new Noise(await this.importKey(), campaign);
      const report = await answerCampaign(campaign, catalogue, history, noise);
      // Stored before it is sent, so that a crash in between does not lead to a second draw.
      await this.memory.write(new Map([[name, { epsilon: campaign.userEpsilon, sent: report.encode() }]]));
      return report;
    });
  }

  /** Throw a Refusal for a campaign beyond the limits, one that is over, or another catalogue. */
  private async checkCampaign(
    campaign: Campaign,
    catalogue: readonly ItemId[],
    answers: readonly Answer[],
    now: number,
  ): Promise<void> {
    refuseIf(campaign.epsilon === NO_NOISE, "this campaign asks for answers without noise");
    const isUnitAllowed = this.limits.units.includes(campaign.unit);
    refuseIf(!isUnitAllowed, `this campaign protects a ${campaign.unit} only`);
    this.checkEpsilon(campaign, answers);
    // The recommender counts no late report, so the epsilon would be spent for nothing.
    refuseIf(now > campaign.closes, "this campaign is over, by this device's clock");
    if (campaign.namesPair) this.checkRatedPairs(answers);
    const fits =
      catalogue.length === campaign.items &&
      equalBytes(await catalogueDigest(catalogue), campaign.catalogue);
    refuseIf(!fits, "this campaign was made for another list of items");
    // An item that is named twice could be in two sets, so that one rating would change two bits.
    const hasRepeatedItem = new Set(catalogue).size !== catalogue.length;
    refuseIf(hasRepeatedItem, "this campaign's list names an item twice");
  }

  /** Throw a Refusal if a campaign's report would exceed one of the limits in nats. */
  private checkEpsilon(campaign: Campaign, answers: readonly Answer[]): void {
    const cost = campaign.userEpsilon;
    const total = answers.reduce((sum, earlier) => sum + earlier.epsilon, cost);
    const unit = cost > campaign.epsilon ? " for everything its owner rated" : "";
    refuseIf(
      !(cost <= limitMicros(this.limits.epsilon)),
      `this campaign asks for epsilon ${formatGeneral(cost / MICRO, 10)}${unit}; this device gives ` +
        `at most ${formatGeneral(this.limits.epsilon, 10)} in one campaign`,
    );
    refuseIf(
      !(total <= limitMicros(this.limits.lifetime)),
      `with this campaign, epsilon${unit} adds up to ${formatGeneral(total / MICRO, 10)}; this device ` +
        `gives ${formatGeneral(this.limits.lifetime, 10)} in all`,
    );
  }

  /** Throw a Refusal if no further pair of rated items may be named. */
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

/** Random bits for one campaign, derived from the secret. */
class Noise {
  constructor(
    private readonly key: CryptoKey,
    private readonly campaign: Campaign,
  ) {}

  /** Draw 32 bytes for a purpose; they are random to anyone who does not know the secret. */
  async draw(purpose: string): Promise<Bytes> {
    return hmac(this.key, "tacit sketch\0", await this.campaign.digest(), purpose);
  }

  /**
   * Release a bit: the true one with chance truth / 2^53, otherwise the opposite.
   *
   * The draw depends on the true bit. If the memory was lost and the bit has changed since, there is a
   * new draw, so that two reports do not reveal the change.
   */
  async releaseBit(question: number, bit: boolean): Promise<boolean> {
    const coin = firstWord(await this.draw(`coin ${question} ${Number(bit)}`)) >> 11n;
    return bit === coin < BigInt(this.campaign.truth);
  }

  /** Choose `count` of these items by the secret alone, those with the smallest draws; all if fewer. */
  async choose(items: ReadonlySet<number>, count: number): Promise<number[]> {
    const drawn = await Promise.all(
      [...items].map(async (item) => ({ item, bytes: await this.draw(`use ${item}`) })),
    );
    drawn.sort((left, right) => compareBytes(left.bytes, right.bytes));
    return drawn.slice(0, count).map(({ item }) => item);
  }
}

/**
 * Compute the true answers to a campaign's questions, and release them with noise.
 *
 * A set is answered by whether it has a liked item. A pair is answered by whether both items are
 * liked or, if the campaign asks so, both are rated and not liked.
 */
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
    const cap = campaign.likesCap; // the number of likes for which epsilon is calibrated
    if (cap !== undefined && liked.size > cap) liked = new Set(await noise.choose(liked, cap));
    truths = sensedSets(campaign, ticket).map((members) => members.some((item) => liked.has(item)));
  } else {
    if (campaign.namesPair) pair = await chooseRatedPair(rated, noise);
    const askedPairs = pair === undefined ? itemPairs(campaign, ticket) : [pair];
    truths = askedPairs.map((askedPair) => {
      const areBothLiked = askedPair.every((item) => liked.has(item));
      const areBothDisliked = askedPair.every((item) => rated.has(item) && !liked.has(item));
      return areBothLiked || (campaign.asksIdentical && areBothDisliked);
    });
  }
  const released = await Promise.all(truths.map((bit, question) => noise.releaseBit(question, bit)));
  const bits = released.reduce((sum, bit, question) => sum + (bit ? 2 ** question : 0), 0);
  return new Report(await campaign.id(), ticket, bits, pair);
}

/** Choose two rated items by the secret, whatever their stars; the smaller number first. */
async function chooseRatedPair(rated: ReadonlySet<number>, noise: Noise): Promise<[number, number]> {
  refuseIf(rated.size < 2, "this campaign needs an owner who rated two of its items");
  const [first, second] = (await noise.choose(rated, 2)) as [number, number];
  return [Math.min(first, second), Math.max(first, second)];
}

/** Throw a Refusal with this sentence if the condition holds. */
function refuseIf(condition: boolean, sentence: string): void {
  if (condition) throw new Refusal(sentence);
}

/**
 * List the n best items that the owner has not rated. Nothing is sent.
 *
 * Items are ordered by the owner's share of likes in their cluster, (liked + 1) / (rated + 2), then by
 * their score. RangeError for another catalogue than that of the clusters.
 *
 * @param catalogue item ids in the campaign's order.
 * @param likedFrom the lowest number of stars that is a like.
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
  // Counts by label, which is a byte. Each cluster begins with one like and one dislike.
  const liked = new Float64Array(256).fill(1);
  const rated = new Float64Array(256).fill(2);
  const unrated: number[] = [];
  catalogue.forEach((item, number) => {
    const label = clusters.labels[number] as number;
    const stars = history.get(item);
    if (stars === undefined) {
      unrated.push(number);
      return;
    }
    rated[label] = (rated[label] as number) + 1;
    if (stars >= likedFrom) liked[label] = (liked[label] as number) + 1;
  });
  const likedShare = (number: number): number => {
    const label = clusters.labels[number] as number;
    return (liked[label] as number) / (rated[label] as number);
  };
  const score = (number: number): number => clusters.scores[number] as number;
  unrated.sort(
    (left, right) =>
      likedShare(right) - likedShare(left) || score(right) - score(left) || left - right,
  );
  return unrated.slice(0, n).map((number) => catalogue[number] as ItemId);
}
