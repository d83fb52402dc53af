import { describe, expect, it } from 'vitest';
import { type Entry, layOutRoot } from './root-layout.ts';

const tree: Readonly<Record<string, readonly Entry[]>> = {
  '/root-of-it': [
    { name: 'bin', kind: 'link', to: 'usr/bin' },
    { name: 'usr', kind: 'folder' },
    { name: 'opt', kind: 'folder' },
    { name: 'tmp', kind: 'folder' },
    { name: 'init', kind: 'file' },
  ],
  '/root-of-it/opt': [
    { name: 'tool', kind: 'folder' },
    { name: 'corral', kind: 'folder' },
  ],
};
const list = (path: string) => tree[path] ?? [];

describe('layOutRoot', () => {
  it('binds folders and files, and keeps links as links', () => {
    expect(layOutRoot('/root-of-it', ['/tmp'], list)).toEqual([
      { kind: 'link', to: 'usr/bin', target: '/bin' },
      { kind: 'bind', source: '/root-of-it/usr', target: '/usr' },
      { kind: 'bind', source: '/root-of-it/opt', target: '/opt' },
      { kind: 'bind', source: '/root-of-it/init', target: '/init' },
    ]);
  });

  it('makes a folder again where something is mounted inside it', () => {
    const steps = layOutRoot('/root-of-it', ['/opt/corral'], list);
    expect(steps.filter(({ target }) => target.startsWith('/opt'))).toEqual([
      { kind: 'folder', target: '/opt' },
      { kind: 'bind', source: '/root-of-it/opt/tool', target: '/opt/tool' },
    ]);
  });

  it.each(['/bin/data', '/init/data'])('refuses a mount at %s, below what is no folder', (target) => {
    expect(() => layOutRoot('/root-of-it', [target], list)).toThrow(
      expect.objectContaining({ code: 'start_failed', message: expect.stringContaining(target) as string }),
    );
  });
});
