import { once } from 'node:events';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sandboxAddress } from '#src/model/rollout.ts';
import { createPools } from './connections.ts';

let folder: string;
let server: Server;
let asked: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-connect-'));
  asked = 0;
  server = createServer((_, response) => {
    asked += 1;
    response.end('heard');
  });
  server.listen(join(folder, 'node.sock'));
  await once(server, 'listening');
});
afterEach(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

/** What somebody who is told this address hears. */
async function ask(path: string): Promise<string> {
  const pools = createPools({ connectTimeoutMs: 1000 });
  const { dispatcher } = pools.lease(sandboxAddress(`unix:${path}`));
  try {
    const { body } = await dispatcher.request({ method: 'GET', path: '/' });
    return await body.text();
  } finally {
    await pools.close();
  }
}

it('a socket is spoken to', async () => {
  expect(await ask(join(folder, 'node.sock'))).toBe('heard');
});

it('a link to somebody else’s socket is refused, and that one is not asked', async () => {
  await symlink('node.sock', join(folder, 'd.sock'));
  await expect(ask(join(folder, 'd.sock'))).rejects.toThrow(/something else was put in its place/);
  expect(asked).toBe(0);
});

it('so is a file, and nothing at all', async () => {
  await writeFile(join(folder, 'd.sock'), '');
  await expect(ask(join(folder, 'd.sock'))).rejects.toThrow(/something else/);
  await rename(join(folder, 'd.sock'), join(folder, 'e.sock'));
  await expect(ask(join(folder, 'd.sock'))).rejects.toThrow(/ENOENT/);
});
