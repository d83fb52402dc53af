import { expect, test } from 'vitest';
import { reachable, readRange } from './addresses.ts';

const isOpen = reachable([{ address: '10.3.0.0', prefix: 16 }], () => ['8.8.4.4', '2a00::7']);

test.each([
  ['1.1.1.1', true],
  ['2606:4700::1', true],
  ['127.0.0.1', false],
  ['127.9.9.9', false],
  ['0.0.0.0', false],
  ['10.0.0.1', false],
  ['10.3.9.1', true],
  ['::ffff:10.3.9.1', true],
  ['100.64.1.1', false],
  ['169.254.169.254', false],
  ['172.16.0.1', false],
  ['172.32.0.1', true],
  ['192.168.1.1', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['[::1]', false],
  ['::127.0.0.1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:7f00:1', false],
  ['0:0:0:0:0:ffff:7f00:0001', false],
  ['::ffff:1.1.1.1', true],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fd00::2', false],
  ['fe80::1', false],
  ['fe80::1%eth0', false],
  ['ff02::1', false],
  ['8.8.4.4', false],
  ['2a00::7', false],
  ['127.1', false],
  ['0x7f000001', false],
  ['localhost', false],
  ['', false],
])('an address of a mirror: %s, open: %j', (address, open) => {
  expect(isOpen(address)).toBe(open);
});

test.each([
  ['10.3.0.0/16', { address: '10.3.0.0', prefix: 16 }],
  ['10.3.0.1', { address: '10.3.0.1', prefix: 32 }],
  ['fd00::/8', { address: 'fd00::', prefix: 8 }],
  ['fd00::1', { address: 'fd00::1', prefix: 128 }],
  ['10.3.0.0/33', null],
  ['10.3.0.0/-1', null],
  ['10.3.0.0/8/8', null],
  ['mirror.example.com', null],
])('the range %s', (text, range) => {
  expect(readRange(text)).toEqual(range);
});
