/** `820 ms`, `4.2 s`, `3 min 20 s`; a dash for what is not known. */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** `512 B`, `3.4 kB`, `1.2 MB`. */
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1000).toFixed(1)} kB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

/** Three digits after the point; a dash for what was not scored. */
export const score = (value: number | null): string => (value === null ? '–' : value.toFixed(3));

/** `14:03:07`, in the machine's own zone. */
export const timeOfDay = (atMs: number): string => new Date(atMs).toTimeString().slice(0, 8);
