import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pythonPage, typescriptPage } from './page.ts';

const docs = join(import.meta.dirname, '../../docs/clients');

test.each([
  ['python', pythonPage],
  ['typescript', typescriptPage],
])('the page of the %s API has what the client exports', async (language, page) => {
  const written = await readFile(join(docs, `${language}-api.md`), 'utf8');
  const stale = `run node_modules/.bin/node tools/write-${language}-page.ts`;
  expect(written === page(), stale).toBe(true);
});

test('the Python page has every exported class, a default as its value, and no private member', () => {
  const page = pythonPage();
  expect(page).toContain('\n## Rollout\n');
  expect(page).toContain('patience_s: float = 900.0,');
  expect(page).not.toMatch(/^ +(?:async )?def _(?!_init__)/m);
});

test('the TypeScript page has a type from the file that the client exports it from', () => {
  const page = typescriptPage();
  expect(page).toContain('type Opened = {\n  readonly run: string;');
  expect(page).not.toContain('#private');
  expect(page).not.toContain('session: Session');
});
