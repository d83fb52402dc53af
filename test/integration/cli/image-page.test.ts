import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseImageConfig, readImageConfig } from '#services/node/image/image-config.ts';
import { savedImage, tarOf } from '#test/builders/image-archive.ts';

// What the pages show for keeping an image's configuration runs as it is shown, with a `docker` that has one image.

const repository = join(import.meta.dirname, '../../..');
const pageText = (page: string) => readFileSync(join(repository, 'docs', page), 'utf8');
const blocksOf = (page: string, language: string) =>
  [...pageText(page).matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
const aboutImages = (page: string) =>
  blocksOf(page, 'sh').flatMap((block) => {
    const lines = block.split('\n').filter((line) => /docker|corral -- image|^mkdir/.test(line));
    return lines.some((line) => line.includes('docker')) ? [lines.join('\n')] : [];
  });

const Config = { Env: ['A=1'], WorkingDir: '/app', User: 'dev' };
const layer = tarOf({ path: 'app/task', text: 'task\n' });

/** Its archives are files next to it. */
const docker = `#!/bin/sh
case $1 in
  save) cp "$(dirname "$0")/saved.tar" "$4" ;;
  create) echo 5d1f ;;
  export) [ "$2" = 5d1f ] && cat "$(dirname "$0")/layer.tar" ;;
  inspect) cat "$(dirname "$0")/inspected.json" ;;
esac
`;

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'corral-page-'));
  for (const folder of ['bin', 'tasks']) mkdirSync(join(base, folder));
  const files = {
    docker,
    npm: `#!/bin/sh\nshift 3\nexec "${process.execPath}" "${repository}/cli/main.ts" "$@"\n`,
    'saved.tar': savedImage({ config: Config }, [layer]),
    'layer.tar': layer,
    'inspected.json': JSON.stringify([{ Id: 'sha256:1', Config }]),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(base, 'bin', name), content);
  for (const program of ['docker', 'npm']) chmodSync(join(base, 'bin', program), 0o755);
});
afterEach(() => rmSync(base, { recursive: true }));

describe.each([
  ['environments/images.md', 'fix-git', 2],
  ['clients/harbor.md', 'NAME', 1],
])('the commands of %s', (page, name, count) => {
  test('keep the files of an image and its ENV, WORKDIR and USER', () => {
    const scripts = aboutImages(page);
    expect(scripts).toHaveLength(count);
    for (const script of scripts) {
      const env = { PATH: `${join(base, 'bin')}:${process.env['PATH'] ?? ''}` };
      const ours = script.replaceAll('/srv/tasks', join(base, 'tasks'));
      const ran = spawnSync('sh', ['-eu', '-c', ours], { cwd: base, env, encoding: 'utf8' });
      expect([ran.status, ran.stderr]).toEqual([0, expect.anything()]);
      const folder = join(base, 'tasks', name);
      expect(readFileSync(join(folder, 'app/task'), 'utf8')).toBe('task\n');
      expect(readImageConfig(folder)).toEqual({ env: { A: '1' }, workdir: '/app', user: 'dev' });
      for (const made of [folder, `${folder}.config.json`]) rmSync(made, { recursive: true });
    }
  });
});

test('the configuration that environments/images.md shows can be used', () => {
  const shown = blocksOf('environments/images.md', 'json').filter((block) => block.includes('WorkingDir'));
  expect(shown.map(parseImageConfig)).toEqual([
    { env: { PATH: '/opt/venv/bin:/usr/bin:/bin' }, workdir: '/app', user: 'dev' },
  ]);
});
