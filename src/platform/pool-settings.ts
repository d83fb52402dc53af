import { environmentName } from '../model/ids.ts';
import type { PoolOverrides } from '../model/pool-places.ts';
import type { ConfigReader } from './config.ts';

const overridesPurpose =
  'sizes by environment, such as {"shell": {"minReady": 20, "max": 200}}, whole numbers from 0';

/** `CORRAL_POOL_OVERRIDES`, JSON, for gateways and controllers alike. */
export function readPoolOverrides(read: ConfigReader): PoolOverrides {
  const text = read.optional('CORRAL_POOL_OVERRIDES') ?? '{}';
  const overrides = parseOverrides(text);
  if (overrides === null) read.mistake(`CORRAL_POOL_OVERRIDES is ${text}, not ${overridesPurpose}`);
  return overrides ?? new Map();
}

function parseOverrides(text: string): PoolOverrides | null {
  const parsed = parseJson(text);
  if (!isObject(parsed)) return null;
  const entries = Object.entries(parsed);
  if (!entries.every(([, size]) => isSize(size))) return null;
  return new Map(entries.map(([name, size]) => [environmentName(name), size as PoolSize]));
}

type PoolSize = { readonly minReady?: number; readonly max?: number };

const sizeFields = new Set(['minReady', 'max']);

function isSize(value: unknown): value is PoolSize {
  if (!isObject(value)) return false;
  return Object.entries(value).every(
    ([field, size]) => sizeFields.has(field) && Number.isInteger(size) && Number(size) >= 0,
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
