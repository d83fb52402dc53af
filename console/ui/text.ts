export const score = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : value.toFixed(2);

export const signed = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;

export const percent = (share: number): string =>
  `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

export const count = (value: number, one: string): string =>
  `${whole(value)} ${one}${value === 1 ? '' : 's'}`;

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export function span(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms < secondMs) return `${Math.round(ms)} ms`;
  if (ms < minuteMs) return `${(ms / secondMs).toFixed(ms < 10 * secondMs ? 1 : 0)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min ${Math.floor((ms % minuteMs) / secondMs)} s`;
  return `${(ms / hourMs).toFixed(1)} h`;
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const place = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  const amount = value / 1024 ** place;
  return `${amount.toFixed(place > 0 && amount < 10 ? 1 : 0)} ${units[place]}`;
}

export const instant = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** The end of a long id tells more than its beginning. */
export const shortId = (id: string): string => (id.length > 22 ? `…${id.slice(-21)}` : id);

const verbColors = 7;
export const verbColor = (place: number): string => `var(--v${Math.min(place, verbColors)})`;
