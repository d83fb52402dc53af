/** `820 ms`, `4.2 s`, `3 min 20 s`; a dash for what is not known. */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Whole units, for what is watched as it grows: `0 s`, `42 s`, `3 min`, `5 h 12 min`, `3 d 4 h`. */
export function age(ms: number): string {
  const [s, min, h] = [1_000, 60_000, 3_600_000].map((unit) => Math.floor(ms / unit)) as [
    number,
    number,
    number,
  ];
  if (min === 0) return `${s} s`;
  if (min < 10) return s % 60 === 0 ? `${min} min` : `${min} min ${s % 60} s`;
  if (h === 0) return `${min} min`;
  return h < 24 ? `${h} h ${min % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

/** `512 B`, `3.4 kB`, `1.2 MB`, `1.1 GB`. */
export function bytes(count: number): string {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${(count / 1000).toFixed(1)} kB`;
  if (count < 1_000_000_000) return `${(count / 1_000_000).toFixed(1)} MB`;
  return `${(count / 1_000_000_000).toFixed(1)} GB`;
}

/** Three digits after the point; a dash for what was not scored. */
export const score = (value: number | null): string => (value === null ? '–' : value.toFixed(3));

/** `14:03:07`, in the machine's own zone. */
export const timeOfDay = (atMs: number): string => new Date(atMs).toTimeString().slice(0, 8);
