import { createReadStream } from 'node:fs';
import { homedir } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { repository } from '../payload/repository.ts';

/** What must be in nothing that is published. */
export type Leak = { readonly what: string; readonly isIn: (text: string) => boolean };

type Variables = Readonly<Record<string, string | undefined>>;

/** A shorter value is a word, and found everywhere. */
const shortestSecret = 12;

/** What a build on this machine could carry along: its folders, private keys, and the values of variables with a name that says secret. */
export function leaksHere(variables: Variables): readonly Leak[] {
  const values = Object.entries(variables).flatMap(([name, value]) =>
    value !== undefined && value.length >= shortestSecret && /TOKEN|SECRET|PASSW|_KEY$|AUTH/i.test(name)
      ? [textLeak(`the value of ${name}`, value)]
      : [],
  );
  return [
    ...values,
    textLeak('the folder of the checkout', repository.replace(/\/$/, '')),
    // The home of root is in every system's list of users; what is kept there has a point at its beginning.
    textLeak('the home folder', homedir() === '/root' ? '/root/.' : homedir()),
    textLeak('a token of npm', '_authToken='),
    { what: 'a private key', isIn: (text) => privateKey.test(text) },
  ];
}

const textLeak = (what: string, text: string): Leak => ({ what, isIn: (piece) => piece.includes(text) });

const privateKey = /-----BEGIN (?:[A-Z]{1,12} )?PRIVATE KEY-----\r?\n[A-Za-z0-9+/=]{40}/;

/** Nothing that is looked for is longer. */
const overlapBytes = 4096;

/** Which of them a file has, unpacked if it is packed with gzip; without what was found. */
export async function leaksIn(file: string, leaks: readonly Leak[]): Promise<readonly string[]> {
  const found = new Set<string>();
  let before = '';
  const search = async function (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      const text = before + piece.toString('latin1');
      for (const { what, isIn } of leaks) if (isIn(text)) found.add(what);
      before = text.slice(-overlapBytes);
    }
  };
  const source = createReadStream(file, { highWaterMark: 1 << 20 });
  await ((await isGzip(file)) ? pipeline(source, createGunzip(), search) : pipeline(source, search));
  return [...found];
}

async function isGzip(file: string): Promise<boolean> {
  for await (const piece of createReadStream(file, { end: 1 })) return (piece as Buffer).equals(gzipMagic);
  return false;
}

const gzipMagic = Buffer.from([0x1f, 0x8b]);
