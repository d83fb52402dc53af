import { expect, test } from 'vitest';
import { userOf } from './whose.ts';

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:3355 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0
   1: 0100007F:B2E0 011F007F:3355 01 00000000:00000000 02:00000A3D 00000000 101001        0 4712 2 0
   2: 011F007F:3355 0100007F:B2E0 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0
`;

test('the user of a connection stands at its own end, not at the other one', () => {
  expect(userOf(table, '0100007F:B2E0')).toBe(101_001);
  expect(userOf(table, '011F007F:3355')).toBe(0);
  expect(userOf(table, '0100007F:B2E1')).toBeNull();
});
