import { expect, test } from 'vitest';
import { planMirrors } from '../plan.ts';
import { targetOf } from './target.ts';

const plan = planMirrors({
  pypi: ['https://packages.example/root/simple/', 'https://files.example/'],
  debian: ['http://mirror.example/debian/'],
});

/* The names of servers are in the order of their first mirror. */
const debian = '127.0.31.1';
const pypi = '127.0.31.2';
const files = '::ffff:127.0.31.3';

test.each([
  [pypi, '/root/simple/six/', 'https://packages.example/root/simple/six/'],
  [pypi, '/root/simple', 'https://packages.example/root/simple'],
  [pypi, '/root/simple/%40a%2fb/', 'https://packages.example/root/simple/%40a%2fb/'],
  [files, '/p/a.whl?x=1', 'https://files.example/p/a.whl?x=1'],
  [debian, 'http://deb.example/debian/dists/', 'http://mirror.example/debian/dists/'],
  [debian, 'http://mirror.example/debian/dists/', 'http://mirror.example/debian/dists/'],
  [debian, 'http://deb.example/debian/./Packages?x=1', 'http://mirror.example/debian/Packages?x=1'],
  [
    debian,
    'http://deb.example/debian/pool/a%2bb_1%7e1.deb',
    'http://mirror.example/debian/pool/a%2bb_1%7e1.deb',
  ],
])('at %s, %s is asked from the mirror', (address, asked, target) => {
  expect(targetOf(plan, address, asked)?.url.href).toBe(target);
});

test.each([
  [pypi, '/'],
  [pypi, '/root/simplest/'],
  [pypi, '/root/simple/../admin'],
  [pypi, '/root/simple/%2e%2e/admin'],
  [pypi, '/root/simple/.%2E/admin'],
  [pypi, '/root/simple/%2e%2e%2fadmin'],
  [pypi, '/root/simple/x%2f..%2f..%2fadmin'],
  [pypi, '/root/simple/..%5cadmin'],
  [pypi, '//evil.example/root/simple/'],
  [pypi, '/\\evil.example/root/simple/'],
  [pypi, '@evil.example/'],
  [pypi, '*'],
  [pypi, ''],
  ['127.0.0.1', '/root/simple/'],
  ['127.0.31.10', '/root/simple/'],
  [debian, 'http://127.0.0.1/root/'],
  [debian, 'http://169.254.169.254/latest/'],
  [debian, 'http://deb.example/'],
  [debian, 'http://deb.example/debian/../../root/'],
  [debian, 'http://user@mirror.example/debian/'],
  [debian, 'http://mirror.example:81/debian/'],
  [debian, 'https://mirror.example/debian/'],
  [debian, 'file:///etc/passwd'],
  [debian, 'https://deb.example/debian/dists/'],
  [debian, 'http://user@deb.example/debian/'],
  [pypi, '/root/simple/..;/..;/admin'],
  [pypi, '/root/simple/..;x=1/admin'],
  [pypi, '/root/simple/%2e%2e;/admin'],
  [pypi, '/root/simple/%2e%2e%3b/admin'],
  [pypi, '/root/simple/%252e%252e/admin'],
  [pypi, '/root/simple/%25252e%25252e%25252fadmin'],
  [pypi, '/root/simple/..%00/admin'],
  [pypi, '/root/simple/..%20/admin'],
  [pypi, '/root/simple/..%09/admin'],
  [pypi, '/root/simple/.../admin'],
  [pypi, '/root/simple/%c0%ae%c0%ae/admin'],
  [pypi, '/root/simple/%ef%bc%8e%ef%bc%8e/admin'],
  [pypi, '/root/simple/x%0d%0aHost:evil/'],
])('at %s, %s is nothing that was allowed', (address, asked) => {
  expect(targetOf(plan, address, asked)).toBeNull();
});
