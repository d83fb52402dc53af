/**
 * No object of the API server is longer: etcd takes 1.5 MiB by default, and a line is JSON of one object. What is longer
 * is no watch, and must not fill our memory.
 */
const longestLineBytes = 4 * 1024 * 1024;

/** The lines of a body as they come, without their ends; an unfinished last line is dropped. Throws on one too long. */
export async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  longest = longestLineBytes,
): AsyncGenerator<string> {
  // One piece for each chunk: a line that comes in a thousand chunks is joined once, not a thousand times.
  let pieces: Uint8Array[] = [];
  let kept = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)]).toString('utf8');
      pieces = [];
      kept = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    pieces.push(chunk.subarray(from));
    kept += chunk.length - from;
    if (kept > longest) throw new Error(`a line of a watch is longer than ${longest} bytes`);
  }
}

const newline = 0x0a;
