import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { describeReach, isLoopbackHost } from './reach.ts';

const address = (text: string, internal = false): NetworkInterfaceInfo =>
  text.includes(':')
    ? { address: text, internal, family: 'IPv6', netmask: '', mac: '', cidr: null, scopeid: 0 }
    : { address: text, internal, family: 'IPv4', netmask: '', mac: '', cidr: null };

const interfaces = {
  lo: [address('127.0.0.1', true), address('::1', true)],
  eth0: [address('10.0.0.7'), address('fe80::1')],
  eth1: [address('203.0.113.5')],
};

test.each([
  ['127.0.0.1', 'this machine only'],
  ['localhost', 'this machine only'],
  ['10.0.0.7', 'every machine that reaches 10.0.0.7 (a private network)'],
  ['172.15.0.1', 'every machine that reaches 172.15.0.1 (the internet, unless a firewall is in between)'],
  ['172.16.0.1', 'every machine that reaches 172.16.0.1 (a private network)'],
  ['fd00::2', 'every machine that reaches fd00::2 (a private network)'],
  [
    '0.0.0.0',
    'every machine that reaches 10.0.0.7 (a private network) or 203.0.113.5 (the internet, unless a firewall is in between)',
  ],
])('a fleet at %s is reachable from %s', (host, reach) => {
  expect(describeReach(host, interfaces)).toBe(reach);
});

test('an address that only begins like loopback is not loopback', () => {
  expect(isLoopbackHost('127.0.0.1.example.com')).toBe(false);
  expect(isLoopbackHost('0.0.0.0')).toBe(false);
});

test('a machine without a network is reachable from itself only, until it has one', () => {
  expect(describeReach('::', { lo: interfaces.lo })).toMatch(/^this machine only, until/);
});
