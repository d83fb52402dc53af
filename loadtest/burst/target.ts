import { request } from 'undici';
import { CommandError } from '#cli/command-error.ts';
import { isObject, readObject } from '#demo/trainer/reading.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { LoadOptions } from './options.ts';

/** The fleet that is played at, as far as its native face is read: never for judging, only for what no trainer sees. */
export type Target = {
  readonly url: string;
  readonly key: string;
  readonly run: string;
  readonly environment: string;
};

/** What the environment has to offer. `reads`: the key may ask the native face. */
export type Met = {
  readonly tool: string;
  readonly runsCommands: boolean;
  readonly reads: boolean;
};

type Row = { readonly id: string };

/** Reading takes milliseconds; whoever is silent for so long is not there. */
const deadlineMs = 30_000;

/** Looks before any load whether somebody is there who knows the key and the environment. Throws a CommandError. */
export async function meet(target: Target, wanted: Pick<LoadOptions, 'tool' | 'arguments'>): Promise<Met> {
  const { status, body } = await ask(
    target,
    'GET',
    `/environments/${encodeURIComponent(target.environment)}/tools`,
  );
  const error = isObject(body['error']) ? body['error'] : {};
  if (status === 401 && mayOnlyPlay(error)) {
    return { tool: wanted.tool ?? 'shell', runsCommands: wanted.arguments === undefined, reads: false };
  }
  if (status !== 200) throw refused(target, status, error);
  return { ...toolOf(target, body, wanted), reads: true };
}

/** A key that is known and has other scopes: the refusal names it. */
function mayOnlyPlay({ evidence }: Record<string, unknown>): boolean {
  return isObject(evidence) && typeof evidence['key'] === 'string';
}

function refused({ url }: Target, status: number, { code, message }: Record<string, unknown>): CommandError {
  if (typeof code !== 'string') {
    const said = `${url} answered ${status} with something that is not Corral's`;
    return new CommandError(said, 'yours', 'check --url, and proxies before the gateway');
  }
  const said = `${String(message)} (${code})`;
  if (code === 'unauthorized') return new CommandError(said, 'yours', 'give a valid key with --key');
  if (code === 'unknown_environment')
    return new CommandError(said, 'yours', 'name one of the fleet’s with --environment');
  return new CommandError(said, 'the fleet', 'look at its logs and /readyz');
}

function toolOf(
  { environment }: Target,
  body: Record<string, unknown>,
  { tool: named, arguments: fixed }: Pick<LoadOptions, 'tool' | 'arguments'>,
): Omit<Met, 'reads'> {
  const functions = Array.isArray(body['functions']) ? body['functions'].filter(isObject) : [];
  const tools = functions.map((each) => each['function']).filter(isObject);
  const names = tools.map(({ name }) => String(name));
  const found = tools.find((tool) => (named === undefined ? takesCommand(tool) : tool['name'] === named));
  if (found !== undefined && (takesCommand(found) || fixed !== undefined)) {
    return { tool: String(found['name']), runsCommands: fixed === undefined };
  }
  const lacks =
    named === undefined ? 'has no tool that takes a command' : `has no tool ${named} that takes a command`;
  throw new CommandError(
    `environment ${environment} ${lacks}; it has ${names.join(', ') || 'none'}`,
    'yours',
    'name one of them with --tool and what it is called with in --arguments; then what ran cannot be checked',
  );
}

function takesCommand({ parameters }: Record<string, unknown>): boolean {
  const properties = isObject(parameters) ? parameters['properties'] : null;
  const command = isObject(properties) ? properties['command'] : null;
  return isObject(command) && command['type'] === 'string';
}

/** The sandboxes of these rows are to be ready. Throws a CommandError. */
export async function announce(target: Target, rows: readonly Row[]): Promise<void> {
  const { environment, run } = target;
  // One line for each group, as the rows of a training step are few.
  const items = [...Map.groupBy(rows, ({ id }) => id).values()].map((same) => ({
    item: same[0],
    count: same.length,
  }));
  const { status, body } = await ask(target, 'POST', '/prewarm', { environment, run, items });
  const error = isObject(body['error']) ? body['error'] : {};
  if (status !== 202) throw refused(target, status, error);
}

/** Releases what the run still holds. Whoever may not, or finds nobody, has tried: leases end by themselves. */
export async function closeRun(target: Target, clock: Clock): Promise<void> {
  const untilMs = clock.monotonicMs() + deadlineMs;
  while (clock.monotonicMs() < untilMs) {
    const answer = await ask(target, 'DELETE', `/runs/${encodeURIComponent(target.run)}`).catch(() => null);
    if (answer === null || answer.status !== 200 || answer.body['left'] === 0) return;
    await clock.sleep(1_000);
  }
}

async function ask(
  { url, key, run }: Target,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const headers = {
    authorization: `Bearer ${key}`,
    'x-corral-run': run,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const payload = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    const signal = AbortSignal.timeout(deadlineMs);
    const reply = await request(`${url}/v1${path}`, { method, headers, signal, ...payload });
    return { status: reply.statusCode, body: readObject(await reply.body.text()) ?? {} };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const next = 'check --url; if it is right, whether the gateway is up and reached from here';
    throw new CommandError(`nothing at ${url} answers: ${reason}`, 'yours', next, error);
  }
}
