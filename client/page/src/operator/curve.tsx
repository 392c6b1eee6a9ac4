/** Accuracy over epsilon: a drawing, and the same numbers as a table. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Curve, ModelCurve, Point } from "../service/operating";

const USUAL_WIDTH = 480;
const HEIGHT = 260;
const LEFT = 44;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 46;

export function CurveShown({ model, curve }: ModelCurve) {
  return (
    <figure class="curve">
      <figcaption>
        <strong>{curve.title}</strong> <span class="noun">{model}</span>
      </figcaption>
      <p class="legend">
        <span class="key private" /> {curve.y}, {curve.unit}, with its interval
        <br />
        <span class="key without" /> without privacy: {short(curve.non_private)}
      </p>
      <Drawing curve={curve} />
      <details>
        <summary>The numbers</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers: ${curve.title}`}>
          <table class="figures">
            <thead>
              <tr>
                <th scope="col" class="number">
                  Epsilon
                </th>
                <th scope="col" class="number">{`${curve.y} (${curve.unit})`}</th>
                <th scope="col" class="number">
                  Interval
                </th>
              </tr>
            </thead>
            <tbody>
              {curve.points.map((point) => (
                <tr key={point.epsilon}>
                  <td class="number">{point.epsilon}</td>
                  <td class="number">{short(point.value)}</td>
                  <td class="number">{`${short(point.low)} to ${short(point.high)}`}</td>
                </tr>
              ))}
              <tr>
                <td class="number">∞, no privacy</td>
                <td class="number">{short(curve.non_private)}</td>
                <td />
              </tr>
            </tbody>
          </table>
        </div>
        <p>Made with: {curve.made_with}</p>
      </details>
    </figure>
  );
}

/** As wide as there is room, so that its letters are as large as others. */
function Drawing({ curve }: { curve: Curve }) {
  const [width, setWidth] = useState(USUAL_WIDTH);
  const drawing = useRef<SVGSVGElement>(null);
  useLayoutEffect(() => {
    const seen = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.max(220, Math.round(entry.contentRect.width)));
    });
    seen.observe(drawing.current as SVGSVGElement);
    return () => seen.disconnect();
  }, []);
  const { points, non_private } = curve;
  const x = logarithmic(points.map(({ epsilon }) => epsilon), width);
  const y = linear(points.flatMap(({ low, high }) => [low, high]).concat(non_private));
  const band = [
    ...points.map((point) => `${x(point.epsilon)},${y.at(point.high)}`),
    ...[...points].reverse().map((point) => `${x(point.epsilon)},${y.at(point.low)}`),
  ].join(" ");
  const line = points.map((point) => `${x(point.epsilon)},${y.at(point.value)}`).join(" ");
  return (
    <svg ref={drawing} height={HEIGHT} role="img" aria-label={told(curve)}>
      {y.ticks.map((tick) => (
        <g key={tick} class="tick">
          <line x1={LEFT} x2={width - RIGHT} y1={y.at(tick)} y2={y.at(tick)} />
          <text x={LEFT - 8} y={y.at(tick) + 4} text-anchor="end">
            {short(tick)}
          </text>
        </g>
      ))}
      <polygon class="band" points={band} />
      <line class="without" x1={LEFT} x2={width - RIGHT} y1={y.at(non_private)} y2={y.at(non_private)} />
      <polyline class="line" points={line} />
      {points.map((point) => (
        <circle key={point.epsilon} class="dot" cx={x(point.epsilon)} cy={y.at(point.value)} r="3.5" />
      ))}
      {labelled(points, x).map(({ epsilon }) => (
        <text key={epsilon} class="axis" x={x(epsilon)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
          {epsilon}
        </text>
      ))}
      <text class="axis name" x={(LEFT + width - RIGHT) / 2} y={HEIGHT - 8} text-anchor="middle">
        {curve.x}
      </text>
    </svg>
  );
}

/** The drawing in a sentence. */
function told({ x, y, unit, points, non_private }: Curve): string {
  const first = points[0] as Point;
  const last = points.at(-1) as Point;
  return (
    `${y} (${unit}) over ${x}: ${short(first.value)} at ${first.epsilon}, ${short(last.value)} at ` +
    `${last.epsilon}, ${short(non_private)} without privacy. The numbers follow as a table.`
  );
}

function logarithmic(values: readonly number[], width: number): (value: number) => number {
  const [low, high] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  const room = width - LEFT - RIGHT - 24;
  return (value) =>
    Math.round((LEFT + 12 + (high > low ? (Math.log(value) - low) / (high - low) : 0.5) * room) * 10) / 10;
}

function linear(values: readonly number[]): { at: (value: number) => number; ticks: number[] } {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const step = roundStep((most - least || Math.abs(most) || 1) / 4);
  const low = Math.floor(least / step) * step;
  const high = Math.max(Math.ceil(most / step) * step, low + step);
  const room = HEIGHT - TOP - BOTTOM;
  const count = Math.round((high - low) / step);
  return {
    at: (value) => Math.round((TOP + (1 - (value - low) / (high - low)) * room) * 10) / 10,
    ticks: Array.from({ length: count + 1 }, (_, at) => low + at * step),
  };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((each) => each * power >= rough) as number) * power;
}

/** Points whose labels do not run into each other. */
function labelled(points: readonly Point[], x: (value: number) => number): Point[] {
  const chosen: Point[] = [];
  for (const point of points) {
    const before = chosen.at(-1);
    if (before === undefined || x(point.epsilon) - x(before.epsilon) > 34) chosen.push(point);
  }
  return chosen;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
