import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type BuiltSite, buildSite } from '#tools/site/build.ts';
import { contentOf, faultsOf, readBuilt } from '#tools/site/check.ts';
import { installPackages } from '#tools/site/packages.ts';
import { repository } from '#tools/site/pages.ts';

// What VitePress and Vue evaluate in other sites is text here.
const hostile = `# Use {{item.repo}} {#id}

Clone {{item.repo}} or \`{{item.repo}}\`, and {{ constructor.constructor('return 1')() }}. Write :smile: and [[toc]].

<script>globalThis.wasEvaluated = true</script>

<Badge type="tip" text="new" /> and <b v-html="1">bold</b> &lt;p&gt; {.class}

::: tip
Not a box
:::

<<< @/index.md

[[toc]]

> [!NOTE]
> A quote

| a {{item.repo}} | b |
| --- | --- |
| <repo> | {{1 + 1}} |

\`\`\`yaml{1}
prompt: '{{item.repo}}'
\`\`\`
`;

let site: BuiltSite;
const folder = join(repository, 'out/test-docs-hostile');
beforeAll(async () => {
  installPackages();
  const files = ['docs/README.md', 'docs/api.md'];
  const texts = { 'docs/README.md': '# Home\n\n[A page](api.md)\n', 'docs/api.md': hostile };
  site = await buildSite({ folder, base: '/', repositoryUrl: null, files, texts });
});

test('a page with templates, components, emoji, boxes and includes shows all of it as text', async () => {
  expect(site.faults).toEqual([]);
  const [, page] = await readBuilt(site.pages, join(folder, 'source'), site.output);
  const content = contentOf(page?.html ?? '');
  expect(content.match(/\{\{item\.repo\}\}/g)?.length).toBeGreaterThan(4);
  expect(content).not.toMatch(/<script|<b |custom-block|class="class"/);
});

test.each([
  ['a template is evaluated', /\{\{item\.repo\}\}/g, ''],
  ['a link is dead', 'href="/api.html"', 'href="/apis.html"'],
  ['a heading is not there', 'href="/api.html"', 'href="/api.html#not-there"'],
])('the check of the built site fails when %s', async (_, from, to) => {
  const built = await readBuilt(site.pages, join(folder, 'source'), site.output);
  const changed = built.map(({ page, markdown, html }) => ({
    page,
    markdown,
    html: html.replaceAll(from, to),
  }));
  expect(faultsOf(changed, site.output, '/')).toHaveLength(1);
});
