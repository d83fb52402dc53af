/** A thousand times what an event has: what is longer is none of ours. */
const longestLine = 1024 * 1024;

/** Text that comes in pieces as lines. One that has no end is thrown away as it comes, so that no more than one is kept. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  longest = longestLine,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let isLost = false;
  for await (const chunk of chunks) {
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
    rest += first;
    for (const next of more) {
      if (!isLost) yield rest;
      isLost = false;
      rest = next;
    }
    if (rest.length > longest) isLost = true;
    if (isLost) rest = '';
  }
  if (!isLost && rest !== '') yield rest;
}
