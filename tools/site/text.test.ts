import { describe, expect, test } from 'vitest';
import { differenceOf, textOfHtml, textOfMarkdown } from './text.ts';

describe('the text of a page', () => {
  test.each([
    ['a heading with `code`', '## Use `f1`\n', '<h2 id="a">Use <code>f1</code> <a href="#a">\u200b</a></h2>'],
    ['a link', 'See [the page](a_(b).md#c).', '<p>See <a href="/a.html#c">the page</a>.</p>'],
    [
      'a table',
      '| a | b |\n| --- | --- |\n| 1 | 2 |\n',
      '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>',
    ],
    ['a list', '1. one\n2. two\n', '<ol><li>one</li><li>two</li></ol>'],
    [
      'code',
      '```sh\n1. ls <a> # {{b}}\n```\n',
      '<div><span class="lang">sh</span><pre>1. ls &lt;a&gt; # {{b}}</pre></div>',
    ],
    ['a picture', '![alt](a.svg)', '<p><img src="/a.svg" alt="alt"></p>'],
    ['a comment', '<!-- tested -->\nText', '<p>Text</p>'],
  ])('is the same in Markdown and HTML: %s', (_, markdown, html) => {
    expect(differenceOf(textOfMarkdown(markdown), textOfHtml(html))).toBeNull();
  });

  test.each([
    ['a template was evaluated', 'Name it {{item.repo}} there', '<p>Name it  there</p>'],
    ['a component was rendered', 'Give <Badge> a name', '<p>Give <span></span> a name</p>'],
    ['an emoji was put in', 'Write :smile: here', '<p>Write 😄 here</p>'],
    ['a line of code is missing', '```sh\none\ntwo\n```', '<pre>one</pre>'],
    ['a word was added', 'one', '<p>one two</p>'],
  ])('differs when %s', (_, markdown, html) => {
    expect(differenceOf(textOfMarkdown(markdown), textOfHtml(html))).toContain('the page shows');
  });
});
