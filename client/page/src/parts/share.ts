/** Shares in words, for people who do not know the unit. */

const NAMED_SHARES: readonly (readonly [number, string])[] = [
  [1 / 4, "a quarter"],
  [1 / 3, "a third"],
  [1 / 2, "half"],
  [2 / 3, "two thirds"],
  [3 / 4, "three quarters"],
];

/** part of a whole: "a quarter", "about a third", "nothing", "all". */
export function shareOf(part: number, whole: number): string {
  const share = whole > 0 ? part / whole : 1;
  if (share <= 0) return "nothing";
  if (share >= 1) return "all";
  const [near, name] = [...NAMED_SHARES].sort(
    ([a], [b]) => Math.abs(a - share) - Math.abs(b - share),
  )[0]!;
  if (Math.abs(near - share) < 0.005) return name;
  if (Math.abs(near - share) < 0.04) return `about ${name}`;
  return share < 0.01
    ? "less than one part in a hundred"
    : `${Math.round(share * 100)} parts in a hundred`;
}
