import { type Site, targetOf } from './links.ts';

/** The parts of markdown-it that the site uses; its own types come with VitePress only. */
export type Token = {
  type: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
};
export type Environment = { readonly relativePath?: string };
type Rule = (tokens: Token[], index: number, ...rest: unknown[]) => string;
export type Markdown = {
  readonly core: {
    readonly ruler: { after(before: string, name: string, rule: (state: State) => void): void };
  };
  readonly renderer: {
    render(tokens: Token[], options: unknown, env: unknown): string;
    readonly rules: Record<string, Rule | undefined>;
  };
  disable(names: readonly string[], ignoreInvalid: boolean): void;
};
type State = { readonly tokens: readonly Token[]; readonly env: Environment };

/** What VitePress reads in Markdown beyond CommonMark and tables. */
const boxes = ['tip', 'info', 'warning', 'danger', 'details', 'v-pre', 'raw', 'code-group'];
const extensions = ['emoji', 'snippet', 'toc', ...boxes.map((name) => `container_${name}`)];

/**
 * Makes VitePress show a page as it is written: no part of it is evaluated as a template, a component, an emoji or an
 * include, and links lead where they lead in the repository.
 */
export function showAsWritten(markdown: Markdown, site: Site): void {
  markdown.disable(extensions, true);
  // Before anchors are added, whose HTML is VitePress's own.
  markdown.core.ruler.after('inline', 'corral', ({ tokens, env }) => {
    const page = site.pages.find((one) => `${one.address}.md` === env.relativePath);
    if (page === undefined) return;
    for (const token of tokens) rewrite(token, page.source, site);
  });
  const render = markdown.renderer.render.bind(markdown.renderer);
  markdown.renderer.render = (tokens, options, env) => `<div v-pre>${render(tokens, options, env)}</div>\n`;
  addScrollingTables(markdown);
}

function rewrite(token: Token, source: string, site: Site): void {
  if (token.type === 'html_block' || token.type === 'html_inline') token.content = asText(token.content);
  if (token.type === 'image') rewriteImage(token, source, site);
  rewriteLinks(token.children ?? [], source, site);
  for (const child of token.children ?? []) rewrite(child, source, site);
}

/** A comment is for writers; any other HTML is text, as if it were in backticks. */
function asText(html: string): string {
  const text = html.replaceAll(/<!--[^]*?-->/g, '');
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function rewriteImage(token: Token, source: string, site: Site): void {
  const target = targetOf(token.attrGet('src') ?? '', source, site);
  if (target.kind !== 'text') token.attrSet('src', target.href);
}

function rewriteLinks(tokens: readonly Token[], source: string, site: Site): void {
  let isText = false;
  for (const token of tokens) {
    if (token.type === 'link_open') isText = !rewriteLink(token, source, site);
    if (isText && token.type.startsWith('link_')) hide(token);
  }
}

/** Whether it is still a link. */
function rewriteLink(token: Token, source: string, site: Site): boolean {
  const target = targetOf(token.attrGet('href') ?? '', source, site);
  if (target.kind === 'text') return false;
  token.attrSet('href', target.href);
  return true;
}

function hide(token: Token): void {
  token.type = 'text';
  token.content = '';
}

/** A table that is wider than the page scrolls by keyboard, too. A column without a name has no heading. */
function addScrollingTables({ renderer }: Markdown): void {
  renderer.rules['table_open'] = () => '<div class="wide" tabindex="0"><table>\n';
  renderer.rules['table_close'] = () => '</table></div>\n';
  renderer.rules['th_open'] = (tokens, index) => (tokens[index + 1]?.content === '' ? '<td>' : '<th>');
  renderer.rules['th_close'] = (tokens, index) => (tokens[index - 1]?.content === '' ? '</td>' : '</th>');
}
