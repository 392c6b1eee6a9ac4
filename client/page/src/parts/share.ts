/** Shares of a budget in words, for people who do not know its unit. */

const NAMED_SHARES: readonly (readonly [number, string])[] = [
  [1 / 4, "a quarter"],
  [1 / 3, "a third"],
  [1 / 2, "half"],
  [2 / 3, "two thirds"],
  [3 / 4, "three quarters"],
];

/** A share that differs from a named one by less than this has its name. */
const AS_GOOD_AS_EQUAL = 0.005;
/** A share that differs from a named one by less than this is "about" that. */
const ABOUT = 0.04;

/** Write part / whole in words: "a quarter", "about a third", "nothing", "all". */
export function shareOf(part: number, whole: number): string {
  const share = whole > 0 ? part / whole : 1;
  if (share <= 0) return "nothing";
  if (share >= 1) return "all";
  const distance = (named: number) => Math.abs(named - share);
  const byDistance = [...NAMED_SHARES].sort(([left], [right]) => distance(left) - distance(right));
  const [nearest, name] = byDistance[0]!;
  if (distance(nearest) < AS_GOOD_AS_EQUAL) return name;
  if (distance(nearest) < ABOUT) return `about ${name}`;
  return share < 0.01
    ? "less than one part in a hundred"
    : `${Math.round(share * 100)} parts in a hundred`;
}
