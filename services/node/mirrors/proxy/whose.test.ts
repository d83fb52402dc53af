import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { whoseConnection } from './whose.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (ends: string, uid: number, inode = 4712) =>
  `   1: ${ends} 01 00000000:00000000 02:00000A3D 00000000 ${uid}        0 ${inode} 2 0\n`;

const grader = 101_001;
const ends = {
  remoteAddress: '::ffff:127.0.0.1',
  remotePort: 0xb2e0,
  localAddress: '::ffff:127.0.31.1',
  localPort: 0x3355,
};

/** Whose the connection is by a table with these rows. */
function whose(rows: string, rows6 = '') {
  const folder = mkdtempSync(join(tmpdir(), 'corral-whose-'));
  const tables = [rows, rows6].map((text, index) => {
    writeFileSync(join(folder, `${index}`), head + text);
    return openSync(join(folder, `${index}`), 'r');
  });
  try {
    return whoseConnection(tables, grader, ends);
  } finally {
    tables.forEach((each) => closeSync(each));
    rmSync(folder, { recursive: true });
  }
}

test("a connection is the user's at its own end, not at the other one", () => {
  expect(whose(row('011F007F:3355 0100007F:B2E0', 0) + row('0100007F:B2E0 011F007F:3355', grader))).toBe(
    'grader',
  );
  expect(whose(row('0100007F:B2E0 011F007F:3355', 101_002))).toBe('policy');
});

test("a grader's connection from the same port to another server does not count", () => {
  const graders = row('0100007F:B2E0 021F007F:3355', grader);
  expect(whose(graders + row('0100007F:B2E0 011F007F:3355', 101_002))).toBe('policy');
  expect(whose(graders)).toBe('unknown');
});

test('a connection that its program has closed has no known user', () => {
  expect(whose(row('0100007F:B2E0 011F007F:3355', 0, 0))).toBe('unknown');
});

test('a program that uses IPv6 for both is found', () => {
  const mapped = '0000000000000000FFFF0000';
  expect(whose('', row(`${mapped}0100007F:B2E0 ${mapped}011F007F:3355`, grader))).toBe('grader');
});

test('a table of many pieces is read to its end', () => {
  const others = Array.from({ length: 5_000 }, (_, index) => row(`0200007F:${index} 011F007F:3355`, 1)).join(
    '',
  );
  expect(whose(others + row('0100007F:B2E0 011F007F:3355', grader))).toBe('grader');
});
