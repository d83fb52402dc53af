/** Patterns of amounts with a unit, for the schemas; and their values. Text that a schema let through always parses. */
export const durationPattern = String.raw`^\d+(?:\.\d+)?(?:ms|s|m|h)$`;
export const cpuPattern = String.raw`^(?:\d+m|\d+(?:\.\d+)?)$`;
export const bytesPattern = String.raw`^\d+(?:\.\d+)?(?:Ki|Mi|Gi|Ti|k|M|G|T)?$`;

const milliseconds: Units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const milliCpus: Units = { m: 1, '': 1000 };
const bytes: Units = {
  '': 1,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

type Units = Readonly<Record<string, number>>;

/** "90s", "1.5m", "2h" in milliseconds. Throws a RangeError on anything else. */
export const parseDurationMs = (text: string): number => parse(text, milliseconds);

/** "100m", "1", 0.5 (cores) in thousandths of a core. */
export const parseCpuMilli = (amount: string | number): number => parse(String(amount), milliCpus);

/** "512Mi", "1G", 1024 in bytes. */
export const parseBytes = (amount: string | number): number => parse(String(amount), bytes);

function parse(text: string, units: Units): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = units[unit];
  if (amount === undefined || factor === undefined) throw new RangeError(`no amount: ${text}`);
  return Math.round(Number(amount) * factor);
}
