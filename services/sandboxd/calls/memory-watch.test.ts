import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryBetweenCalls } from './memory-watch.ts';

let folder: string;
let account: MemoryBetweenCalls;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-memory-watch-'));
  count({ oom: 0, kills: 0 });
  account = new MemoryBetweenCalls({ kills: join(folder, 'memory.events'), limitAlsoAbove: false });
  account.begin();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** As the kernel's second version does: `oom` counts what the group's own limit refused. */
function count({ oom, kills }: { readonly oom: number; readonly kills: number }): void {
  writeFileSync(join(folder, 'memory.events'), `oom ${oom}\noom_kill ${kills}\n`);
}

const nothing = { count: 0, lackedBy: null } as const;

it('every call after a kill for the machine between two calls reports it', () => {
  expect(account.isDisturbed).toBe(false);
  count({ oom: 0, kills: 1 });
  expect(account.isDisturbed).toBe(true);
  account.enter();
  expect(account.isDisturbed).toBe(true);
  expect(account.toldWith(nothing)).toEqual({ count: 1, lackedBy: 'machine' });
  account.leave();
  account.enter();
  expect(account.toldWith(nothing)).toMatchObject({ lackedBy: 'machine' });
});

it('a kill at the sandbox’s own limit between two calls is the policy’s, and no call reports it', () => {
  count({ oom: 1, kills: 1 });
  expect(account.isDisturbed).toBe(false);
  account.enter();
  expect(account.toldWith(nothing)).toBe(nothing);
});

it('kills while calls run are left to them', () => {
  account.enter();
  account.enter();
  count({ oom: 0, kills: 1 });
  account.leave();
  account.enter();
  const own = { count: 2, lackedBy: 'sandbox' } as const;
  expect(account.toldWith(own)).toBe(own);
});

it('kills before the bind are no rollout’s', () => {
  const unbound = new MemoryBetweenCalls({ kills: join(folder, 'memory.events'), limitAlsoAbove: false });
  count({ oom: 0, kills: 1 });
  unbound.enter();
  expect(unbound.toldWith(nothing)).toBe(nothing);
});
