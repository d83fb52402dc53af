import { Transform, type TransformCallback } from 'node:stream';

/** What stands for another server in a document, and what is to stand there instead. */
export type Link = { readonly from: string; readonly to: string };

/**
 * Puts one address in place of another wherever it stands in a document, whatever pieces it comes in. Bytes that are no address stay
 * as they are, in any encoding that has ASCII in it.
 */
export function replaceLinks(links: readonly Link[]): Transform {
  const longest = Math.max(...links.map(({ from }) => from.length));
  let rest = '';
  const replace = (text: string, isLast: boolean): string => {
    // What begins after this may go on in the next piece.
    const until = isLast ? text.length : Math.max(0, text.length - longest + 1);
    let done = '';
    let at = 0;
    for (let next = nextLink(links, text, at); next !== null && next.at < until;) {
      done += text.slice(at, next.at) + next.link.to;
      at = next.at + next.link.from.length;
      next = nextLink(links, text, at);
    }
    const end = Math.max(at, until);
    rest = text.slice(end);
    return done + text.slice(at, end);
  };
  return new Transform({
    transform: (chunk: Buffer, _encoding, callback: TransformCallback) =>
      callback(null, Buffer.from(replace(rest + chunk.toString('latin1'), false), 'latin1')),
    flush: (callback) => callback(null, Buffer.from(replace(rest, true), 'latin1')),
  });
}

function nextLink(links: readonly Link[], text: string, from: number): { at: number; link: Link } | null {
  let found: { at: number; link: Link } | null = null;
  for (const link of links) {
    const at = text.indexOf(link.from, from);
    if (at !== -1 && (found === null || at < found.at)) found = { at, link };
  }
  return found;
}
