import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

/** A developer's request about one repository, and the truth that the policies never see. */
export type Task = {
  readonly id: string;
  readonly repo: string;
  readonly request: string;
  /** Each file that the change must touch, with text that is in it today. Paths are relative to the repository. */
  readonly evidence: Readonly<Record<string, string>>;
};

/** The dataset row as a training job sends it with every call. `files` and `main` are for the grader only. */
export type TaskItem = {
  readonly id: string;
  readonly repo: string;
  readonly request: string;
  readonly files: readonly string[];
  /** The first of them, as it is named in the sandbox: whoever answers has looked at it, or has guessed. */
  readonly main: string;
};

/** In this order one task of each is taken before the second of any, so that a small demo still sees many packages. */
export const repositories = [
  'fastify',
  'bullmq',
  'ioredis',
  'undici',
  'pino',
  'commander',
  'light-my-request',
  'yaml',
  'avvio',
  'prom-client',
  'find-my-way',
  'ajv',
] as const;

/** Every task, repositories taken in turns. Throws when a file of this folder is not in the shape of a task list. */
export async function loadTasks(): Promise<readonly Task[]> {
  return inTurns(await Promise.all(repositories.map(tasksOf)));
}

export function itemOf({ id, repo, request, evidence }: Task): TaskItem {
  const files = Object.keys(evidence);
  return { id, repo, request, files, main: `repo/${files[0] ?? ''}` };
}

async function tasksOf(repo: string): Promise<readonly Task[]> {
  const rows: unknown = parse(await readFile(new URL(`${repo}.yaml`, import.meta.url), 'utf8'));
  if (!Array.isArray(rows)) throw new TypeError(`demo/tasks/${repo}.yaml: a list of tasks is expected`);
  return rows.map((row: unknown) => checkedTask(repo, row));
}

function checkedTask(repo: string, row: unknown): Task {
  if (isRow(row)) return { id: row.id, repo, request: row.request.trim(), evidence: row.files };
  throw new TypeError(`demo/tasks/${repo}.yaml: a task has id, request and files (path: evidence), all text`);
}

type Row = { readonly id: string; readonly request: string; readonly files: Record<string, string> };

function isRow(row: unknown): row is Row {
  if (typeof row !== 'object' || row === null) return false;
  const { id, request, files } = row as Partial<Record<keyof Row, unknown>>;
  return typeof id === 'string' && typeof request === 'string' && isTextMap(files);
}

function isTextMap(value: unknown): value is Record<string, string> {
  if (typeof value !== 'object' || value === null) return false;
  const texts: readonly unknown[] = Object.values(value);
  return texts.length > 0 && texts.every((text) => typeof text === 'string');
}

function inTurns(lists: readonly (readonly Task[])[]): readonly Task[] {
  const rounds = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: rounds }, (_, round) => lists.flatMap((list) => list[round] ?? [])).flat();
}
