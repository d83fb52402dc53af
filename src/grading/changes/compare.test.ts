import { describe, expect, it, test } from 'vitest';
import { compare, staysInside, TooManyChanges } from './compare.ts';
import type { Listed } from './read-listing.ts';

const root: Listed = ['root', '/t', 0o755];
const file = (name: string, content: string, mode = 0o644): Listed => [
  'file',
  `/t/${name}`,
  mode,
  content.length,
  content,
];
const folder = (name: string, mode = 0o755): Listed => ['folder', `/t/${name}`, mode];
const link = (name: string, target: string): Listed => ['link', `/t/${name}`, target];

const usual = { mostFiles: 10, mostBytes: 1_000, mostPathBytes: 1_000 };
async function* listing(entries: readonly Listed[]) {
  yield root;
  yield* entries;
}
const compared = (image: readonly Listed[], policys: readonly Listed[], bounds = usual) =>
  compare(listing(image), listing(policys), bounds);
const pathsOf = async (image: readonly Listed[], policys: readonly Listed[]) => {
  const { removed, planned } = await compared(image, policys);
  return { removed, written: planned.map(({ kind, path }) => `${kind} ${path}`) };
};

describe('what differs', () => {
  const image = [
    file('a', '1'),
    folder('d'),
    file('d/x', '1'),
    file('d/y', '1'),
    file('d-e', '1'),
    link('l', 'a'),
  ];

  it('is nothing in equal listings', async () => {
    expect(await compared(image, image)).toMatchObject({
      removed: [],
      planned: [],
      leftOut: [],
    });
  });

  it('is what is new, changed or gone, in the order of a walk', async () => {
    const policys = [file('a', '2'), folder('d'), file('d/x', '1', 0o755), file('d-e', '1'), file('n', '')];
    expect(await pathsOf(image, policys)).toEqual({
      removed: ['/t/d/y', '/t/l'],
      written: ['file /t/a', 'file /t/d/x', 'file /t/n'],
    });
  });

  it('is a folder as one if it is gone with all that was in it, and not its neighbor of a longer name', async () => {
    expect(await pathsOf(image, [file('a', '1'), link('l', 'a')])).toEqual({
      removed: ['/t/d', '/t/d-e'],
      written: [],
    });
  });

  it('is removed first if its kind is another', async () => {
    const policys = [folder('a'), file('a/in', 'x'), file('d', 'x'), file('d-e', '1'), file('l', 'x')];
    expect(await pathsOf(image, policys)).toEqual({
      removed: ['/t/a', '/t/d', '/t/l'],
      written: ['folder /t/a', 'file /t/a/in', 'file /t/d', 'file /t/l'],
    });
  });

  it('has no set-user-id, and a set-user-id alone is no change', async () => {
    const { planned } = await compared([file('a', '1')], [file('a', '1', 0o4644), file('b', '1', 0o6755)]);
    expect(planned).toMatchObject([{ path: '/t/b', mode: 0o755 }]);
  });

  it('leaves out links that lead out, devices and closed files, and what they replaced is gone', async () => {
    const policys: readonly Listed[] = [
      ['other', '/t/a', 0o644],
      ['closed', '/t/d', 0o600],
      link('d-e', '/etc/passwd'),
      link('l', '../../x'),
    ];
    expect(await compared(image, policys)).toMatchObject({
      removed: ['/t/a', '/t/d', '/t/d-e', '/t/l'],
      planned: [],
      leftOut: ['/t/a', '/t/d', '/t/d-e -> /etc/passwd', '/t/l -> ../../x'],
    });
  });
});

test.each([
  ['files', { mostFiles: 2 }, [file('a', ''), file('b', ''), file('c', '')]],
  ['bytes', { mostBytes: 20 }, [file('a', 'x'.repeat(30))]],
  ['links out', { mostFiles: 2 }, [link('a', '/x'), link('b', '/x'), link('c', '/x')]],
  ['bytes of names', { mostPathBytes: 50 }, [file('a'.repeat(60), '')]],
])('more %s than are allowed end the comparison', async (_what, bounds, policys) => {
  await expect(compared([], policys, { ...usual, ...bounds })).rejects.toThrow(TooManyChanges);
});

test('a comparison that ends early lets go of the listing of the policy', async () => {
  let isOver = false;
  async function* endless(): AsyncGenerator<Listed> {
    try {
      yield root;
      for (let each = 0; ; each += 1) yield file(`f${String(each).padStart(9, '0')}`, '');
    } finally {
      isOver = true;
    }
  }
  await expect(compare(listing([]), endless(), usual)).rejects.toThrow(TooManyChanges);
  expect(isOver).toBe(true);
});

test.each([
  ['a', true],
  ['./a', true],
  ['../x', true],
  ['..', true],
  ['/t/a', true],
  ['/t', true],
  ['../../x', false],
  ['/tx', false],
  ['/etc', false],
  ['/t/../etc', false],
  ['a/../../..', false],
  ['a/../b', false],
  ['', false],
  ['/', false],
])('a link in a folder to %j stays inside: %s', (target, inside) => {
  expect(staysInside('/t/d/link', target, ['/t'])).toBe(inside);
});
