import { describe as suite, expect, test } from 'vitest';
import { findElement } from './find.ts';
import { elementsOf, outline } from './tree.ts';

const node = (nodeId: string, role: string, name: string, childIds: readonly string[] = [], more = {}) => ({
  nodeId,
  role: { value: role },
  name: { value: name },
  childIds,
  backendDOMNodeId: Number(nodeId),
  ...more,
});

const page = elementsOf({
  nodes: [
    node('1', 'RootWebArea', 'Shop', ['2', '8']),
    node('2', 'generic', '', ['3', '5', '6', '7']),
    node('3', 'button', ' Add\n to cart', ['4'], {
      properties: [{ name: 'disabled', value: { value: true } }],
    }),
    node('4', 'StaticText', 'Add to cart'),
    node('5', 'textbox', 'Coupon', [], { value: { value: 'TEN' } }),
    node('6', 'link', 'Help'),
    node('7', 'link', 'Help and contact'),
    node('8', 'paragraph', '', ['9', '10']),
    node('9', 'StaticText', 'Free "returns"'),
    node('10', 'image', 'hidden', [], { ignored: true }),
  ],
});

suite('a page as text', () => {
  test('has roles, names, values and states, and no text twice', () => {
    expect(outline(page)).toBe(
      [
        '- button "Add to cart" (disabled)',
        '- textbox "Coupon" = "TEN"',
        '- link "Help"',
        '- link "Help and contact"',
        '- paragraph',
        '  - text "Free \\"returns\\""',
      ].join('\n'),
    );
  });

  test('of a browser that lies about its tree is bounded', () => {
    const circle = [node('1', 'list', 'a', ['2', '1']), node('2', 'list', 'b', ['1', '2', '3'])];
    expect(outline(elementsOf({ nodes: circle }))).toBe('- list "a"\n  - list "b"');
    const long = Array.from({ length: 1_000 }, (_, index) => node(`${index + 2}`, 'link', 'x'.repeat(5_000)));
    const nodes = [
      node(
        '1',
        'list',
        'all',
        long.map(({ nodeId }) => nodeId),
      ),
      ...long,
    ];
    expect(outline(elementsOf({ nodes })).length).toBeLessThan(110_000);
    expect(elementsOf({ nodes: 'none' })).toEqual([]);
  });
});

const found = (role: string, name?: string, nth?: number) => findElement(page, { role, name, nth }).node;

suite('an element', () => {
  test('is found by role and a text that is equal, or else contained', () => {
    expect(found('link', 'help')).toBe(6);
    expect(found('Link', 'contact')).toBe(7);
    expect(found('textbox')).toBe(5);
    expect(found('link', undefined, 2)).toBe(7);
  });

  test('that is missing or not the only one is a text that says what is there', () => {
    expect(() => found('link')).toThrow(
      '2 elements are link; say which with nth\n1. link "Help"\n2. link "Help and contact"',
    );
    expect(() => found('button', 'Buy')).toThrow(
      'there is no button "Buy"; there are\n1. button "Add to cart" (disabled)',
    );
    expect(() => found('slider')).toThrow('there is no slider; there are\n1. button "Add to cart"');
    expect(() => found('link', 'Help', 2)).toThrow('there are 1 of link "Help"');
  });
});
