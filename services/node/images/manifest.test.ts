import { expect, it } from 'vitest';
import { diffIdsOf } from './manifest.ts';

it('what an image says of its machine is written without what a terminal would obey', () => {
  const config = { os: 'linux\u009b2J', architecture: 'none', rootfs: { diff_ids: [] } };
  expect(() => diffIdsOf(JSON.stringify(config))).toThrow('it is made for "linux?2J/none"');
});
