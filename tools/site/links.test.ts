import { expect, test } from 'vitest';
import { targetOf } from './links.ts';
import { navigationOf } from './navigation.ts';
import { pagesOf } from './pages.ts';

const pages = pagesOf([
  'docs/README.md',
  'docs/api.md',
  'docs/clients/python.md',
  'SECURITY.md',
  'charts/corral/README.md',
  'src/model.ts',
]);
const site = { pages, repositoryUrl: null };

test('a page of docs is at the root of the site, and a README is the page of its folder', () => {
  expect(pages.map(({ address }) => address)).toEqual([
    'index',
    'api',
    'clients/python',
    'security',
    'charts/corral',
  ]);
});

test.each([
  ['../api.md#a-verdict', { kind: 'page', href: '/api.md#a-verdict' }],
  ['../../SECURITY.md', { kind: 'page', href: '/security.md' }],
  ['#set-up', { kind: 'page', href: '#set-up' }],
  ['../flow.svg', { kind: 'file', href: '/flow.svg' }],
  ['https://example.com/a#b', { kind: 'elsewhere', href: 'https://example.com/a#b' }],
  ['../../src/model.ts', { kind: 'text' }],
])('%s of a page leads where it leads in the repository', (href, target) => {
  expect(targetOf(href, 'docs/clients/python.md', site)).toEqual(target);
});

test('a link to a source file leads to the code host, if there is one', () => {
  const hosted = { pages, repositoryUrl: 'https://code.example.com/corral/blob/main/' };
  expect(targetOf('../src/model.ts', 'docs/api.md', hosted)).toEqual({
    kind: 'elsewhere',
    href: 'https://code.example.com/corral/blob/main/src/model.ts',
  });
});

test('the navigation has the headings and links of docs/README.md', () => {
  const text =
    '## Guides\n\n### Train\n\n- [Python](clients/python.md): words\n- [Source](../src/model.ts)\n\n## Reference\n\n- [API](api.md)\n';
  expect(navigationOf(pages, text)).toEqual([
    { text: 'Guides', items: [{ text: 'Train', items: [{ text: 'Python', link: '/clients/python' }] }] },
    { text: 'Reference', items: [{ text: 'API', link: '/api' }] },
  ]);
});
