import { Transform, type TransformCallback } from 'node:stream';

/** An address in a document, and the one that replaces it. */
export type Link = { readonly from: string; readonly to: string };

/**
 * Replaces one address by another in a document that arrives in pieces. Bytes that are no address stay
 * as they are, in any encoding that has ASCII in it.
 */
export function replaceLinks(links: readonly Link[]): Transform {
  const longest = Math.max(...links.map(({ from }) => from.length));
  let rest = '';
  /** Leaves the end, in which an address may begin that goes on in the next piece. */
  const replace = (text: string, end: number): string => {
    const nextLink = linksIn(text, links);
    let at = 0;
    let done = '';
    for (let next = nextLink(0); next !== null && next.at < end; next = nextLink(at)) {
      done += text.slice(at, next.at) + next.link.to;
      at = next.at + next.link.from.length;
    }
    const until = Math.max(at, end);
    rest = text.slice(until);
    return done + text.slice(at, until);
  };
  return new Transform({
    transform: (chunk: Buffer, _encoding, callback: TransformCallback) => {
      const text = rest + chunk.toString('latin1');
      callback(null, Buffer.from(replace(text, Math.max(0, text.length - longest + 1)), 'latin1'));
    },
    flush: (callback) => callback(null, Buffer.from(replace(rest, rest.length), 'latin1')),
  });
}

type Found = { readonly at: number; readonly link: Link };

/** Finds one link after another. Each link is looked for once in each part of the text, so that a document of many links takes no longer. */
function linksIn(text: string, links: readonly Link[]): (from: number) => Found | null {
  const nexts = links.map((link) => ({ link, at: text.indexOf(link.from) }));
  return (from) => {
    let first: Found | null = null;
    for (const next of nexts) {
      if (next.at !== -1 && next.at < from) next.at = text.indexOf(next.link.from, from);
      if (next.at !== -1 && (first === null || next.at < first.at)) first = { ...next };
    }
    return first;
  };
}
