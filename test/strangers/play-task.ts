import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { HttpClient } from '#cli/gateway/http-client.ts';
import { type Kind, playControl, playIn, type Shown } from '#cli/preflight/task/play-control.ts';
import { readTask, type Task } from '#cli/preflight/task/read-task.ts';
import { openContainer } from './container-place.ts';
import type { Engine } from './engine.ts';
import type { Row } from './table.ts';

/** `rootOf`: the folder with a task's built root. `work`: a folder for the containers' own files. */
export type Places = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly rootOf: (task: string) => string;
  readonly imageOf: Engine['imageOf'];
  readonly work: string;
};

/** Plays a task's solution and an agent that does nothing, each in a fresh container and in a fresh sandbox over the same root. */
export async function playTask(places: Places, folder: string): Promise<Row> {
  const name = basename(folder);
  const root = places.rootOf(name);
  if (!existsSync(root)) return { name, reason: `there is no root ${root}` };
  const { task, unmet } = readTask(folder, await places.imageOf(root, name));
  if (task === null) return { name, reason: unmet.map(({ requirement }) => requirement).join(', ') };
  if (!task.hasSolution) return { name, reason: 'it has no solution' };
  const inContainer = await playBoth((kind) => playInContainer(places, task, root, kind));
  const inSandbox = await playBoth((kind) => playInSandbox(places, task, kind));
  return { name, inContainer, inSandbox };
}

type Both = Readonly<Record<Kind, Shown>>;

const playBoth = async (play: (kind: Kind) => Promise<Shown>): Promise<Both> => ({
  nop: await play('nop'),
  solution: await play('solution'),
});

async function playInContainer({ work }: Places, task: Task, root: string, kind: Kind): Promise<Shown> {
  const container = await openContainer(task, root, work);
  try {
    return await playIn(container, task, kind);
  } finally {
    await container.close();
  }
}

/** What the gateway refuses is an end of the play, and the next task is played. */
async function playInSandbox(places: Places, task: Task, kind: Kind): Promise<Shown> {
  try {
    return await playControl({ ...places, task, rolloutId: randomUUID() }, kind);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { state: 'failed', detail, reward: null, verifierTookMs: 0 };
  }
}
