import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeFile } from '#infra/payload/native/compile.ts';
import { idMap } from '#services/node/bwrap/shifted-ids.ts';

const program = nativeFile('mount-root', process.arch);
const base = 0x7000_0000;
const ids = (user: number) => `${base} "${idMap(base, user)}" "${idMap(base, user)}"`;

let stage: string;
beforeAll(() => (stage = mkdtempSync(join(tmpdir(), 'corral-stage-'))));
afterAll(() => rmSync(stage, { recursive: true }));

/** Runs a script in a mount namespace of its own, with a stage that has an image, and prints what it says on both streams. */
function onStage(script: string): string {
  const image =
    'mkdir -p image-of-a-task/home skeleton/run; echo words > image-of-a-task/words; echo gone > image-of-a-task/gone; touch image-of-a-task/far';
  const owners = 'chown 1000:1000 image-of-a-task/home; chown 70000 image-of-a-task/far';
  const folders = 'mkdir skeleton disk root grader';
  const text = `exec 2>&1; set -e; mount -t tmpfs stage ${stage}; cd ${stage}; ${folders}; ${image}; ${owners}\n${script}`;
  return spawnSync('unshare', ['--mount', '--', 'sh', '-c', text], { encoding: 'utf8' }).stdout;
}

const mountedFor = (user: number) => `"${program}" ${ids(user)} "$PWD/image-of-a-task" "$PWD"`;
const mounted = mountedFor(1000);

/** What is below a root in which nothing was changed. */
const given = (root: string) => [`${root}/words:words`, `${root}/gone:gone`, `${root}/home`];

/** Mounts so many layers, each with a file of its own, and counts what is in the root. */
const layersOf = (count: number) =>
  `layers=; for i in $(seq ${count}); do mkdir l$i; touch l$i/f$i; layers="$layers\${layers:+
}$PWD/l$i"; done; "${program}" ${ids(1000)} "$layers" "$PWD"; ls root | wc -l`;

describe('mount-root', () => {
  it('the owners of an image are ids of the sandbox, and others belong to no one', () => {
    const seen = onStage(`${mounted}; stat -c %u root root/words root/home root/run grader/home root/far`);
    expect(seen.trim().split('\n').map(Number)).toEqual([base, base, base + 1000, 0, base + 1000, 65_534]);
  });

  it('the image’s user and 1000 change places', () => {
    const files = 'chown 33:33 image-of-a-task/words; chown 1000:33 image-of-a-task/gone';
    const seen = onStage(`${files}; ${mountedFor(33)}; stat -c '%u %g' root/words root/gone root/home root`);
    const owned = seen
      .trim()
      .split(/\s/)
      .map((each) => Number(each) - base);
    expect(owned).toEqual([1000, 1000, 33, 1000, 33, 33, 0, 0]);
  });

  it('what is written to the root is on the disk, and neither in the image nor in the root of graders', () => {
    const change = 'echo new > root/words; rm root/gone; mv root/home root/house; mv root/words root/house/';
    const seen = onStage(`${mounted}; ${change}
      for each in root grader image-of-a-task; do grep -r . $each; ls -d $each/ho*; done; ls disk
      touch grader/x || :`);
    expect(seen.trim().split('\n').toSorted()).toEqual(
      [
        'root/house/words:new',
        'root/house',
        '0',
        'upper',
        'work',
        ...given('grader'),
        ...given('image-of-a-task'),
        "touch: cannot touch 'grader/x': Read-only file system",
      ].toSorted(),
    );
  });

  it('the uppermost layer comes first, and all sandboxes share each', () => {
    const layers = 'mkdir upper; echo above > upper/words; mknod upper/gone c 0 0';
    const seen = onStage(`${layers}; "${program}" ${ids(1000)} "$PWD/upper
$PWD/image-of-a-task" "$PWD"; cat root/words grader/words; ls root/gone || :; ls root/home -d; ls disk`);
    expect(seen.trim().split('\n')).toEqual([
      'above',
      'above',
      "ls: cannot access 'root/gone': No such file or directory",
      'root/home',
      '0',
      '1',
      'upper',
      'work',
    ]);
  });

  it('takes 128 layers and refuses more', () => {
    // With the folder of the skeleton.
    expect(onStage(layersOf(128))).toBe('129\n');
    expect(onStage(`${layersOf(129)} || :`)).toBe('mount-root: too many layers: error 27\n');
  });

  it('leaves no process of its own', () => {
    expect(onStage(`unshare --pid --fork --mount-proc sh -c '${mounted}; ls -d /proc/[0-9]*'`)).toBe(
      '/proc/1\n',
    );
  });

  it.each([
    [
      'an image that does not exist',
      `"${program}" ${ids(1000)} "$PWD/none" "$PWD"`,
      'mount-root: layer: error 2',
    ],
    [
      'arguments that are missing',
      `"${program}" ${base}`,
      'mount-root: BASE, USERS, GROUPS, LAYERS and STAGE are needed: error 22',
    ],
    [
      'a file system whose owners cannot be shifted',
      `mkdir other; mount -t overlay -o ro,lowerdir=image-of-a-task:skeleton other other; "${program}" ${ids(1000)} "$PWD/other" "$PWD"`,
      'mount-root: owners: error 22',
    ],
  ])('fails and says why with %s', (_what, script, reason) => {
    expect(onStage(`${script} || echo "exit $?"`)).toBe(`${reason}\nexit 1\n`);
  });
});
