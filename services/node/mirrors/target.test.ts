import { expect, test } from 'vitest';
import { planMirrors } from './plan.ts';
import { targetOf } from './target.ts';

const plan = planMirrors({
  pypi: ['https://pypi.example.com/root/simple/', 'https://files.example.com/'],
  debian: ['http://mirror.example.com/debian/'],
});

const debian = '127.0.31.1';
const pypi = '127.0.31.2';
const files = '::ffff:127.0.31.3';

test.each([
  [pypi, '/root/simple/six/', 'https://pypi.example.com/root/simple/six/'],
  [pypi, '/root/simple', 'https://pypi.example.com/root/simple'],
  [pypi, '/root/simple/%40a%2fb/', 'https://pypi.example.com/root/simple/%40a%2fb/'],
  [files, '/p/a.whl?x=1', 'https://files.example.com/p/a.whl?x=1'],
  [debian, 'http://deb.debian.org/debian/dists/', 'http://mirror.example.com/debian/dists/'],
  [debian, 'http://mirror.example.com/debian/dists/', 'http://mirror.example.com/debian/dists/'],
])('at %s, %s is asked from the mirror', (address, asked, target) => {
  expect(targetOf(plan, address, asked)?.href).toBe(target);
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
  [pypi, '//evil.example.com/root/simple/'],
  [pypi, '/\\evil.example.com/root/simple/'],
  [pypi, '@evil.example.com/'],
  [pypi, '*'],
  [pypi, ''],
  ['127.0.0.1', '/root/simple/'],
  ['127.0.31.10', '/root/simple/'],
  [debian, 'http://127.0.0.1/debian/'],
  [debian, 'http://169.254.169.254/latest/'],
  [debian, 'http://deb.debian.org/'],
  [debian, 'http://deb.debian.org.example.com/debian/'],
  [debian, 'http://deb.debian.org/debian/../../root/'],
  [debian, 'http://user@mirror.example.com/debian/'],
  [debian, 'http://mirror.example.com:81/debian/'],
  [debian, 'https://mirror.example.com/debian/'],
  [debian, 'file:///etc/passwd'],
])('at %s, %s is nothing that was allowed', (address, asked) => {
  expect(targetOf(plan, address, asked)).toBeNull();
});
