import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildPayload } from '#infra/payload/payload.ts';
import { commandNiceness } from '#services/sandboxd/command/enter.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/** Next to the payload as it is there is one whose sandboxd makes no command nicer: all that differs between their sandboxes. */
let folder: string;
let nodes: readonly TestNode[];
let behind: Inside;
let beside: Inside;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-payloads-'));
  const { dir } = await buildPayload(folder);
  const level = join(folder, 'level');
  await cp(dir, level, { recursive: true, verbatimSymlinks: true });
  await makeLevel(join(level, 'sandboxd'));
  const asItIs = await startNodeProcess();
  const onOneLevel = await startNodeProcess({ env: { CORRAL_PAYLOAD_DIR: level } });
  nodes = [asItIs, onOneLevel];
  [behind, beside] = await Promise.all([goInside(asItIs), goInside(onOneLevel)]);
});
afterAll(async () => {
  await Promise.all([behind.leave(), beside.leave()]);
  for (const node of nodes) await node.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Its commands get no niceness; whichever file of the bundle says so, it is one. */
async function makeLevel(code: string): Promise<void> {
  let changed = 0;
  for (const name of await readdir(code)) {
    if (!name.endsWith('.cjs')) continue;
    const text = await readFile(join(code, name), 'utf8');
    const level = text.replace(new RegExp(`(--nice.{1,20}?)\\b${commandNiceness}\\b`), '$10');
    if (level === text) continue;
    await writeFile(join(code, name), level);
    changed += 1;
  }
  expect(changed).toBe(1);
}

const output = async (script: string) => (await behind.sh(script)).stdout.head;

it('commands are nicer than sandboxd, and cannot take it back', async () => {
  expect(await output('nice; renice -n 0 -p $$ > /dev/null; nice')).toBe(
    `${commandNiceness}\n${commandNiceness}\n`,
  );
  // Of process 2, which is sandboxd: the 19th field of its row.
  expect(await output('cut -d " " -f 19 /proc/2/stat')).toBe('0\n');
});

const loops = 40;
const callsTimed = 3;

/** How long some empty commands take beside what the policy burns: sandboxd starts and ends each of them. */
async function msBesideLoops(inside: Inside): Promise<number> {
  await inside.sh(`for i in $(seq ${loops}); do (while :; do :; done) & done`);
  const startMs = performance.now();
  for (let calls = 0; calls < callsTimed; calls += 1) await inside.sh('true');
  const tookMs = performance.now() - startMs;
  await inside.sh('kill -9 -1');
  return tookMs;
}

/**
 * A tenth of the weight for each loop is an eighth of the time on a machine of their own. Other programs of the machine only add to
 * either, so the shortest of some alternating rounds counts.
 */
it('loops of the policy hold sandboxd up for half at most of what they would at its own priority', async () => {
  const besideMs: number[] = [];
  const behindMs: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    besideMs.push(await msBesideLoops(beside));
    behindMs.push(await msBesideLoops(behind));
  }
  expect(Math.min(...behindMs)).toBeLessThan(Math.min(...besideMs) / 2);
});
