import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { type HostParts, limitationsOf } from './limitations.ts';
import { chooseOwnIds, type OwnIds } from './own-ids.ts';

let stateFolder: string;
beforeEach(async () => {
  stateFolder = await mkdtemp(join(tmpdir(), 'corral-own-ids-'));
});
afterEach(() => rm(stateFolder, { recursive: true, force: true }));

/** A host where sandboxes can be made with shared ids only, as in a container without the right to mount /proc anew. */
const sharedOnly = async ({ idRanges }: OwnIds) => {
  if (idRanges !== null) throw new Error('cannot mount proc');
};

function choose(userNamespaces: 'auto' | 'require' | 'off', changes: { isRoot?: boolean } = {}) {
  const log = createFakeLog();
  const config = { stateFolder, userNamespaces };
  const options = {
    config,
    name: 'own-ids-test',
    isRoot: true,
    log,
    trial: sharedOnly,
    ...changes,
  };
  return { log, chosen: chooseOwnIds(options) };
}

const groups = { version: 'v1', limitations: [] } as const;
const memoryRoom = { percent: 100, read: () => ({ totalBytes: 1, availableBytes: 1 }) };
const kernelKills = { next: () => [], close: () => undefined };
const limitations = (host: Pick<HostParts, 'ids'> & Partial<HostParts>) =>
  limitationsOf({ groups, memoryRoom, kernelKills, ...host }).join(' ');

it('where no sandbox starts in a namespace of its own, the ids are shared and it is said why', async () => {
  const { log, chosen } = choose('auto');
  const ids = await chosen;
  expect(ids.idRanges).toBeNull();
  expect(limitations({ ids })).toMatch(/one user id .* could not be had: cannot mount proc/);
  expect(log.lines).toContainEqual(expect.objectContaining({ level: 'warn' }));
});

it('a node that requires them does not start there', async () => {
  await expect(choose('require').chosen).rejects.toThrow(/is require, but: cannot mount proc/);
});

it('nor does one that is not root', async () => {
  await expect(choose('require', { isRoot: false }).chosen).rejects.toThrow(/only root/);
});

it('where they are switched off, that is said too', async () => {
  const ids = await choose('off').chosen;
  expect(limitations({ ids })).toContain('CORRAL_NODE_USER_NAMESPACES is off');
});

it('a host that cannot tell whose want of memory a kill was for says so', async () => {
  const ids = await choose('off').chosen;
  expect(limitations({ ids })).toContain('whose want of memory');
  const counted = { version: 'v2', limitations: [] } as const;
  expect(limitations({ ids, groups: counted, kernelKills: null })).not.toContain('whose want of memory');
});
