/** Disclosures and accounts for tests of the standard scheme. */

import { newSecret, TemporaryStore, standardScheme, type Bytes } from "../src/index.js";
import type { ItemId } from "../src/items.js";

const { Account, LARGEST_CHANCE, Disclosure, State, WEEK } = standardScheme;

export type Device = standardScheme.Device;
export const SECRET = Uint8Array.from({ length: 32 }, (_, number) => number);
export const FEMALE = { gender: "F" };
/** A Wednesday, 10:00 UTC. */
export const BEGIN = 1_767_780_000;

interface Wanted {
  readonly items?: readonly ItemId[];
  /** Of each item the chance under the first value; the other one has the LARGEST_CHANCE. */
  readonly chance?: (number: number) => number;
  readonly offset?: (number: number) => number;
  readonly aliases?: readonly standardScheme.Alias[];
  readonly rule?: Partial<standardScheme.Rule>;
  readonly epochLength?: number;
  readonly values?: readonly [string, string];
}

/** Whole stars from 1 to 5, one attribute of two values. */
export function disclosureOf(wanted: Wanted = {}): standardScheme.Disclosure {
  const items = wanted.items ?? Array.from({ length: 60 }, (_, number) => number);
  const { chance = () => 500_000, offset = () => 250_000 } = wanted;
  const each = (make: (number: number) => number) => items.map((_, number) => make(number));
  return new Disclosure({
    rule: { transform: "scheme", selection: true, rounding: true, mix: 1_000_000, ...wanted.rule },
    minimum: 1,
    step: 1,
    levels: 5,
    items,
    epochLength: wanted.epochLength ?? WEEK,
    aliases: wanted.aliases ?? [],
    itemMeans: [],
    attributes: [
      {
        name: "gender",
        values: wanted.values ?? ["F", "M"],
        offsets: [each(offset), each((number) => -offset(number))],
        keep: [each(chance), each((number) => (chance(number) === 0 ? 0 : LARGEST_CHANCE))],
        means: [],
        coupling: [],
      },
    ],
  });
}

/** An account with its letters through the years; all stars count as entered when first seen. */
export class Person {
  readonly store: TemporaryStore<Bytes>;
  account: standardScheme.Account;
  readonly log: [number, string][] = [];
  notice: string | undefined;

  constructor(
    private readonly values: standardScheme.Values = FEMALE,
    readonly secret: Bytes = newSecret(),
    store: TemporaryStore<Bytes> = new TemporaryStore<Bytes>(),
  ) {
    this.store = store;
    this.account = new Account(store, secret);
  }

  async begin(): Promise<this> {
    await this.account.start(new State({ created: BEGIN }));
    return this;
  }

  /** Start the device anew with this memory. */
  async restart(state: standardScheme.State): Promise<void> {
    this.account = new Account(new TemporaryStore<Bytes>(), this.secret);
    await this.account.start(state);
  }

  /** What leaves at this second, if anything does; the log is the service's. */
  async speak(
    disclosure: standardScheme.Disclosure,
    history: standardScheme.History,
    now: number,
    values = this.values,
  ): Promise<standardScheme.Release | undefined> {
    await this.serve(disclosure, now);
    const rated = { history, entered: new Map([...history.keys()].map((item) => [item, BEGIN])) };
    const published = { disclosure, log: [...this.log] };
    const { letter, notice } = await this.account.makeLetter(published, values, rated, now);
    this.notice = notice;
    return letter === null ? undefined : standardScheme.Release.decode(letter);
  }

  private async serve(disclosure: standardScheme.Disclosure, now: number): Promise<void> {
    const epoch = standardScheme.calendarEpoch(now, disclosure.epochLength);
    if (this.log.at(-1)?.[0] !== epoch) this.log.push([epoch, await disclosure.digest()]);
  }
}
