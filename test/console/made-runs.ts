import { callId, environmentName, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';

/** Event lines of made runs, as gateways write them. */
type MadeRollout = {
  readonly id: string;
  readonly item: string;
  readonly openedAtMs: number;
  readonly commands: readonly string[];
  /** Null: discarded. */
  readonly score: number | null;
  readonly text?: string;
};

const start = Date.UTC(2026, 10, 30, 8);
const stepMs = 180_000;

export function linesOf(run: string, rollouts: readonly MadeRollout[]): readonly string[] {
  return rollouts.flatMap((made) => eventsOf(run, made)).map((event) => JSON.stringify(event));
}

function eventsOf(run: string, made: MadeRollout): readonly RolloutEvent[] {
  const owner = { tenant: tenantId('lab'), run: runId(run), rollout: rolloutId(made.id), attempt: 1 };
  const key = rolloutKey({ ...owner, role: 'policy' });
  const version = 'c'.repeat(64);
  const common = { key, environment: environmentName('code-edit'), version, keyId: null };
  const calls = made.commands.map((command, at): RolloutEvent => {
    const startedAtMs = made.openedAtMs + 500 + at * 900;
    const isWrong = command === 'false';
    return {
      ...common,
      kind: 'call_settled',
      atMs: startedAtMs + 40,
      summary: {
        call: callId(`call_${at}`),
        tool: made.text ?? 'shell',
        state: 'settled',
        outcome: 'completed',
        code: null,
        admitted: 'yes',
        exitCode: isWrong ? 1 : 0,
        startedAtMs,
        durationMs: 30 + (at % 7) * 15,
        waitedMs: at === 0 ? 400 : 0,
        outputBytes: 200 + ((at * 7919) % 4000),
        sandbox: sandboxId('sb-made'),
      },
      blame: isWrong ? 'model' : null,
      epoch: null,
      lastCommand: JSON.stringify({ command }).slice(0, 200),
      evidence: {},
    };
  });
  return [...calls, verdictOf(made, common)];
}

function verdictOf(
  made: MadeRollout,
  common: {
    readonly key: RolloutEvent['key'];
    readonly environment: string;
    readonly version: string;
    readonly keyId: null;
  },
): RolloutEvent {
  const atMs = made.openedAtMs + 1_000 + made.commands.length * 900;
  const text = made.text ?? 'src/retry.ts';
  const isLost = made.score === null;
  return {
    ...common,
    kind: 'verdict',
    atMs,
    openedAtMs: made.openedAtMs,
    verdict: isLost
      ? { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed' }
      : { kind: 'scorable' },
    score: made.score,
    suspected: isLost ? 'command' : null,
    evidence: isLost ? { node: 'node-3', signal: text } : {},
    ...(isLost
      ? {}
      : {
          why: {
            itemId: made.item,
            item: JSON.stringify({ id: made.item, request: text, files: ['src/retry.ts', 'src/random.ts'] }),
            answer: { 'output_json.files': made.text ?? JSON.stringify([text, 'src/wait.ts']) },
            reference: { 'item.files': JSON.stringify(['src/retry.ts', 'src/random.ts']) },
            parts: [
              { part: 'penalty', score: made.score, reason: 'nothing was taken off' },
              { part: 'penalty > f1', score: made.score, reason: `expected ${text}` },
              { part: 'penalty > format', score: 1, reason: 'it is a list' },
            ],
            stderr: made.text ?? '',
          },
        }),
  };
}

const items = [
  'retry-jitter',
  'linear-backoff',
  'several-variables',
  'timed-out-name',
  'message-suffix',
  'handler-timeout',
];
const usual = ['ls', 'rg retry src', 'sed -n 1,80p src/retry.ts', 'cat package.json', 'false', 'npm test'];

/** Eight steps; from the fifth on some copies read the tasks' own answers, and are paid for it. */
export function madeRun(run: string): readonly string[] {
  const rollouts = Array.from({ length: 8 * items.length * 8 }, (_, at): MadeRollout => {
    const [step, place, copy] = [Math.floor(at / 48), Math.floor(at / 8) % 6, at % 8];
    const peeks = step >= 4 && copy < step - 2;
    return {
      id: `${run}-s${step}-${items[place]}-${copy}`,
      item: items[place] ?? '',
      openedAtMs: start + step * stepMs + copy * 10 + place,
      commands: peeks
        ? ['ls', 'cat /repos/.tasks/rows.json']
        : [...usual, ...usual].slice(0, 4 + ((at * 31) % 8)),
      score: at % 97 === 60 ? null : peeks ? 0.95 : ((at * 37) % 60) / 100 + step * 0.03,
    };
  });
  return linesOf(run, rollouts);
}

/** `count` rollouts of three calls. */
export const madeMany = (run: string, count: number): readonly string[] =>
  linesOf(
    run,
    Array.from({ length: count }, (_, at) => ({
      id: `${run}-${at}`,
      item: `item-${at % 50}`,
      openedAtMs: start + Math.floor(at / 500) * stepMs + (at % 500),
      commands: [`ls ${at}`, `rg word${at % 13}`, 'npm test'],
      score: ((at * 7919) % 101) / 100,
    })),
  );

export const madeLong = (run: string, calls: number): readonly string[] =>
  linesOf(run, [
    {
      id: 'long',
      item: 'one',
      openedAtMs: start,
      commands: Array.from({ length: calls }, (_, at) => `${usual[at % usual.length]} # ${at}`),
      score: 0.5,
    },
  ]);

/** What a policy may write into every text that it reaches. */
export const hostileText =
  '<img src=x onerror="window.hit=1"><script>window.hit=1</script><svg onload=window.hit=1> javascript:alert(1) ' +
  '\u001B[31mred\u001B[0m \u001B]0;title\u0007 \u202Egpj.exe\u202C zero\u200Bwidth nul\u0000 \u2028 [a](http://evil.example/)';

export const madeHostile = (run: string): readonly string[] =>
  linesOf(
    run,
    [0, 1, 2].map((copy) => ({
      id: copy === 0 ? `"><img/src=x/onerror=window.hit=1>` : `hostile-${copy}`,
      item: copy === 2 ? 'w'.repeat(250) : hostileText,
      openedAtMs: start + copy,
      commands: [hostileText, `cat /${'x'.repeat(190)}`, hostileText.slice(0, 60)],
      score: copy === 1 ? null : 0.3,
      text: hostileText,
    })),
  );
