import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseImageConfig, readImageConfig } from './image-config.ts';

const config = { Env: ['PATH=/x:/bin', 'EMPTY=', 'EQUAL=a=b'], WorkingDir: '/srv/app/', User: 'dev:staff' };
const parsed = { env: { PATH: '/x:/bin', EMPTY: '', EQUAL: 'a=b' }, workdir: '/srv/app', user: 'dev:staff' };
const nothing = { env: {}, workdir: null, user: '' };

describe('parseImageConfig', () => {
  it('writes nothing that a terminal would obey', () => {
    expect(() => parseImageConfig(JSON.stringify({ config: { WorkingDir: 'a\u009b2J\u202e' } }))).toThrow(
      'its WorkingDir "a?2J?" is not absolute',
    );
  });

  it.each([
    ['an OCI image configuration', { architecture: 'amd64', rootfs: {}, config }],
    ['docker inspect', [{ Id: 'sha256:1', RootFS: {}, Config: config }]],
    ['one image of docker inspect', { Id: 'sha256:1', Config: config }],
    ['the bare Config', config],
  ])('reads %s', (_form, value) => {
    expect(parseImageConfig(JSON.stringify(value))).toEqual(parsed);
  });

  it.each([
    ['that sets nothing', { config: {} }],
    ['that has no config', { rootfs: { type: 'layers' } }],
    ['whose fields are empty', { Config: { Env: null, WorkingDir: '', User: '', Cmd: null } }],
    ['that works in the root', { Config: { WorkingDir: '/' } }],
  ])('reads an image %s as one that says nothing', (_what, value) => {
    expect(parseImageConfig(JSON.stringify(value))).toEqual(nothing);
  });

  it.each([
    ['{', /JSON/],
    ['"text"', /neither an OCI image configuration/],
    ['{}', /neither an OCI image configuration/],
    ['{"manifests": []}', /neither an OCI image configuration/],
    ['[]', /describes 0 images/],
    ['[{"Config": {}}, {"Config": {}}]', /describes 2 images/],
    ['{"Config": {"Env": {"A": "1"}}}', /Env is not a list/],
    ['{"Config": {"Env": ["A"]}}', /has "A", which is not NAME=VALUE/],
    ['{"Config": {"Env": ["=1"]}}', /not NAME=VALUE/],
    [String.raw`{"Config": {"Env": ["A=\u0000"]}}`, /Env is not a text/],
    [String.raw`{"Config": {"WorkingDir": "/a\u0000--bind"}}`, /WorkingDir is not a text/],
    ['{"Config": {"WorkingDir": "app"}}', /WorkingDir "app" is not absolute/],
    ['{"Config": {"User": 0}}', /User is not a text/],
    [JSON.stringify({ Env: [`A=${'x'.repeat(70_000)}`] }), /more than 65536 bytes/],
  ])('says what is wrong with %.40s', (text, reason) => {
    expect(() => parseImageConfig(text)).toThrow(reason);
  });
});

describe('readImageConfig', () => {
  let folder: string;
  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'corral-image-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('finds the file next to the folder, however that is written, and null if there is none', () => {
    writeFileSync(join(folder, 'task.config.json'), JSON.stringify(config));
    expect(readImageConfig(join(folder, 'task'))).toEqual(parsed);
    expect(readImageConfig(`${join(folder, 'task')}/`)).toEqual(parsed);
    expect(readImageConfig(join(folder, 'other'))).toBeNull();
  });

  it.each(['broken', 'folder'])('fails the start with the file, the reason and what to do: %s', (name) => {
    writeFileSync(join(folder, 'broken.config.json'), 'not json');
    mkdirSync(join(folder, 'folder.config.json'), { recursive: true });
    const words = new RegExp(`${name}.config.json.*(JSON|EISDIR).*corral image unpack`);
    expect(() => readImageConfig(join(folder, name))).toThrow(
      expect.objectContaining({ code: 'start_failed', message: expect.stringMatching(words) as string }),
    );
  });
});
