import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { places } from '#services/node/bwrap/places.ts';
import { payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { goInside, type Inside } from '#test/support/inside.ts';
import { type PackageMirror, startPackageMirror } from '#test/support/package-mirror.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

/*
 * Package managers in a sandbox with `network: {mirrors: …}` install from the registries that the operator allows, as they are: their
 * settings, the image's own sources of apt, links from one server to another.
 */

const npm = dirname(
  dirname(execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim()),
);

let mirror: PackageMirror;
let node: TestNode;
let inside: Inside;
beforeAll(async () => {
  mirror = await startPackageMirror();
  node = await startNodeProcess({ env: { CORRAL_PRIVATE_ADDRESSES: '127.0.0.1/32' } });
  inside = await goInside(node, {
    network: 'mirrors',
    mirrors: {
      pypi: [`${mirror.origin}/simple/`, `${mirror.files}/packages/`],
      npm: [`${mirror.origin}/`],
      debian: [`${mirror.origin}/debian/`],
    },
    memory: { requestBytes: 512 * mebibyte, limitBytes: 1024 * mebibyte },
    diskBytes: 128 * mebibyte,
    processes: 256,
    data: [{ source: npm, target: '/opt/npm' }],
  });
});
afterAll(async () => {
  await inside.leave();
  await node.stop();
  await mirror[Symbol.asyncDispose]();
});

const mebibyte = 1024 * 1024;

async function run(script: string): Promise<string> {
  const { ending, stdout, stderr } = await inside.run({ kind: 'exec', argv: ['sh', '-c', script] }, 60_000);
  expect({ ending, stderr: stderr.head }).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
  return stdout.head;
}

test('pip installs a wheel whose index is on one server and whose file is on another', async () => {
  const script =
    'python3 -m pip install --quiet --target lib toy && PYTHONPATH=lib python3 -c "import toy; print(toy.word)"';
  expect(await run(script)).toBe('works\n');
});

test('npm installs a tarball, also from a lock file that names the public registry', async () => {
  const node = payloadNodeArgv(places.payload).join(' ');
  const cli = `${node} /opt/npm/bin/npm-cli.js --no-audit --no-fund --no-update-notifier`;
  await run(
    `mkdir -p js && cd js && echo '{"name":"app","version":"1.0.0"}' > package.json && ${cli} install toy`,
  );
  expect(await run(`cd js && ${node} -p 'require("toy")'`)).toBe('works\n');
  const registry = `https://${['registry', 'npmjs', 'org'].join('.')}`;
  const relock = `sed -i 's|"resolved": "[^"]*/toy/-|"resolved": "${registry}/toy/-|' package-lock.json`;
  await run(`cd js && ${relock} && grep -q ${registry} package-lock.json && rm -r node_modules && ${cli} ci`);
  expect(await run(`cd js && ${node} -p 'require("toy")'`)).toBe('works\n');
});

test("apt gets the addresses in the image's own sources from the mirror", async () => {
  const folders = 'mkdir -p apt/lists/partial apt/cache/archives/partial && : > apt/status';
  const source = 'echo "deb [trusted=yes] http://deb.example/debian ./" > apt/sources.list';
  const options = [
    'Dir::Etc::sourcelist=$PWD/apt/sources.list',
    'Dir::Etc::sourceparts=-',
    'Dir::State::lists=$PWD/apt/lists',
    'Dir::State::status=$PWD/apt/status',
    'Dir::Cache=$PWD/apt/cache',
    'APT::Sandbox::User=',
  ].map((each) => `-o "${each}"`);
  const apt = `apt-get ${options.join(' ')}`;
  await run(`${folders} && ${source} && ${apt} update && ${apt} download toy`);
  expect(await run('dpkg-deb -f toy_1.0_all.deb Package')).toBe('toy\n');
});

test('a mirror gets no header of the sandbox by which it could know or credit it', async () => {
  await run(
    "python3 -c \"import os,urllib.request as r; r.urlopen(r.Request(os.environ['PIP_INDEX_URL'] + 'toy/', headers={'Authorization':'x','Cookie':'y','X-A':'z'})).read()\"",
  );
  expect(Object.keys(mirror.headers).toSorted()).toEqual([
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
});
