import { type Chance, chanceOf } from '#gallery/generators/chance.ts';
import type { FoundCall, FoundRollout } from '#src/reports/findings/runs.ts';

/*
 * Made training runs of an honest policy. Half of them improve: their policy turns from naive to good, and finds new ways to work that
 * are paid. What the log has of a call is made as the log has it: the first 200 characters of its arguments.
 */

export const steps = 8;
const itemsAStep = 8;
const copies = 8;
const pool = 24;
const stepMs = 180_000;

/** How one made run differs from another. */
type Nature = {
  readonly folder: '.' | '/repos/app' | '/data/filings';
  readonly isBinary: boolean;
  readonly improves: boolean;
  /** The share of good rollouts, by step. */
  readonly goodShare: (step: number) => number;
  /** Calls become fewer by this share until the last step. */
  readonly shorter: number;
  readonly novelties: readonly Novelty[];
  readonly hardness: readonly number[];
};

/** A call that the policy makes more and more often from some step on, and what it adds to its reward. */
type Novelty = {
  readonly command: string;
  readonly from: number;
  readonly most: number;
  readonly gain: number;
};

const inWorkspace = [
  'cat docs/CONVENTIONS.md',
  'git log -3 --stat',
  'npx tsc --noEmit -p .',
  'jq .scripts package.json',
] as const;
const asScratch = ['python3 /tmp/check.py', 'diff -r . /tmp/before', 'sh /tmp/repro.sh'] as const;
const elsewhere = ['cat /etc/os-release', 'ls ~/.cache', 'cat /proc/cpuinfo', 'ls -la /home'] as const;

export function natureOf(chance: Chance, improves: boolean): Nature {
  const [low, high] = [chance.between(0.05, 0.2), chance.between(0.7, 0.95)];
  const still = chance.between(0.2, 0.8);
  const folder = chance.pick<Nature['folder']>(['.', '/repos/app', '/data/filings']);
  const novelty = (command: string, gain: number): Novelty => ({
    command,
    from: chance.integer(2, 5),
    most: chance.between(0.15, 0.7),
    gain,
  });
  const novelties = [
    // What helps an honest policy is paid, as a hole is.
    ...(improves && chance.happens(0.6)
      ? [novelty(chance.pick(inWorkspace), chance.between(0.05, 0.2))]
      : []),
    ...(improves && folder !== '.' && chance.happens(0.6)
      ? [novelty(`cat ${folder}/docs/CONVENTIONS.md`, chance.between(0.05, 0.2))]
      : []),
    ...(improves && chance.happens(0.3) ? [novelty(chance.pick(asScratch), chance.between(0, 0.12))] : []),
    // Habits come and go without a reason.
    ...(chance.happens(0.5) ? [novelty(chance.pick(elsewhere), 0)] : []),
    ...(chance.happens(0.5) ? [novelty(chance.pick(asScratch), 0)] : []),
  ];
  return {
    folder,
    isBinary: chance.happens(0.5),
    improves,
    goodShare: (step) => (improves ? low + ((high - low) * step) / (steps - 1) : still),
    shorter: improves && chance.happens(0.3) ? chance.between(0.3, 0.6) : 0,
    novelties,
    hardness: Array.from({ length: pool }, () => chance.next()),
  };
}

const naiveCommands = [
  'ls',
  'cat {file}',
  'grep -rn {word} .',
  'python3 run.py',
  'head -50 {file}',
  'find . -name "*.ts"',
] as const;
const goodCommands = [
  ...naiveCommands,
  'rg {word} src',
  "sed -n '1,80p' {file}",
  'pytest -q',
  'git diff',
  'node --test',
] as const;

export const logged = (asked: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(asked).slice(0, 200);

const call = (tool: string, asked: Readonly<Record<string, unknown>>, chance: Chance): FoundCall => ({
  tool,
  arguments: logged(asked),
  blame: chance.happens(0.04) ? 'model' : null,
});

/** The usual work on one item, by a good policy or a naive one. */
export function workOf(
  chance: Chance,
  nature: Nature,
  item: number,
  good: boolean,
  step: number,
): readonly FoundCall[] {
  const usual = good ? chance.integer(6, 14) : chance.integer(3, 8);
  const made = Math.max(1, Math.round(usual * (1 - (nature.shorter * step) / (steps - 1))));
  return Array.from({ length: made }, () => {
    const file = `${nature.folder}/src/part-${item}/file-${chance.integer(1, 9)}.ts`;
    if (chance.happens(0.25)) return call('read_file', { path: file }, chance);
    const command = chance.pick(good ? goodCommands : naiveCommands);
    const filled = command.replace('{file}', file).replace('{word}', `word${chance.integer(1, 99)}`);
    return call('shell', { command: filled }, chance);
  });
}

function honestRollout(
  chance: Chance,
  nature: Nature,
  step: number,
  item: number,
): Pick<FoundRollout, 'calls' | 'score'> {
  const good = chance.happens(nature.goodShare(step));
  const used = nature.novelties.filter(({ from, most }) =>
    chance.happens(step < from ? 0 : (most * (step - from + 1)) / (steps - from)),
  );
  const extra = used.map(({ command }) => call('shell', { command }, chance));
  const worth =
    (good ? 0.85 : 0.4) - 0.35 * (nature.hardness[item] ?? 0) + used.reduce((sum, { gain }) => sum + gain, 0);
  return {
    calls: [...workOf(chance, nature, item, good, step), ...extra],
    score: scoreOf(chance, nature, worth),
  };
}

function scoreOf(chance: Chance, { isBinary }: Nature, worth: number): number {
  if (isBinary) return chance.happens(worth) ? 1 : 0;
  const graded = worth + chance.between(-0.25, 0.25);
  return Math.round(20 * Math.min(1, Math.max(0, graded))) / 20;
}

/** Takes the place of an honest rollout, or leaves it (null). */
export type Instead = (
  chance: Chance,
  at: { readonly nature: Nature; readonly step: number; readonly item: number },
) => Pick<FoundRollout, 'calls' | 'score'> | null;

/** A run of 8 steps, 8 items a step, 8 copies an item. */
export function madeRun(seed: string, improves: boolean, instead: Instead = () => null) {
  const chance = chanceOf(seed);
  const nature = natureOf(chance, improves);
  const planted = new Set<string>();
  const rollouts = Array.from({ length: steps }, (_, step) =>
    chance
      .some(
        Array.from({ length: pool }, (_item, index) => index),
        itemsAStep,
      )
      .flatMap((item) =>
        Array.from({ length: copies }, (_copy, copy): FoundRollout => {
          const id = `${step}-${item}-${copy}`;
          const other = instead(chance, { nature, step, item });
          if (other !== null) planted.add(id);
          const openedAtMs = step * stepMs + chance.integer(0, 5_000);
          const about = {
            id,
            item: `item-${item}`,
            openedAtMs,
            endedAtMs: openedAtMs + chance.integer(20_000, 120_000),
            parts: [],
          };
          const lost = chance.happens(0.005);
          const played = other ?? honestRollout(chance, nature, step, item);
          return lost
            ? {
                ...about,
                ...played,
                score: null,
                loss: {
                  code: 'sandbox_lost',
                  blame: 'infrastructure',
                  cause: null,
                  suspected: false,
                  node: null,
                },
              }
            : { ...about, ...played, loss: null };
        }),
      ),
  ).flat();
  return { rollouts, planted };
}
