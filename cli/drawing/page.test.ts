import { expect, test } from 'vitest';
import { figure, pageOf } from './page.ts';

test('a page shows characters that would turn its text around', () => {
  const page = pageOf('a\u202Eb', [figure('title', 'note', '<svg><text>\u2066c</text></svg>')]);
  expect(page).toContain(String.raw`<title>a\u202eb</title>`);
  expect(page).toContain(String.raw`<text>\u2066c</text>`);
});
