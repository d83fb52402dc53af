import { fileURLToPath } from 'node:url';
import { type RunningFleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { inOwnFolder } from '#cli/fleet/temporary-fleet.ts';
import { systemClock } from '#src/platform/clock.ts';

const environmentsDir = fileURLToPath(new URL('environments/', import.meta.url));

/** What a model does in its terminal, as calls of its tools. */
const calls = [
  ['terminal_open', { command: 'bash --norc', wait_for: '$' }],
  [
    'terminal_send',
    { terminal: 1, text: 'printf "def mean(xs):\\n    return sum(xs) / len(xs)\\n" > stats.py\n' },
  ],
  ['terminal_send', { terminal: 1, text: 'python3 -q\n', wait_for: '>>>' }],
  ['terminal_send', { terminal: 1, text: 'from stats import mean\nmean([1, 2, 6])\n', wait_for: '3.0' }],
  ['terminal_send', { terminal: 1, text: 'mean([])\n', wait_for: 'ZeroDivisionError' }],
  ['terminal_send', { terminal: 1, keys: 'C-d' }],
  ['terminal_send', { terminal: 1, text: 'sed -i "s/ len(xs)/ max(len(xs), 1)/" stats.py; cat stats.py\n' }],
  [
    'terminal_send',
    { terminal: 1, text: 'python3 -c "from stats import mean; print(mean([]))"\n', wait_for: '0.0' },
  ],
] as const;

/** Long enough to be read. */
const betweenCallsMs = 2_500;
const rollout = 'fix-mean';

type Watched = { readonly gatewayUrl: string; readonly apiKey: string; readonly rollout: string };

/** A fleet with one rollout, whose terminal `watch` shows while a model's calls are played. */
export async function playTerminal(
  watch: (watched: Watched, end: AbortSignal) => Promise<void>,
): Promise<void> {
  const fleet = await inOwnFolder('attach', (stateDir) => startFleet({ environmentsDir, stateDir }));
  try {
    await post(fleet, '', { rollout_id: rollout, environment: 'debugging', item: { answer: 'fixed' } });
    const end = new AbortController();
    const { gatewayUrl, apiKey } = fleet;
    const watching = watch({ gatewayUrl, apiKey, rollout }, end.signal);
    for (const [index, [name, values]] of calls.entries()) {
      await post(fleet, `/${rollout}/calls`, { call_id: `call-${index}`, name, arguments: values });
      await systemClock.sleep(betweenCallsMs);
    }
    end.abort();
    await watching;
  } finally {
    await fleet.stop();
  }
}

async function post(
  { gatewayUrl, apiKey }: Pick<RunningFleet, 'gatewayUrl' | 'apiKey'>,
  path: string,
  body: object,
): Promise<void> {
  const answer = await fetch(`${gatewayUrl}/v1/rollouts${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}
