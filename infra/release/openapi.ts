import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** Starts the fleet that is about to be published, and writes what its gateway says of its addresses. */
export async function writeOpenapi(distribution: string, file: string): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), 'corral-openapi-'));
  const up = ['up', '--json', '--port', '0', '--state', state, '--environments'];
  const fleet = spawn(
    process.execPath,
    [join(distribution, 'corral.mjs'), ...up, join(distribution, 'environments')],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = once(fleet, 'exit');
  const said = text(fleet.stderr);
  try {
    const url = await urlOf(createInterface({ input: fleet.stdout }), ended);
    if (url === null) throw new Error(`the fleet that is to be published does not start:\n${await said}`);
    const document: unknown = await (await fetch(`${url}/openapi.json`)).json();
    await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
  } finally {
    fleet.kill('SIGTERM');
    await ended;
    await rm(state, { recursive: true, force: true });
  }
}

async function urlOf(lines: AsyncIterable<string>, ended: Promise<unknown>): Promise<string | null> {
  const first = async () => {
    for await (const line of lines) return line;
    return null;
  };
  const line = await Promise.race([first(), ended.then(() => null)]);
  return line === null ? null : (JSON.parse(line) as { readonly gatewayUrl: string }).gatewayUrl;
}
