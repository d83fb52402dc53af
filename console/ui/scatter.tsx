import { useEffect, useRef, useState } from 'preact/hooks';

export type Dot = {
  readonly x: number;
  /** Null: it stands below the axis, and is never a 0. */
  readonly y: number | null;
  readonly isChosen: boolean;
};

const width = 560;
const height = 260;
const edge = { left: 40, right: 12, top: 10, bottom: 42 };
/** The line below the axis, for dots without a value. */
const belowPx = 20;
const jitterPx = 7;

/** A dot each, on one canvas: ten thousand elements would be slow. `label` says in words what it shows. */
export function Scatter({
  dots,
  most,
  label,
}: {
  readonly dots: readonly Dot[];
  readonly most: { readonly x: number; readonly y: number };
  readonly label: string;
}) {
  const ref = useRef<HTMLCanvasElement>(null);
  const scheme = useScheme();
  useEffect(() => {
    const context = ref.current?.getContext('2d');
    if (ref.current !== null && context) draw(context, getComputedStyle(ref.current), dots, most);
  }, [dots, most.x, most.y, scheme]);
  return (
    <canvas ref={ref} class="scatter" width={2 * width} height={2 * height} role="img" aria-label={label} />
  );
}

/** A canvas does not follow colors by itself. */
function useScheme(): boolean {
  const query = matchMedia('(prefers-color-scheme: dark)');
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const onChange = (): void => setDark(query.matches);
    query.addEventListener('change', onChange);
    return () => query.removeEventListener('change', onChange);
  }, []);
  return isDark;
}

function draw(
  context: CanvasRenderingContext2D,
  style: CSSStyleDeclaration,
  dots: readonly Dot[],
  most: { readonly x: number; readonly y: number },
): void {
  const color = (name: string): string => style.getPropertyValue(name);
  const [floor, left] = [height - edge.bottom, edge.left];
  context.setTransform(2, 0, 0, 2, 0, 0);
  context.clearRect(0, 0, width, height);
  context.fillStyle = color('--quiet');
  context.font = '11px sans-serif';
  context.textAlign = 'right';
  for (const share of [0, 0.5, 1]) {
    const y = floor - share * (floor - edge.top);
    context.fillText((share * most.y).toFixed(2), left - 8, y + 4);
    context.fillRect(left, y, width - left - edge.right, 0.3);
  }
  for (const share of [0, 0.5, 1])
    context.fillText(
      String(Math.round(share * most.x)),
      left + share * (width - left - edge.right),
      height - 4,
    );
  for (const isChosen of [false, true])
    for (const [at, dot] of dots.entries()) {
      if (dot.isChosen !== isChosen) continue;
      context.fillStyle = color(dot.y === null ? '--bad' : isChosen ? '--reward' : '--quiet');
      context.globalAlpha = isChosen ? 0.7 : 0.25;
      const x = left + (dot.x / most.x) * (width - left - edge.right) + jitter(at);
      const y = dot.y === null ? floor + belowPx : floor - (dot.y / most.y) * (floor - edge.top);
      context.beginPath();
      context.arc(x, y, 2.5, 0, 2 * Math.PI);
      context.fill();
    }
  context.globalAlpha = 1;
}

/** The same for the same dot, so that nothing trembles when more come. */
const jitter = (at: number): number => (((at * 7_919) % 101) / 100 - 0.5) * jitterPx;
