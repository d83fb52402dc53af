import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/*
 * A judge that looks at pictures which the policy drew. The policy would rather be discarded than judged, or be judged by
 * other files: whatever it does to them, it has a score.
 */

type Asked = {
  readonly trace_id: string;
  readonly files?: readonly { readonly path: string; readonly bytes: number; readonly base64: string }[];
  readonly files_missing?: readonly string[];
};

const environment = 'pictures';
const unreadable = 0.125;
const asked = new Map<string, Asked>();

let judge: Server;
let corral: JoinedFleet;
beforeAll(async () => {
  judge = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const told = JSON.parse(body) as Asked;
      asked.set(told.trace_id, told);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ score: (told.files ?? []).length / 4, reason: 'counted' }));
    });
  });
  await new Promise<void>((resolve) => {
    judge.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(judge.address() as AddressInfo).port}/`;
  const yaml = `
name: ${environment}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 20s } }
grader:
  kind: http
  url: ${url}
  on_refused: 0
  attach: [out/*.png, notes.txt]
  attach_bytes: 64Ki
  on_attach: ${unreadable}
pool: { min_ready: 2, max: 8 }
`;
  corral = await joinSharedFleet({ [environment]: yaml });
});
afterAll(async () => {
  await corral.leave();
  judge.close();
  judge.closeAllConnections();
});

async function draw(trace: string, command: string | null) {
  const item = { id: 'deck' };
  if (command !== null)
    expect(await corral.rft.call({ trace, call: 'c0', command, environment, item })).toMatchObject({
      status: 200,
    });
  return corral.rft.grade({ trace, environment, item, sample: { output_text: 'done' } });
}

test('the judge is sent what was drawn, byte by byte, by name, and is told what is not there', async () => {
  const picture = String.raw`\211PNG\r\n\032\n\000\377`;
  const drawn = await draw(
    'drawn',
    `mkdir out; printf '${picture}' > out/a.png; echo b > out/b.png; echo c > out/c.jpg`,
  );
  expect(drawn).toMatchObject({ status: 200, body: { score: 0.5 } });
  const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff]);
  expect(asked.get('drawn')).toMatchObject({
    files: [
      { path: 'out/a.png', bytes: 10, base64: bytes.toString('base64') },
      { path: 'out/b.png', bytes: 2 },
    ],
    files_missing: ['notes.txt'],
  });
});

test.each([
  ['nothing', null, 0],
  ['a file where the folder should be', 'echo x > out', 0],
  ['a folder of that name', 'mkdir -p out/a.png', 0],
  ['a pipe, which nobody would ever have read', 'mkdir out; mkfifo out/a.png notes.txt', unreadable],
  [
    'a folder full of files where one should be',
    'mkdir notes.txt; echo x > notes.txt/a; echo y > notes.txt/b',
    0,
  ],
  ['links to what is not its own', 'mkdir out; ln -s /etc/passwd out/a.png', 0],
  ['more bytes than are attached', 'mkdir out; head -c 200000 /dev/zero > out/a.png', unreadable],
  ['more files', 'mkdir out; for n in $(seq 40); do echo x > out/$n.png; done', unreadable],
  ['a file that it has closed to itself', 'mkdir out; echo x > out/a.png; chmod 0 out/a.png', unreadable],
  ['a folder that it has closed to itself', 'mkdir out; echo x > out/a.png; chmod 0 out', unreadable],
  ['the whole machine in the place of its folder', 'ln -s / out', unreadable],
  ['memory that gives I/O errors, by a link', 'ln -s /proc/self/mem notes.txt', unreadable],
  ['a descriptor of another process, by a link', 'ln -s /proc/1/fd/0 notes.txt', unreadable],
  ['folders that the kernel makes up', 'ln -s /proc/self out', unreadable],
  [
    'one file, while all processes of its user are stopped again and again',
    "echo x > notes.txt; (setsid sh -c 'while :; do kill -STOP -1; done' >/dev/null 2>&1 &)",
    0.25,
  ],
  [
    'one file, while it holds every process that it may have',
    "echo x > notes.txt; (setsid sh -c 'while :; do sleep 600 & done' >/dev/null 2>&1 &); sleep 1",
    0.25,
  ],
  [
    'files that somebody goes on changing',
    '(mkdir out; while :; do head -c 9000 /dev/urandom > out/a.png; rm -f out/a.png; done) >/dev/null 2>&1 & sleep 0.2',
    null,
  ],
] as const)('for %s there is a score and no discard', async (what, command, score) => {
  const graded = await draw(what.replaceAll(' ', '_'), command);
  expect(graded).toMatchObject({ status: 200, body: { score: score ?? (expect.any(Number) as number) } });
});
