import { expect, test } from 'vitest';
import { isPassedOver } from './search.ts';

test.each(['/proc', '/sys', '.git', 'repository/.git'])('a search does not enter %s', (path) => {
  expect(isPassedOver(path)).toBe(true);
});

test.each(['proc', 'src/sys', '/srv/proc', '/srv/.github'])('a search enters %s', (path) => {
  expect(isPassedOver(path)).toBe(false);
});
