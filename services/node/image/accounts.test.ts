import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findAccount, ownNames, ownUser, readAccountFiles, unusedIds, withOwnNames } from './accounts.ts';

const passwd = `root:x:0:0:root:/root:/bin/bash
broken
node:x:1000:1000::/home/node:/bin/sh
dev:x:1005:1005:Developer:/home/dev:/bin/bash
grader:x:1001:50::/srv/grader:/bin/sh
`;
const group = 'root:x:0:\nnode:x:1000:\ndev:x:1005:\nstaff:x:50:dev\ndocker:x:998:other,dev\n';
const files = { passwd, group };
const linesOf = (file = '') => file.trimEnd().split('\n');

it.each(['', 'root', '0', '0:0', 'root:staff'])('USER %j is the account of id 1000, as it is', (user) => {
  expect(findAccount(user, 'user', files)).toEqual({ home: '/home/node', ids: ownUser, files: {} });
});

it.each(['node', '1000', 'node:node'])('USER %j needs no other name', (user) => {
  expect(findAccount(user, 'user', files)).toEqual({ home: '/home/node', ids: ownUser, files: {} });
});

it.each(['dev', '1005', 'dev:dev', '1005:1005'])(
  'USER %j gets the id 1000 in exchange for its own, and stays a member of its groups',
  (user) => {
    const found = findAccount(user, 'user', files);
    expect(found).toMatchObject({ home: '/home/dev', ids: { uid: 1005, gid: 1005 } });
    expect(linesOf(found.files.passwd)).toEqual([
      'dev:x:1000:1000:Developer:/home/dev:/bin/bash',
      'root:x:0:0:root:/root:/bin/bash',
      'node:x:1005:1005::/home/node:/bin/sh',
      'grader:x:1001:50::/srv/grader:/bin/sh',
    ]);
    expect(linesOf(found.files.group)).toEqual([
      'dev:x:1000:',
      'root:x:0:',
      'node:x:1005:',
      'staff:x:50:dev',
      'docker:x:998:other,dev',
    ]);
  },
);

it('a group of the USER is its own, and an id that is a grader’s is changed like all others', () => {
  expect(linesOf(findAccount('dev:docker', 'user', files).files.group)[0]).toBe('docker:x:1000:other,dev');
  expect(linesOf(findAccount('grader', 'user', files).files.passwd)[0]).toBe(
    'grader:x:1000:1000::/srv/grader:/bin/sh',
  );
});

it('what belongs to root stays root’s, also where it is the primary group', () => {
  expect(findAccount('dev:root', 'user', files).ids).toEqual({ uid: 1005, gid: 1000 });
});

it('root has its own home where the environment runs commands as root, whatever the USER is', () => {
  expect(findAccount('dev', 'root', files)).toEqual({ home: '/root', ids: ownUser, files: {} });
});

it('an id without an account has a home of Corral’s, and a name without one fails the start', () => {
  const found = findAccount('4242', 'user', files);
  expect(found).toMatchObject({ home: '/home/policy', ids: { uid: 4242, gid: 1000 } });
  expect(linesOf(found.files.passwd)).toContain('node:x:4242:1000::/home/node:/bin/sh');
  const none = { passwd: '', group: '' };
  expect(findAccount('', 'user', none)).toEqual({ home: '/home/policy', ids: ownUser, files: {} });
  expect(() => findAccount('nobody-here', 'user', files)).toThrow(
    expect.objectContaining({
      code: 'start_failed',
      message: expect.stringContaining('User "nobody-here"') as string,
    }),
  );
});

it('a USER without an account is named without what a terminal would obey', () => {
  expect(() => findAccount('a\u009b2J', 'user', { passwd: '', group: '' })).toThrow('User "a?2J"');
});

it('accounts are never those of this machine: links out of the image are not followed', () => {
  const root = mkdtempSync(join(tmpdir(), 'corral-accounts-'));
  mkdirSync(join(root, 'etc'));
  symlinkSync('/etc/passwd', join(root, 'etc/passwd'));
  writeFileSync(join(root, 'etc/group'), group);
  symlinkSync('/etc', join(root, 'linked'));
  expect(readAccountFiles(root)).toEqual({ passwd: '', group });
  mkdirSync(join(root, 'other'));
  symlinkSync('/etc', join(root, 'other/etc'));
  expect(readAccountFiles(join(root, 'other'))).toEqual({ passwd: '', group: '' });
  rmSync(root, { recursive: true });
});

it('ids of a sandbox that have no name in an image get one, after the image’s own', () => {
  expect(withOwnNames({ passwd: 'root:x:0:0::/root:/bin/sh', group: '' })).toEqual({
    passwd: `root:x:0:0::/root:/bin/sh\n${ownNames.passwd.join('\n')}\n`,
    group: `${ownNames.group.join('\n')}\n`,
  });
  const named =
    'dev:x:1000:1000::/home/dev:/bin/sh\ngraders:x:1001:1001::/:/bin/sh\nasks:x:1002:1002::/:/bin/sh\n';
  expect(withOwnNames({ passwd: named, group: 'a:x:1000:\nb:x:1001:\nc:x:1002:\n' })).toEqual({
    passwd: named,
    group: 'a:x:1000:\nb:x:1001:\nc:x:1002:\n',
  });
});

it('graders and queries get ids that nothing of an image has', () => {
  const none = { passwd: '', group: '' };
  expect(unusedIds([0, 33], ownUser, none)).toEqual({ grader: 1001, queries: 1002 });
  expect(unusedIds([0, 1001], ownUser, none)).toEqual({ grader: 1002, queries: 60_100 });
  expect(
    unusedIds([60_100], ownUser, { passwd: 'a:x:1002:1001::/:/bin/sh\n', group: 'b:x:60101:\n' }),
  ).toEqual({
    grader: 60_102,
    queries: 60_103,
  });
  // The USER has the id 1001 in the image, so what belongs to 1000 there belongs to 1001 here.
  expect(unusedIds([1000], { uid: 1001, gid: 1001 }, none)).toEqual({ grader: 1002, queries: 60_100 });
});
