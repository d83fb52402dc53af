/* Sections of documentation in Markdown: a heading, and the sentences below it. */

export type Section = {
  readonly heading: string;
  /** As the document has them, with code between backticks. */
  readonly sentences: readonly string[];
};

/** Sections in the order of the document; code blocks, tables and what is not prose are left out. */
export function sectionsIn(markdown: string): readonly Section[] {
  return prose(markdown)
    .split(/^(?=#{1,5} )/m)
    .flatMap((part) => {
      const [first = '', ...rest] = part.split('\n');
      const heading = /^#{1,5} (.*)$/.exec(first)?.[1];
      if (heading === undefined) return [];
      const sentences = blocksIn(rest).flatMap(sentencesIn);
      return [{ heading: plain(heading).replaceAll('`', ''), sentences }];
    });
}

const prose = (markdown: string): string =>
  markdown
    .replaceAll('\r', '')
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/^ *(```+|~~~+)[\s\S]*?^ *\1 *$/gm, '')
    .replaceAll(/^ *(?:\||\[[^\]]+\]:).*$/gm, '');

/** Paragraphs and entries of lists, each in one line. */
function blocksIn(lines: readonly string[]): readonly string[] {
  const blocks: string[] = [];
  let open = false;
  for (const line of lines) {
    const text = line.replace(/^[\s>#]+/, '').trim();
    const entry = /^(?:[*+-]|\d+\.) +(.*)$/.exec(text);
    if (entry !== null) blocks.push(entry[1] ?? '');
    else if (open && text !== '') blocks.push(`${blocks.pop() ?? ''} ${text}`);
    else if (text !== '') blocks.push(text);
    open = text !== '';
  }
  return blocks.map(plain);
}

/** Without links, emphasis, tags and symbols; code stays between backticks. */
const plain = (text: string): string =>
  text
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replaceAll(/<\/?[a-z][^>]*>/gi, '')
    .replaceAll(/\*\*|__|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)/g, '')
    .replaceAll(/[^\x20-\x7e’–—]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

const sentencesIn = (block: string): readonly string[] =>
  block.split(/(?<=[.!?:]) +(?=[A-Z`])/).filter((sentence) => sentence.length > 3);
