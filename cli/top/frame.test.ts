import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import {
  fakeFleetAnswer,
  fakePool,
  fakeProcess,
  fakeShownLaunch,
  fakeWaitingRun,
} from '#test/fakes/fleet-answer.ts';
import { frameOf, type View } from './frame.ts';
import { paint, widthOf } from './lines.ts';

const view = (answer: FleetAnswer | null, changes: Partial<View> = {}): View => ({
  url: 'http://127.0.0.1:8700',
  timeOfDay: '14:03:07',
  told: answer === null ? null : { answer, agoMs: 300 },
  trouble: null,
  footer: 'q ends',
  ...changes,
});

const draw = (shown: View, columns: number, rows: number) =>
  frameOf(shown, { columns, rows }).map((line) => paint(line, false));

/** A burst of two runs while one controller is gone and images of one environment cannot be had. */
const burst = fakeFleetAnswer({
  rollouts: { open: 136, calls_running: 32 },
  waiting: {
    rollouts: 119,
    oldest_ms: 36_400,
    runs: [
      fakeWaitingRun({ place: 2 }),
      fakeWaitingRun({ run: 'sft', waiting: 36, oldest_ms: 9_000, oldest_rollout: 'trace_9' }),
    ],
    others: { runs: 0, waiting: 0 },
    runs_left_out: 0,
  },
  sandboxes: { all: 23, starting: 4, starting_at_most: 32, leaving: 1 },
  templates: [
    fakePool({
      template: '5a4e746ec6fd0000',
      environment: 'swe',
      starting: 0,
      held: 1,
      waiting: 0,
      breaker: 'open',
      last_failure: { code: 'image_unavailable', blame: 'infrastructure', ago_ms: 12_000 },
    }),
    fakePool(),
  ],
  verdicts: {
    of_ms: 300_000,
    scorable: 110,
    discarded: 4,
    blame: { infrastructure: 3, caller: 1, model: 0 },
    codes: { sandbox_lost: 3, rollout_expired: 1 },
  },
  processes: [
    fakeProcess(),
    fakeProcess({
      kind: 'controller',
      host: 'lab-controller-0',
      in_hand: { starts: 4 },
      at_most: { starts: 32 },
    }),
    fakeProcess({
      kind: 'controller',
      state: 'silent',
      host: 'lab-controller-1',
      heard_ms: 12_300,
      in_hand: { starts: 9 },
      at_most: { starts: 32 },
    }),
  ],
});

describe('a frame', () => {
  test('of a burst, at 80 columns', () => {
    expect(draw(view(burst), 80, 24)).toEqual([
      'corral top  fleet lab at http://127.0.0.1:8700                          14:03:07',
      'rollouts   136 open, 119 waiting, the longest for 36 s, 32 calls running',
      'sandboxes  23: 18 held, 0 ready, 4 of at most 32 starting, 1 leaving',
      'verdicts   in 5 min: 110 scorable, 4 discarded (infrastructure 3, caller 1)',
      '           sandbox_lost 3, rollout_expired 1',
      'redis      7.2.4, 12.1 MB of 512.0 MB, noeviction, append-only file',
      '',
      'Waiting line  119 rollouts of 2 runs',
      'place  waiting  longest  run      environment  its longest waiting rollout',
      '   2.       83     36 s  grpo-17  shell        trace_1_4_1',
      '   1.       36      9 s  sft      shell        trace_9',
      '',
      'Pools  2 templates in use',
      'environment  ready  starting  held  waiting  starts',
      'shell            0         4    17      119  no failure',
      'swe              0         0     1        0  stopped: image_unavailable 12 s ago',
      '',
      'Processes  1 gateway, 1 controller, 1 without heartbeat',
      'process     state                    age  version  in hand',
      'controller  no heartbeat for 12 s  1 min  0.1.0    9 of 32 starts',
      'gateway     serving                1 min  0.1.0    591 requests, 119 in line, 3…',
      'controller  serving                1 min  0.1.0    4 of 32 starts',
      '',
      'q ends; this reading took 0.8 ms of Redis’ time',
    ]);
  });

  test('of launches shows for which run each is, and what became of it', () => {
    const answer = fakeFleetAnswer({
      launches: [
        fakeShownLaunch(),
        fakeShownLaunch({ sandbox: 'sf7ad-2', run: null, reason: 'refill', state: 'waiting', ago_ms: 900 }),
        fakeShownLaunch({ sandbox: 'sf7ad-3', state: 'ready', took_ms: 1_400, rollout: 'trace_9' }),
        fakeShownLaunch({
          sandbox: 'sf7ad-4',
          state: 'failed',
          took_ms: 800,
          failure: 'setup_failed: exit 1',
        }),
      ],
    });
    const lines = draw(view(answer), 100, 40);
    const from = lines.findIndex((line) => line.startsWith('Launches'));
    expect(lines.slice(from, from + 6)).toEqual([
      'Launches  the newest; 2 under way',
      'sandbox  environment  for           result',
      'sf7ad-1  shell        acme/grpo-17  running for 2 s',
      'sf7ad-2  shell        refill        waiting for 0 s',
      'sf7ad-3  shell        acme/grpo-17  ready 2 s ago after 1 s, to trace_9',
      'sf7ad-4  shell        acme/grpo-17  failed 2 s ago: setup_failed: exit 1',
    ]);
  });

  test('of a burst, at 200 columns: there is room for templates, hosts and whole rollouts', () => {
    expect(draw(view(burst), 200, 50).slice(6, 22)).toEqual([
      '',
      'Waiting line  119 rollouts of 2 runs',
      'place  waiting  longest  run      environment  its longest waiting rollout  template',
      '   2.       83     36 s  grpo-17  shell        trace_1_4_1                  feaa7ad650ba',
      '   1.       36      9 s  sft      shell        trace_9                      feaa7ad650ba',
      '',
      'Pools  2 templates in use',
      'environment  ready  starting  held  waiting  announced  starts                               template',
      'shell            0         4    17      119          0  no failure                           feaa7ad650ba',
      'swe              0         0     1        0          0  stopped: image_unavailable 12 s ago  5a4e746ec6fd',
      '',
      'Processes  1 gateway, 1 controller, 1 without heartbeat',
      'process     state                    age  version  in hand                              host              pid',
      'controller  no heartbeat for 12 s  1 min  0.1.0    9 of 32 starts                       lab-controller-1    1',
      'gateway     serving                1 min  0.1.0    591 requests, 119 in line, 35 calls  lab-gateway-0       1',
      'controller  serving                1 min  0.1.0    4 of 32 starts                       lab-controller-0    1',
    ]);
  });

  test('of an empty fleet says so in words', () => {
    expect(draw(view(fakeFleetAnswer()), 80, 14)).toEqual([
      'corral top  fleet lab at http://127.0.0.1:8700                          14:03:07',
      'rollouts   0 open, 0 waiting, 0 calls running',
      'sandboxes  0: 0 held, 0 ready, 0 starting, 0 leaving',
      'verdicts   in 5 min: 0 scorable, 0 discarded',
      'redis      7.2.4, 12.1 MB of 512.0 MB, noeviction, append-only file',
      '',
      'Waiting line  no rollout waits',
      '',
      'Pools  0 templates in use',
      '',
      'Processes  0 gateways, 0 controllers',
      '',
      '',
      'q ends; this reading took 0.8 ms of Redis’ time',
    ]);
  });

  test('of 1,000 runs that wait shows the longest waiting ones and counts the others', () => {
    const runs = Array.from({ length: 50 }, (_, index) =>
      fakeWaitingRun({ run: `run-${index}`, place: index + 1, waiting: 1 }),
    );
    const waiting = { ...burst.waiting, rollouts: 1_000, runs, runs_left_out: 950 };
    expect(draw(view({ ...burst, waiting }), 80, 24).slice(6, 14)).toEqual([
      '',
      'Waiting line  1000 rollouts of 1000 runs; 3 shown',
      'place  waiting  longest  run    environment  its longest waiting rollout',
      '   1.        1     36 s  run-0  shell        trace_1_4_1',
      '   2.        1     36 s  run-1  shell        trace_1_4_1',
      '   3.        1     36 s  run-2  shell        trace_1_4_1',
      '',
      'Pools  2 templates in use',
    ]);
  });

  test('of long names and wide characters keeps its columns, and is never wider than the screen', () => {
    const run = `${'very-long-'.repeat(20)}run`;
    const wide = fakeWaitingRun({
      run: '漢字かな交じり文の名前がとても長い場合はどうなるのか',
      environment: 'emoji-🚀',
    });
    const waiting = { ...burst.waiting, runs: [fakeWaitingRun({ run, oldest_rollout: run }), wide] };
    const lines = frameOf(view({ ...burst, waiting }), { columns: 80, rows: 24 });
    for (const line of lines)
      expect(line.reduce((sum, { text }) => sum + widthOf(text), 0)).toBeLessThanOrEqual(80);
    expect(lines.map((line) => paint(line, false)).slice(8, 11)).toEqual([
      'place  waiting  longest  run                                         environment',
      '   1.       83     36 s  very-long-very-long-very-long-very-long-v…  shell',
      '   1.       83     36 s  漢字かな交じり文の名前がとても長い場合は…   emoji-🚀',
    ]);
  });

  test('of a screen of few rows shares them among the lists, and says how many rows it has no room for', () => {
    const processes = Array.from({ length: 9 }, (_, pid) => fakeProcess({ pid }));
    expect(draw(view({ ...burst, processes }), 80, 18).slice(6)).toEqual([
      '',
      'Waiting line  119 rollouts of 2 runs; 1 shown',
      'place  waiting  longest  run      environment  its longest waiting rollout',
      '   2.       83     36 s  grpo-17  shell        trace_1_4_1',
      '',
      'Pools  2 templates in use; 1 shown',
      'environment  ready  starting  held  waiting  announced  starts      template',
      'shell            0         4    17      119          0  no failure  feaa7ad650ba',
      '',
      'Processes  9 gateways, 0 controllers; none shown',
      '',
      'q ends; this reading took 0.8 ms of Redis’ time',
    ]);
  });

  test.each([1, 3, 7, 9])(
    'of a screen of %i rows is no longer than that, and begins with what counts most',
    (rows) => {
      const lines = draw(view(burst), 80, rows);
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(lines[0]).toContain('corral top');
    },
  );

  test('that nobody looks at has every row and the whole width', () => {
    const runs = Array.from({ length: 50 }, (_, index) => fakeWaitingRun({ run: `run-${index}` }));
    const lines = draw(
      view({ ...burst, waiting: { ...burst.waiting, runs } }, { footer: null }),
      Infinity,
      Infinity,
    );
    expect(lines.filter((line) => line.includes('run-'))).toHaveLength(50);
  });

  test('whose gateway does not answer says so and since when, and keeps what was told', () => {
    const told = { answer: burst, agoMs: 12_000 };
    const lines = draw(view(burst, { told, trouble: 'trying again: connection refused' }), 80, 24);
    expect(lines.slice(0, 3)).toEqual([
      'corral top  fleet lab at http://127.0.0.1:8700, as it was 12 s ago      14:03:07',
      'trying again: connection refused',
      'rollouts   136 open, 119 waiting, the longest for 36 s, 32 calls running',
    ]);
  });

  test('before the first answer says why there is none', () => {
    expect(draw(view(null, { trouble: 'trying again: connection refused' }), 80, 4)).toEqual([
      'corral top  at http://127.0.0.1:8700                                    14:03:07',
      'trying again: connection refused',
      '',
      'q ends',
    ]);
  });

  test('tells a key of one tenant that others wait too, and no name of theirs', () => {
    const waiting = { ...burst.waiting, runs: [fakeWaitingRun()], others: { runs: 2, waiting: 36 } };
    const lines = draw(view({ ...burst, waiting, sees: 'own tenant' }), 80, 24);
    expect(lines[7]).toBe('Waiting line  119 rollouts of 3 runs; 36 rollouts of 2 runs of other tenants');
  });

  test('whose callers are all silent says that', () => {
    const waiting = { ...burst.waiting, rollouts: 7, oldest_ms: null, runs: [] };
    expect(draw(view({ ...burst, waiting }), 80, 24)[7]).toBe(
      'Waiting line  7 rollouts whose callers are silent',
    );
  });
});

const withoutColours = (text: string) =>
  ['0', '1', '31', '33', '36'].reduce((rest, code) => rest.replaceAll(`\u001B[${code}m`, ''), text);

describe('what others have written', () => {
  const evil = '\u001B[2J\u001B]0;title\u0007\u202Eabc\u0000';

  test('is no order to the terminal, wherever it stands', () => {
    const answer = fakeFleetAnswer({
      fleet: evil,
      waiting: {
        ...burst.waiting,
        runs: [
          fakeWaitingRun({
            run: evil,
            tenant: evil,
            environment: evil,
            oldest_rollout: evil,
            template: evil,
          }),
        ],
      },
      templates: [
        fakePool({
          environment: evil,
          template: evil,
          last_failure: { code: evil, blame: 'infrastructure', ago_ms: 1 },
        }),
      ],
      verdicts: { ...burst.verdicts, codes: { [evil]: 1 } },
      processes: [fakeProcess({ host: evil, version: evil, in_hand: { [evil]: 1 } })],
      redis: { ...burst.redis, version: evil, maxmemory_policy: evil },
    });
    const shown = view(answer, { url: evil, trouble: evil });
    for (const inColour of [false, true]) {
      const text = frameOf(shown, { columns: 400, rows: 60 })
        .map((line) => paint(line, inColour))
        .join('\n');
      expect(withoutColours(text)).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
      expect(text).toContain('\\u001b[2J');
    }
    const narrow = draw(shown, 80, 24).map(widthOf);
    expect(Math.max(...narrow)).toBeLessThanOrEqual(80);
  });

  test('has the colour of its blame and no other: none where colours are not wanted', () => {
    const lines = frameOf(view(burst), { columns: 80, rows: 24 });
    const painted = lines.map((line) => paint(line, true)).join('\n');
    expect(painted).toContain('\u001B[31msandbox_lost 3\u001B[0m');
    expect(painted).toContain('\u001B[33mrollout_expired 1\u001B[0m');
    expect(painted).toContain('\u001B[31mno heartbeat for 12 s\u001B[0m');
    expect(lines.map((line) => paint(line, false)).join('\n')).not.toContain('\u001B');
  });
});

test('the operators’ page shows a frame as it is drawn', () => {
  const shell = fakePool({ held: 7, waiting: 78 });
  const idle = { starting: 0, held: 0, waiting: 0 };
  const answer = fakeFleetAnswer({
    fleet: 'local',
    rollouts: { open: 87, calls_running: 12 },
    waiting: {
      ...burst.waiting,
      rollouts: 78,
      oldest_ms: 49_000,
      runs: [
        fakeWaitingRun({ run: 'sft-warmup', waiting: 18, oldest_ms: 49_000, oldest_rollout: 'trace_1_1_2' }),
        fakeWaitingRun({
          run: 'grpo-step-17',
          place: 2,
          waiting: 60,
          oldest_ms: 47_000,
          oldest_rollout: 'trace_1_7_4',
        }),
      ],
    },
    sandboxes: { all: 21, starting: 4, starting_at_most: null, leaving: 1 },
    templates: [
      fakePool({ ...idle, environment: 'column-total', ready: 1 }),
      shell,
      fakePool({ ...idle, environment: 'code-edit-planning', ready: 8 }),
    ],
    verdicts: {
      of_ms: 300_000,
      scorable: 5,
      discarded: 2,
      blame: { infrastructure: 2 },
      codes: { sandbox_lost: 2 },
    },
    processes: [
      fakeProcess({ in_hand: { requests: 383, in_line: 78, calls: 12 } }),
      fakeProcess({
        kind: 'controller',
        state: 'silent',
        heard_ms: 13_000,
        in_hand: { starts: 4 },
        at_most: { starts: 4 },
      }),
    ],
    redis: {
      version: '7.0.15',
      maxmemory_policy: 'noeviction',
      append_only: false,
      used_bytes: 3_200_000,
      limit_bytes: 1_073_741_824,
      reading_ms: 0.3,
    },
  });
  const shown = view(answer, { url: 'http://127.0.0.1:8799', timeOfDay: '09:22:14' });
  const page = readFileSync(join(import.meta.dirname, '../../docs/watching.md'), 'utf8');
  expect(page).toContain(`\n\`\`\`\n${draw(shown, 80, 24).join('\n')}\n\`\`\`\n`);
});
