import type { ComponentChildren } from 'preact';

/*
 * Drawings of a run, each with a sentence in place of it for readers who do not see it. All are SVG in a fixed box that scales.
 */

const box = { width: 360, height: 150, left: 42, right: 8, top: 8, bottom: 22 } as const;

export type Scale = {
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
  readonly band: number;
};

function scaleOf(steps: number, most: number): Scale {
  const band = (box.width - box.left - box.right) / Math.max(1, steps);
  const tall = box.height - box.top - box.bottom;
  return {
    band,
    x: (step) => box.left + band * (step + 0.5),
    y: (value) => box.top + tall * (1 - value / most),
  };
}

type StepChartProps = {
  readonly label: string;
  readonly steps: number;
  readonly most: number;
  readonly format: (value: number) => string;
  readonly chosen: number | null;
  readonly onChoose: (step: number) => void;
  readonly tip: (step: number) => string;
  readonly children: (scale: Scale) => ComponentChildren;
};

type RulesProps = Pick<StepChartProps, 'most' | 'format'> & Pick<Scale, 'y'>;

const Rules = ({ y, most, format }: RulesProps) => (
  <g>
    {[0, 0.5, 1].map((share) => (
      <g key={share}>
        <line
          class="rule"
          x1={box.left}
          x2={box.width - box.right}
          y1={y(share * most)}
          y2={y(share * most)}
        />
        <text x={box.left - 5} y={y(share * most) + 4} text-anchor="end">
          {format(share * most)}
        </text>
      </g>
    ))}
  </g>
);

/** A frame with steps below and values at its side; each step is a button. */
export function StepChart({ label, steps, most, format, chosen, onChoose, tip, children }: StepChartProps) {
  const scale = scaleOf(steps, most);
  const every = Math.ceil(steps / 12);
  return (
    <svg class="chart" viewBox={`0 0 ${box.width} ${box.height}`} role="img" aria-label={label}>
      <Rules y={scale.y} most={most} format={format} />
      {children(scale)}
      {Array.from({ length: steps }, (_, step) => (
        <g key={step} class={step === chosen ? 'step chosen' : 'step'} onClick={() => onChoose(step)}>
          <title>{tip(step)}</title>
          <rect
            x={scale.x(step) - scale.band / 2}
            y={box.top}
            width={scale.band}
            height={box.height - box.top}
          />
          {step % every === 0 && (
            <text x={scale.x(step)} y={box.height - 6} text-anchor="middle">
              {step}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

type TimeChartProps = {
  readonly label: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly most: number;
  readonly children: (scale: Scale) => ComponentChildren;
};

/** A frame with instants below. A scale's `x` takes milliseconds. */
export function TimeChart({ label, sinceMs, untilMs, most, children }: TimeChartProps) {
  const wide = box.width - box.left - box.right;
  const { y } = scaleOf(1, most);
  const x = (atMs: number) => box.left + (wide * (atMs - sinceMs)) / Math.max(1, untilMs - sinceMs);
  return (
    <svg class="chart" viewBox={`0 0 ${box.width} ${box.height}`} role="img" aria-label={label}>
      <Rules y={y} most={most} format={(value) => String(Math.round(value))} />
      {children({ x, y, band: 0 })}
      {[0, 0.5, 1].map((share) => (
        <text
          key={share}
          x={box.left + wide * share}
          y={box.height - 6}
          text-anchor={(['start', 'middle', 'end'] as const)[share * 2]}
        >
          {clockTime(sinceMs + share * (untilMs - sinceMs))}
        </text>
      ))}
    </svg>
  );
}

const clockTime = (ms: number): string => new Date(ms).toISOString().slice(11, 19);

/** A line with gaps where there is no value: no value is never a 0. */
export function Line({
  values,
  scale,
  color,
  dashed = false,
}: {
  readonly values: readonly (number | null)[];
  readonly scale: Scale;
  readonly color: string;
  readonly dashed?: boolean;
}) {
  return (
    <g>
      <path class={dashed ? 'line dashed' : 'line'} d={pathOf(values, scale)} style={{ stroke: color }} />
      {!dashed &&
        values.map((value, step) =>
          value === null ? null : (
            <circle key={step} cx={scale.x(step)} cy={scale.y(value)} r="2.5" style={{ fill: color }} />
          ),
        )}
    </g>
  );
}

export function pathOf(values: readonly (number | null)[], { x, y }: Pick<Scale, 'x' | 'y'>): string {
  return values
    .map((value, at) => {
      if (value === null) return '';
      const isFirst = at === 0 || values[at - 1] === null;
      return `${isFirst ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join('');
}

export function Bars({
  parts,
  scale,
  colors,
}: {
  /** By step, the parts of a bar from below. */
  readonly parts: readonly (readonly number[])[];
  readonly scale: Scale;
  readonly colors: readonly string[];
}) {
  return (
    <g>
      {parts.map((values, step) => {
        let below = 0;
        return values.map((value, place) => {
          const from = below;
          below += value;
          if (value === 0) return null;
          return (
            <rect
              key={`${step} ${place}`}
              x={scale.x(step) - scale.band * 0.35}
              width={scale.band * 0.7}
              y={scale.y(below)}
              height={Math.max(0.5, scale.y(from) - scale.y(below))}
              style={{ fill: colors[place] ?? 'var(--v7)' }}
            />
          );
        });
      })}
    </g>
  );
}

/** A small line next to a text that says the same. */
export function Spark({
  values,
  isBad = false,
}: {
  readonly values: readonly number[];
  readonly isBad?: boolean;
}) {
  const [width, height] = [88, 20];
  const most = Math.max(1e-9, ...values);
  const x = (at: number) => 1 + (at * (width - 2)) / Math.max(1, values.length - 1);
  const y = (value: number) => height - 2 - (value / most) * (height - 4);
  return (
    <svg width={width} height={height} aria-hidden="true">
      <path
        class="line"
        d={pathOf(values, { x, y })}
        style={{ stroke: isBad ? 'var(--bad)' : 'var(--quiet)' }}
      />
    </svg>
  );
}

const mark = { width: 4, gap: 1, most: 34 } as const;

/** A mark for each call, by its verb; a failed one is taller. One path for each color, so that a row is few elements. */
export function Strip({ letters }: { readonly letters: string }) {
  const paths = new Map<string, string>();
  for (let at = 0; at < Math.min(mark.most, letters.length); at += 1) {
    const letter = letters.charAt(at);
    const isFailed = letter < 'a';
    const place = letter.toLowerCase().charCodeAt(0) - 'a'.charCodeAt(0);
    const color = isFailed ? 'var(--bad)' : `var(--v${Math.min(7, place)})`;
    const x = at * (mark.width + mark.gap);
    const bar = isFailed
      ? `M${x} 0h${mark.width}v14h-${mark.width}z`
      : `M${x} 2h${mark.width}v10h-${mark.width}z`;
    paths.set(color, (paths.get(color) ?? '') + bar);
  }
  return (
    <svg class="strip" width={mark.most * (mark.width + mark.gap)} height="14" aria-hidden="true">
      {[...paths].map(([color, d]) => (
        <path key={color} d={d} style={{ fill: color }} />
      ))}
    </svg>
  );
}

export const Legend = ({ of }: { readonly of: readonly (readonly [name: string, color: string])[] }) => (
  <p class="legend">
    {of.map(([name, color]) => (
      <span key={name}>
        <i style={{ background: color }} /> {name}
      </span>
    ))}
  </p>
);
