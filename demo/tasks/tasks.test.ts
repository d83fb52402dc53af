import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { itemOf, loadTasks } from './load-tasks.ts';

const tasks = await loadTasks();
const sources = new URL('../../node_modules/', import.meta.url);

const rowsOf = async (split: string) =>
  (await readFile(new URL(`../../environments/code-edit-planning/${split}.jsonl`, import.meta.url), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { repo: string; files: string[]; corral?: object });

describe('the tasks of the demo', () => {
  it('are at least 16, over at least 8 repositories, each with an id of its own', () => {
    expect(tasks.length).toBeGreaterThanOrEqual(16);
    expect(new Set(tasks.map((task) => task.repo)).size).toBeGreaterThanOrEqual(8);
    expect(new Set(tasks.map((task) => task.id)).size).toBe(tasks.length);
  });

  it('begin with one task of each repository, so that the first eight come from eight packages', () => {
    expect(new Set(tasks.slice(0, 8).map((task) => task.repo)).size).toBe(8);
  });

  it('give the trainer the files as a list and keep the evidence to themselves', () => {
    for (const task of tasks) {
      expect(Object.keys(itemOf(task))).toEqual(['id', 'repo', 'request', 'files', 'main']);
      expect(itemOf(task).files).toEqual(Object.keys(task.evidence));
    }
  });

  it('are the rows of the environment, with no repository in both train and eval', async () => {
    const [train, evaluated] = await Promise.all(['train', 'eval'].map(rowsOf));
    const items = tasks.map((task) => ({
      ...itemOf(task),
      corral: {
        reference: { files: itemOf(task).files },
        cheating: { files: ['package.json', 'index.js'] },
      },
    }));
    const evaluatedOn = new Set(evaluated?.map(({ repo }) => repo));
    expect(train).toEqual(items.filter(({ repo }) => !evaluatedOn.has(repo)));
    expect(evaluated).toEqual(items.filter(({ repo }) => evaluatedOn.has(repo)));
  });

  for (const task of tasks) {
    it.each(Object.entries(task.evidence))(
      `${task.id}: %s holds what the task says it holds`,
      async (path, text) => {
        expect(await readFile(new URL(`${task.repo}/${path}`, sources), 'utf8')).toContain(text);
      },
    );
  }
});
