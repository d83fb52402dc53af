import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { withImage } from './on-cluster.ts';

it('changes where files come from, and nothing else of an environment', async () => {
  const path = new URL('../../environments/code-edit-planning.yaml', import.meta.url);
  const text = await readFile(path, 'utf8');
  const before = parse(text) as { sandbox: Record<string, unknown> };
  const { data, ...sandbox } = before.sandbox;
  expect(data).toBeInstanceOf(Array);
  expect(parse(withImage(text, 'example.com/demo:1'))).toEqual({
    ...before,
    sandbox: { ...sandbox, image: 'example.com/demo:1' },
  });
});
