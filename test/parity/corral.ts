import { randomUUID } from 'node:crypto';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { listTar, type Outcome, withoutNames } from './outcome.ts';
import { argvOf, type Play, type Probe, type User } from './probes.ts';

/** A fleet on which probes are played. */
export type FleetUnderTest = { readonly gatewayUrl: string; readonly apiKey: string };

type Json = { readonly [name: string]: Json | string | number | boolean | null | readonly Json[] };

/** Plays it in a sandbox of its own. */
export function playInSandbox(fleet: FleetUnderTest, play: Play): Promise<readonly Outcome[]> {
  const ask = askOf(fleet);
  if (play.face === 'exec') return exec(ask, play);
  return play.face === 'tool' ? callTool(ask, play) : grade(ask, play);
}

const environmentOf = ({ environment }: Probe, user: User): string =>
  environment === 'noname' ? 'parity-noname-user' : `${environment}-${user}`;

type Ask = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly body: Json; readonly bytes: Buffer }>;

/** An answer of several lines of JSON is `{ lines }`. */
function askOf({ gatewayUrl, apiKey }: FleetUnderTest): Ask {
  const of = { authorization: `Bearer ${apiKey}`, 'x-corral-run': 'parity' };
  return async (method, path, body) => {
    const isRaw = body instanceof Uint8Array;
    const headers = { ...of, 'content-type': isRaw ? 'application/octet-stream' : 'application/json' };
    const sent = body === undefined ? {} : { body: isRaw ? new Uint8Array(body) : JSON.stringify(body) };
    const answer = await fetch(`${gatewayUrl}${path}`, { method, headers, ...sent });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const text = bytes.toString('utf8');
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Json);
    const [first = {}] = lines;
    return { status: answer.status, body: lines.length === 1 ? first : { lines }, bytes };
  };
}

/** The text at a name; empty if it is something else. */
function textIn(value: Json[string] | undefined, name: string): string {
  const text = typeof value === 'object' && value !== null && name in value ? (value as Json)[name] : '';
  return typeof text === 'string' ? text : '';
}

const failed = (status: number, body: Json): Outcome => ({
  exit: null,
  timedOut: false,
  stdout: '',
  stderr: `HTTP ${status} ${JSON.stringify(body)}`,
});

async function exec(ask: Ask, { probe, user }: Play): Promise<readonly Outcome[]> {
  const rollout = randomUUID();
  const environment = environmentOf(probe, user);
  const opened = await ask('POST', '/v1/rollouts', {
    rollout_id: rollout,
    environment,
    item: { id: 'probe' },
  });
  if (opened.status >= 300) return [failed(opened.status, opened.body)];
  const outcomes: Outcome[] = [];
  for (const [index, step] of probe.steps.entries()) {
    const { status, body } = await ask('POST', `/v1/rollouts/${rollout}/exec?wait_s=300`, {
      call_id: `call-${index}`,
      argv: argvOf(probe, step),
      timeout_s: probe.timeoutS,
      max_output_bytes: 1024 * 1024,
      env: probe.env,
      ...(probe.cwd !== '/workspace' && { cwd: probe.cwd }),
      ...(probe.stdin !== null && { stdin: probe.stdin }),
    });
    outcomes.push(status === 200 ? outcomeOf(body) : failed(status, body));
    if (index === 0) outcomes.push(...(await transfer(ask, rollout, probe)));
  }
  await ask('DELETE', `/v1/rollouts/${rollout}`);
  return outcomes;
}

/** The upload or the download of a probe, as the shell's `>` or tar would end. */
async function transfer(ask: Ask, rollout: string, { put, get, stdin }: Probe): Promise<readonly Outcome[]> {
  const ended = { exit: 0, timedOut: false, stdout: '', stderr: '' };
  if (put !== null) {
    const { status } = await ask('PUT', `/v1/rollouts/${rollout}/files/${put}`, Buffer.from(stdin ?? ''));
    return [{ ...ended, exit: status === 200 ? 0 : 1 }];
  }
  if (get === null) return [];
  const { bytes } = await ask('GET', `/v1/rollouts/${rollout}/archive?path=${encodeURIComponent(get)}`);
  return [{ ...ended, stdout: await listTar(bytes) }];
}

function outcomeOf(body: Json): Outcome {
  const { exit_code: code, signal, timed_out: timedOut, epoch } = body;
  const host = textIn(epoch, 'sandbox');
  const exit = typeof signal === 'string' ? codeOfSignal(signal) : typeof code === 'number' ? code : null;
  return withoutNames(
    { exit, timedOut: timedOut === true, stdout: textIn(body, 'stdout'), stderr: textIn(body, 'stderr') },
    host,
  );
}

const codeOfSignal = (name: string): number =>
  128 + (Object.entries(constants.signals).find(([each]) => each === name)?.[1] ?? 0);

async function callTool(ask: Ask, { probe, user }: Play): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of probe.steps) {
    const trace = randomUUID();
    const { status, body } = await ask('POST', `/rft/${environmentOf(probe, user)}/tools/shell`, {
      type: 'function_call',
      id: 'f',
      call_id: 'c',
      name: 'shell',
      arguments: JSON.stringify({ command: step }),
      item: { id: 'probe' },
      trace_id: trace,
    });
    await ask('DELETE', `/v1/rollouts/${trace}`);
    outcomes.push(status === 200 ? readToolText(textIn(body, 'output')) : failed(status, body));
  }
  return outcomes;
}

/** Exit code and output of the text that a model reads, as `docker exec … 2>&1` gives them. */
export function readToolText(text: string): Outcome {
  const ended = { timedOut: text.includes('[timed out'), stderr: '' };
  const code = /\n?\[exit code (\d+)\]\n?$/.exec(text);
  if (code !== null) {
    const output = text.slice(0, code.index);
    return {
      ...ended,
      exit: Number(code[1]),
      stdout: output === '' || output.endsWith('\n') ? output : `${output}\n`,
    };
  }
  const killed = /\n?\[killed by signal (\w+)\]\n?$/.exec(text);
  if (killed === null) return { ...ended, exit: 0, stdout: text };
  return { ...ended, exit: codeOfSignal(killed[1] ?? ''), stdout: text.slice(0, killed.index) };
}

/** The last line of what `environments/play.py` writes to stderr. */
const outcomeMark = '\nOUTCOME ';
/** A verdict's event follows the verdict within moments. */
const mostLooks = 50;
const lookEveryMs = 100;

async function grade(ask: Ask, { probe, user, face }: Play): Promise<readonly Outcome[]> {
  const trace = randomUUID();
  const item = { id: 'probe', mode: face, argv: argvOf(probe, probe.steps[0] ?? ''), stdin: probe.stdin };
  const sample = { output_text: 'done', output_tools: [] };
  const graded = await ask('POST', `/rft/${environmentOf(probe, user)}/grade`, {
    sample,
    item,
    trace_id: trace,
  });
  if (graded.status !== 200) return [failed(graded.status, graded.body)];
  for (let look = 0; look < mostLooks; look += 1) {
    const { body } = await ask('GET', `/v1/rollouts/${trace}/events`);
    const [own, told] = stderrIn(body)?.split(outcomeMark) ?? [];
    if (told !== undefined)
      return [
        { timedOut: false, stderr: own ?? '', ...(JSON.parse(told) as Pick<Outcome, 'exit' | 'stdout'>) },
      ];
    await sleep(lookEveryMs);
  }
  return [failed(200, { error: 'no event has the outcome' })];
}

/** What the grader wrote, in any of the events. */
function stderrIn(body: Json): string | undefined {
  const lines = Array.isArray(body['lines']) ? (body['lines'] as readonly Json[]) : [body];
  const texts = lines.map(({ why }) => textIn(why, 'stderr'));
  return texts.find((text) => text.includes(outcomeMark));
}
