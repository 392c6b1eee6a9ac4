/**
 * Where a device's draws come from: the platform's generator, or the account's secret.
 *
 * From a secret, the same stars give the same draws on every device that has it, so that losing the
 * memory does not lead to a second draw that could be averaged with the first. Each draw's word is
 *
 *   root   HMAC(secret, "tacit standard scheme" 0 {"owner":[[name,value],...],"rule":...,"scale":...})
 *   word   first 8 bytes of HMAC(root, {"draw":n,"earlier":null or [level,released,dice],"item":...})
 *
 * in canonical JSON, n counting the words of one item. `earlier` is what the memory held, so that what
 * is drawn after a change of stars has nothing to do with what was drawn before.
 */

import { utf8, word } from "../bytes.js";
import type { ItemId } from "../items.js";
import { below, hmac, keyOf, systemBelow, type Secret } from "../randomness.js";
import { content, encode } from "./canonical.js";
import { ruleToWire, scaleToWire, type Disclosure } from "./messages.js";

/** A uniform integer in [0, bound). */
export type Draw = (bound: number) => Promise<number>;

/**
 * level, released: true and released level in micro-levels (null: not drawn yet). dice: of selection
 * (empty: shown whatever). boundTo: what the draw was bound to.
 */
export interface Entry {
  readonly level: number;
  readonly released: number | null;
  readonly dice: readonly number[];
  readonly boundTo: string;
}

/** The draws for one item, given what was drawn for it before. */
export type Drawing = (item: ItemId, earlier: Entry | undefined) => Draw;

/** Anew each time: keep the memory, for a star drawn twice can be averaged. */
export function systemDrawing(): Drawing {
  return () => systemBelow;
}

/** Made of the secret and of what the draw is for, and of nothing else. */
export async function secretDrawing(
  secret: Secret,
  disclosure: Disclosure,
  values: Readonly<Record<string, string>>,
): Promise<Drawing> {
  const owner = disclosure.attributes.map(({ name }) => [name, values[name] as string]);
  const setting = content({
    owner,
    rule: ruleToWire(disclosure.rule),
    scale: scaleToWire(disclosure),
  });
  const purpose = utf8("tacit standard scheme\0");
  const root = await keyOf(await hmac(await keyOf(secret), purpose, encode(setting)));
  return (item, earlier) => {
    const before = earlier ? [earlier.level, earlier.released, earlier.dice] : null;
    let draw = 0;
    const next = async () => {
      const asked = encode(content({ draw, earlier: before, item }));
      draw += 1;
      return word(await hmac(root, asked));
    };
    return (bound) => below(next, bound);
  };
}
