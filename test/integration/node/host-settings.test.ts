import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chmodSync, existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { goInside } from '#test/support/inside.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/** What the owner of this machine might have written for all its users, under a name that nobody else has. */
const mark = `corral-test-${process.pid}`;
const settings = '/usr/local/etc';
const share = `/usr/local/share/${mark}`;
const secret = `token-${mark}`;
/** As Debian packages java: the program finds its settings by links into /etc. */
const ofJava = `/etc/java-${mark}`;

let node: TestNode;
let data: string;
beforeAll(async () => {
  await mkdir(settings, { recursive: true });
  await mkdir(join(share, '.aws'), { recursive: true });
  const files = [
    join(settings, mark),
    join(share, 'npmrc'),
    join(share, 'prod.secrets.yaml'),
    join(share, '.aws/config'),
  ];
  for (const file of files) await writeFile(file, secret);
  await writeFile(join(share, 'words.txt'), 'for everybody');
  await mkdir(join(ofJava, 'management'), { recursive: true });
  await writeFile(join(ofJava, 'jvm.cfg'), '-server KNOWN');
  await writeFile(join(ofJava, 'management/jmxremote.password'), secret);
  await symlink(join(ofJava, 'jvm.cfg'), join(share, 'jvm.cfg'));
  data = await mkdtemp(join(tmpdir(), 'corral-data-'));
  chmodSync(data, 0o755);
  await writeFile(join(data, 'npmrc'), 'the author’s own');
  // After they were written: it looks for them when it starts.
  node = await startNodeProcess();
});
afterAll(async () => {
  await node.stop();
  for (const path of [join(settings, mark), share, ofJava, data])
    await rm(path, { recursive: true, force: true });
});

it.each(['user', 'root'] as const)('settings of the host are empty for commands of %s', async (runAs) => {
  const inside = await goInside(node, { runAs });
  const { stdout } = await inside.sh(
    `cat ${share}/words.txt; find ${settings} ${share} -type f -size +0; grep -rl ${secret} ${settings} ${share}; touch ${settings}/x; echo x > ${share}/npmrc`,
  );
  await inside.leave();
  expect(stdout.head).toBe(`for everybody${share}/words.txt\n`);
});

it('programs of the host find their settings in /etc, without the secrets among them', async () => {
  const inside = await goInside(node, {});
  const { stdout } = await inside.sh(
    `cat ${share}/jvm.cfg; cd ${ofJava} && ls management; cat management/jmxremote.password; echo; perl -e 'print "port ", (getservbyname("http", "tcp"))[2]'; ls /etc/ssl/private /etc/shadow`,
  );
  await inside.leave();
  const port = existsSync('/etc/services') ? 'port 80' : 'port ';
  expect(stdout.head).toBe(`-server KNOWN\n${port}`);
});

it('what an author mounts among them is there, and nothing beside it', async () => {
  const inside = await goInside(node, {
    data: [
      { source: data, target: `${settings}/deep/data` },
      { source: data, target: share },
    ],
  });
  const { stdout } = await inside.sh(
    `cat ${settings}/deep/data/npmrc ${share}/npmrc; ls ${settings}; touch ${settings}/x 2>&1`,
  );
  await inside.leave();
  expect(stdout.head).toMatch(/^the author’s ownthe author’s owndeep\n.*Read-only file system\n$/);
});
