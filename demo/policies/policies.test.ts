import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../seeded-random.ts';
import { itemOf, loadTasks, type Task } from '../tasks/load-tasks.ts';
import type { Policy, ToolUse } from './policy.ts';
import { expert, guesser, keywordSearcher, overCaller, parallelReader, sloppy } from './roster.ts';

const run = promisify(execFile);
const tasks = await loadTasks();
let workspaces: string;

beforeAll(async () => {
  workspaces = await mkdtemp(join(tmpdir(), 'corral-policies-'));
});
afterAll(() => rm(workspaces, { recursive: true }));

/** Plays on the real sources, without a sandbox: every command here only reads. */
async function play(policy: Policy, task: Task, seed: string) {
  const workspace = await mkdtemp(join(workspaces, 'w-'));
  await symlink(
    fileURLToPath(new URL(`../../node_modules/${task.repo}`, import.meta.url)),
    join(workspace, 'repo'),
  );
  const steps: (readonly ToolUse[])[] = [];
  const act = (uses: readonly ToolUse[]) => {
    steps.push(uses);
    return Promise.all(uses.map((use) => answerOf(use, workspace)));
  };
  const text = await policy.play(task, act, seededRandom(seed));
  return { text, steps, score: f1(filesIn(text), itemOf(task).files) };
}

async function answerOf(use: ToolUse, workspace: string): Promise<string> {
  try {
    const given = JSON.parse(use.arguments) as { readonly command?: string; readonly path?: string };
    if (given.command === undefined) return await readFile(join(workspace, given.path ?? ''), 'utf8');
    const { stdout } = await run('sh', ['-c', given.command], { cwd: workspace, maxBuffer: 2 ** 24 });
    return stdout.slice(0, 65_536);
  } catch (error) {
    return `Error: ${String(error)}`;
  }
}

function filesIn(text: string): readonly string[] {
  try {
    const { files } = JSON.parse(text) as { readonly files: readonly string[] };
    return files.map((file) => file.replace(/^\.\//, ''));
  } catch {
    return [];
  }
}

function f1(answered: readonly string[], truth: readonly string[]): number {
  const right = answered.filter((file) => truth.includes(file)).length;
  return (2 * right) / Math.max(1, answered.length + truth.length);
}

async function meanScore(policy: Policy): Promise<number> {
  const plays = await Promise.all(tasks.map((task) => play(policy, task, `mean ${task.id}`)));
  return plays.reduce((sum, { score }) => sum + score, 0) / plays.length;
}

describe('the scripted policies, on the real sources', () => {
  it('differ in skill: the expert finds most files, the searcher some, the guesser hardly any', async () => {
    const [best, middle, worst] = await Promise.all([expert, keywordSearcher, guesser].map(meanScore));
    expect(best).toBeGreaterThan(0.6);
    expect(best).toBeGreaterThan((middle ?? 1) + 0.1);
    expect(middle).toBeGreaterThan((worst ?? 1) + 0.1);
  });

  it.each([expert, parallelReader, keywordSearcher, guesser, overCaller, sloppy])(
    '$name plays the same rollout again from the same seed',
    async (policy) => {
      const [first, second] = await Promise.all([play(policy, one(0), 'seed'), play(policy, one(0), 'seed')]);
      expect(second).toEqual(first);
    },
  );

  it('makes copies of one task differ when their seeds do', async () => {
    const seeds = Array.from({ length: 6 }, (_, copy) => `copy ${copy}`);
    const plays = await Promise.all(seeds.map((seed) => play(keywordSearcher, one(0), seed)));
    expect(new Set(plays.map(({ text }) => text)).size).toBeGreaterThan(1);
  });

  it('sends four calls at once where the policy is parallel, however few terms the request has', async () => {
    for (const task of [one(0), one(1), one(9)]) {
      expect((await play(parallelReader, task, 'seed')).steps[0]).toHaveLength(4);
    }
  });

  it('goes beyond the twelve free calls where the policy overspends', async () => {
    const { steps } = await play(overCaller, one(0), 'seed');
    expect(steps.flat().length).toBeGreaterThan(12);
  });

  it('writes arguments that are not JSON where the policy is sloppy', async () => {
    const { steps } = await play(sloppy, one(0), 'seed');
    expect(() => JSON.parse(steps[0]?.[0]?.arguments ?? '{}') as unknown).toThrow(SyntaxError);
  });
});

function one(index: number): Task {
  const task = tasks[index];
  if (task === undefined) throw new RangeError(`there is no task ${index}`);
  return task;
}
