import { request } from 'undici';
import { isObject } from '../trainer/reading.ts';

/** What the fleet itself says of a rollout, as far as the demo asks. */
export type FleetRollout = {
  readonly rollout: string;
  readonly verdict: 'scorable' | 'discard';
  readonly code: string | null;
  readonly cause: string | null;
  readonly launchType: 'warm' | 'cold' | null;
  /** From the rollout's first call until its sandbox accepted it; null when that never happened. */
  readonly startMs: number | null;
};

/** What the fleet says of the whole run. */
export type FleetRun = {
  readonly rollouts: number;
  readonly open: number;
  readonly scored: number;
  readonly discarded: number;
  readonly codes: Readonly<Record<string, number>>;
};

/** The native face, read only. Everything rejects with an Error that names the URL when the answer is not a 200. */
export interface FleetView {
  sandboxOf(rollout: string): Promise<string | null>;
  run(): Promise<FleetRun>;
  rollouts(): Promise<readonly FleetRollout[]>;
}

type JsonObject = { readonly [key: string]: unknown };

/** Longest wait for one answer of the native face; it only reads. */
const readTimeoutMs = 30_000;

export function openFleetView(gatewayUrl: string, apiKey: string, run: string): FleetView {
  const headers = { authorization: `Bearer ${apiKey}`, 'x-corral-run': run };
  const read = (path: string) => readJson(`${gatewayUrl}/v1/${path}`, headers);
  const page = async (cursor: string | null): Promise<readonly FleetRollout[]> => {
    const query = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const body = await read(`runs/${encodeURIComponent(run)}/rollouts${query}`);
    const lines = Array.isArray(body['rollouts']) ? body['rollouts'].filter(isObject).map(rolloutOf) : [];
    return typeof body['cursor'] === 'string' ? [...lines, ...(await page(body['cursor']))] : lines;
  };
  return {
    sandboxOf: async (rollout) => {
      const { epoch } = await read(`rollouts/${encodeURIComponent(rollout)}`);
      return isObject(epoch) ? textIn(epoch, 'sandbox') : null;
    },
    run: async () => runOf(await read(`runs/${encodeURIComponent(run)}`)),
    rollouts: () => page(null),
  };
}

async function readJson(url: string, headers: Readonly<Record<string, string>>): Promise<JsonObject> {
  const reply = await request(url, { headers, signal: AbortSignal.timeout(readTimeoutMs) });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) {
    throw new Error(`GET ${url} answered ${reply.statusCode}: ${text.slice(0, 300)}`);
  }
  const body: unknown = JSON.parse(text);
  if (!isObject(body)) throw new TypeError(`GET ${url} answered no JSON object`);
  return body;
}

/** One line of `GET /v1/runs/{run}/rollouts`. */
function rolloutOf(line: JsonObject): FleetRollout {
  const verdict = isObject(line['verdict']) ? line['verdict'] : {};
  const launchType = textIn(line, 'launch_type');
  const [placed, active] = [textIn(line, 'placed_at'), textIn(line, 'active_at')];
  return {
    rollout: textIn(line, 'rollout_id') ?? '',
    verdict: verdict['kind'] === 'scorable' ? 'scorable' : 'discard',
    code: textIn(verdict, 'code'),
    cause: textIn(verdict, 'cause'),
    launchType: launchType === 'warm' || launchType === 'cold' ? launchType : null,
    startMs: placed === null || active === null ? null : Date.parse(active) - Date.parse(placed),
  };
}

function runOf(body: JsonObject): FleetRun {
  const codes = isObject(body['codes']) ? body['codes'] : {};
  return {
    rollouts: numberIn(body, 'rollouts'),
    open: numberIn(body, 'open'),
    scored: numberIn(body, 'scored'),
    discarded: numberIn(body, 'discarded'),
    codes: Object.fromEntries(Object.keys(codes).map((code) => [code, numberIn(codes, code)])),
  };
}

function textIn(object: JsonObject, key: string): string | null {
  const value = object[key];
  return typeof value === 'string' ? value : null;
}

function numberIn(object: JsonObject, key: string): number {
  const value = object[key];
  return typeof value === 'number' ? value : Number.NaN;
}
