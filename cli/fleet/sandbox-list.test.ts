import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listLocalSandboxes } from './sandbox-list.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-list-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function record(id: string, text: string) {
  mkdirSync(join(folder, 'sandboxes', id), { recursive: true });
  writeFileSync(join(folder, 'sandboxes', id, 'record.json'), text);
}

test('no sandbox yet is an empty list', async () => {
  expect(await listLocalSandboxes(folder)).toEqual([]);
});

test('records are listed with their owner; one that is half written or has no process is left out', async () => {
  const owner = { tenant: 't', run: 'r', rollout: 'x', attempt: 1, role: 'policy' };
  record('a', JSON.stringify({ sandbox: 'a', init: { pid: 12 }, owner, more: 'fields' }));
  record('b', JSON.stringify({ sandbox: 'b', init: { pid: 13 }, owner: null }));
  record('c', '{"sandbox": "c", "pi');
  record('d', JSON.stringify({ sandbox: 'd', init: null }));
  expect(await listLocalSandboxes(folder)).toEqual([
    { sandbox: 'a', pid: 12, owner },
    { sandbox: 'b', pid: 13, owner: null },
  ]);
});
