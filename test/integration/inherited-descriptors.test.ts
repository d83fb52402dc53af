import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { expect, it } from 'vitest';
import { environmentFolder } from '../support/environment-folder.ts';

const module = join(import.meta.dirname, '../../src/platform/inherited-descriptors.ts');
const from = JSON.stringify(module);

/** Beyond those that Node itself marks at its start: all up to 15, and what follows them without a gap. */
const foreign = [18, 40, 251];

/** What a child of a process sees that was left with our folder `/` as these, after this beginning of its own. */
function seenByChild(beginning: string): readonly string[] {
  const root = openSync('/', 'r');
  const stdio = Array.from({ length: 252 }, (_, descriptor) =>
    descriptor < 3 ? 'pipe' : foreign.includes(descriptor) ? root : 'ignore',
  );
  const script = `
    import { spawnSync } from 'node:child_process';
    ${beginning}
    process.stdout.write(spawnSync('ls', ['/proc/self/fd']).stdout);
  `;
  // Without this machine's own certificates, which a thread may have open, unmarked, when `ls` is started.
  const env = { PATH: process.env['PATH'] };
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env,
    stdio,
  });
  closeSync(root);
  expect(stderr.toString()).toBe('');
  return stdout.toString().trim().split('\n');
}

it('what a process was left open by who started it reaches none of its children', () => {
  const seen = seenByChild(`
      import { closeInheritedDescriptors } from ${from};
      closeInheritedDescriptors();
    `);
  // The last one is the folder that ls itself reads.
  expect(seen).toEqual(['0', '1', '2', '3']);
});

it('certificates that Node reads in a thread of its own stay open until it has read them', async () => {
  await using folder = await environmentFolder({ 'ca.pem': `${rootCertificates.join('\n')}\n`.repeat(40) });
  const script = `
      import 'node:https';
      import { closeInheritedDescriptors } from ${from};
      closeInheritedDescriptors();
    `;
  const env = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: join(folder.path, 'ca.pem') };
  const said = Array.from({ length: 3 }, () =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script], { env }).stderr.toString(),
  );
  expect(said).toEqual(said.map(() => ''));
});

it('without that all of them do, which is how this test can tell', () => {
  expect(seenByChild('')).toEqual(expect.arrayContaining(foreign.map(String)));
});
