import { expect, it } from 'vitest';
import { fstabOf, stage } from './stage.ts';

it('every folder has a place of its own that all may enter, and all are one table of mounts', () => {
  expect(fstabOf(stage('/run/corral-a', 1024, ['/root/state/run', '/payload']))).toBe(
    [
      'corral-disk /run/corral-a/disk tmpfs size=1024,mode=0711,nosuid,nodev 0 0',
      'corral-pts /run/corral-a/pts devpts newinstance,ptmxmode=0666,mode=0620,max=32,nosuid,noexec 0 0',
      '/root/state/run /run/corral-a/0 none rbind 0 0',
      '/payload /run/corral-a/1 none rbind 0 0',
      '',
    ].join('\n'),
  );
});

it('a path with blanks, a backslash or a comment’s sign is still one word', () => {
  const [, , line] = fstabOf(stage('/s', 1, ['/my data\n#1\\x'])).split('\n');
  expect(line).toBe('/my\\040data\\012\\0431\\134x /s/0 none rbind 0 0');
});
