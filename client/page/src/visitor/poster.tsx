/** A small drawing instead of a poster, made from the item's id, so that nothing is fetched. */

/** A drawing whose colours, shape, position and size follow from the id. */
export function Poster({ id }: { id: string }) {
  const [hue, kind, place, size] = hashToNumbers(id);
  const ground = `hsl(${hue} 38% 34%)`;
  const light = `hsl(${(hue + 35 + (kind % 3) * 40) % 360} 62% 68%)`;
  const dark = `hsl(${(hue + 320) % 360} 45% 20%)`;
  const x = 12 + (place % 25);
  const r = 8 + (size % 8);
  return (
    <svg class="poster" viewBox="0 0 48 64" aria-hidden="true" focusable="false">
      <rect width="48" height="64" fill={ground} />
      {kind % 4 === 0 && <circle cx={x} cy={22} r={r} fill={light} />}
      {kind % 4 === 1 && <path d={`M${x} 8 L${x + 20} 52 H${x - 20} Z`} fill={light} />}
      {kind % 4 === 2 && <path d={`M0 ${20 + r} Q24 ${r} 48 ${20 + r} V64 H0 Z`} fill={light} />}
      {kind % 4 === 3 && <rect x={x - r} y={12} width={r * 2} height={38} fill={light} />}
      <path d={`M0 ${46 - (size % 6)} L48 ${40 + (place % 12)} V64 H0 Z`} fill={dark} />
    </svg>
  );
}

/**
 * Compute four numbers that are always the same for one id, from its FNV-1a hash: the first one from 0
 * to 359, for a hue, and the others below a thousand.
 */
function hashToNumbers(id: string): [number, number, number, number] {
  let state = 2166136261;
  for (const character of `film ${id}`) {
    state = Math.imul(state ^ character.charCodeAt(0), 16777619) >>> 0;
  }
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0;
    return (state ^ (state >>> 13)) >>> 0;
  };
  return [next() % 360, next() % 997, next() % 991, next() % 983];
}
