import { expect, test } from 'vitest';
import { fillPlaceholders, isOnePlaceholder, itemFieldOf, placeholdersIn } from './placeholder.ts';

test('placeholders are names in braces; doubled braces and all other braces are text', () => {
  expect(placeholdersIn('{path}:{item.repo-name} {{plain}} ${} {"a": 1} { x }')).toEqual([
    'path',
    'item.repo-name',
  ]);
});

test('values are put in as they are and not looked at again', () => {
  const filled = fillPlaceholders('{a}-{{a}}-{b}', (name) => (name === 'a' ? '{b}$&' : 'B'));
  expect(filled).toBe('{b}$&-{a}-B');
});

test('only an element that is nothing but a placeholder carries a whole value', () => {
  expect(isOnePlaceholder('{command}')).toBe(true);
  expect(isOnePlaceholder('{command} ')).toBe(false);
  expect(isOnePlaceholder('{a}{b}')).toBe(false);
  expect(isOnePlaceholder('{{a}}')).toBe(false);
});

test('item fields are told from arguments by their prefix', () => {
  expect(itemFieldOf('item.repo')).toBe('repo');
  expect(itemFieldOf('repo')).toBeNull();
});
