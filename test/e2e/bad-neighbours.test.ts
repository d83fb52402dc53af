import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';

/**
 * Small limits, so that each attack reaches them within its few seconds. Both environments say the same of the sandbox,
 * so they share one pool: nobody knows beforehand who will behave.
 */
const environment = (name: string, timeout: string) => `
name: ${name}
sandbox:
  image: host
  cpu: { request: 50m, limit: 500m }
  memory: { request: 32Mi, limit: 128Mi }
  disk: 32Mi
  processes: 48
tools: { shell: { builtin: shell, timeout: ${timeout} } }
limits: { tool_calls: 1000, output_bytes: 4096 }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 22, max: 24 }
`;

const attacks = {
  // The first walks through all of the machine that it can see, so its time is cut; the second is what it may write.
  'delete everything':
    'timeout 3 rm -rf --no-preserve-root /* 2>/dev/null; rm -rf /workspace/* /tmp/*; ls -A /workspace /tmp; echo deleted',
  'fork without end': 'bomb() { bomb | bomb & }; bomb; sleep 60',
  'print without end': 'yes',
  'take all memory': 'tail /dev/zero',
  'fill the disk': 'cat /dev/zero > filler; cat /dev/zero > /tmp/filler; echo filled',
} as const;

const goodOnes = Array.from({ length: 20 }, (_, index) => `good_${index}`);
const badOnes = ['bad_1', 'bad_2'];

const environmentOf = (trace: string) => (badOnes.includes(trace) ? 'attack' : 'shell');

let corral: FleetOfTest;
beforeAll(async () => {
  const environments = { shell: environment('shell', '60s'), attack: environment('attack', '5s') };
  corral = await startFleetOfTest({ environments });
});
afterAll(() => corral.stop());

/** What a call says; a well-behaved one is answered 200, whatever its neighbours do. */
async function say(trace: string, call: string, command: string): Promise<string> {
  const { status, body } = await corral.rft.call({ trace, call, command, environment: environmentOf(trace) });
  expect({ trace, call, status, body }).toMatchObject({ status: 200, body: { output: expect.any(String) } });
  return (body as { output: string }).output;
}

/** Goes on as long as the bad ones do: writes, reads back, and looks for traces of anybody else. */
async function behave(trace: string, until: Promise<unknown>): Promise<number> {
  const over = new AbortController();
  const stop = () => over.abort();
  until.then(stop, stop);
  expect(await say(trace, 'c0', `echo of ${trace} > mine; ls -A`)).toBe('mine\n');
  let rounds = 0;
  for (; !over.signal.aborted || rounds < 2; rounds += 1) {
    const said = await say(
      trace,
      `c${rounds + 1}`,
      'cat mine; ls -A; ls -d /proc/[0-9]* 2>/dev/null | wc -l',
    );
    // Its own processes: a few, and those of calls before it that are not reaped yet. The neighbors have more than 80.
    expect(said).toMatch(new RegExp(`^of ${trace}\nmine\n[1-4]?\\d\n$`));
  }
  return rounds;
}

test('two rollouts that attack the machine are answered 200 with text, and 20 beside them notice nothing', async () => {
  // All are there before the first attack, so that the test is not about starting.
  await Promise.all([...goodOnes, ...badOnes].map((trace) => say(trace, 'hello', 'true')));
  const attacking = Promise.all(
    badOnes.map(async (trace) => {
      const said: Record<string, string> = {};
      for (const [name, command] of Object.entries(attacks))
        said[name] = await say(trace, name.replaceAll(' ', '-'), command);
      return said;
    }),
  );
  const rounds = await Promise.all(goodOnes.map((trace) => behave(trace, attacking)));
  expect(Math.min(...rounds)).toBeGreaterThan(1);

  // Each attack runs into its limit, or on a busy machine into its five seconds, or into what the one before still holds.
  for (const said of await attacking) {
    expect(said).toMatchObject({
      'delete everything': expect.stringMatching(/workspace:\ndeleted\n$|timed out after 5 s/),
      'fork without end': expect.stringMatching(/Cannot fork|timed out after 5 s/),
      'print without end': expect.stringMatching(/^y\ny\n[^]*\[timed out after 5 s\]$|Cannot fork/),
      'take all memory': expect.stringMatching(/out of memory|killed|Cannot fork|timed out after 5 s/i),
      'fill the disk': expect.stringMatching(/No space left on device|Cannot fork|timed out after 5 s/),
    });
  }
});

test('afterwards all of them are scorable and scored, the bad ones like the others', async () => {
  for (const trace of [...badOnes, ...goodOnes]) {
    const sample = { output_text: '42', output_tools: [{ id: 'hello' }] };
    expect(await corral.rft.grade({ trace, sample, environment: environmentOf(trace) })).toMatchObject({
      status: 200,
      body: { score: 1 },
    });
  }
  const discards = await corral.native.get('/v1/runs/development/rollouts?verdict=discard');
  expect(discards.body).toEqual({ rollouts: [], cursor: null });
});
