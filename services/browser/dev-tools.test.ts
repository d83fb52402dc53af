import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { DevTools, type Event } from './dev-tools.ts';

function connected() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const events: Event[] = [];
  const tools = new DevTools(input, output, (event) => void events.push(event));
  return { tools, output, events };
}

test('answers in pieces go to the request with their number, and events to the listener', async () => {
  const { tools, output, events } = connected();
  const [first, second] = [tools.ask('Page.enable'), tools.ask('Page.reload')];
  output.write('{"id":2,"result":{"is":2}}\0{"method":"Page.x","params":{"a":1}}\0{"id":1,"res');
  output.write('ult":{"is":1}}\0not json\0');
  expect([await first, await second]).toEqual([{ is: 1 }, { is: 2 }]);
  expect(events).toEqual([{ method: 'Page.x', params: { a: 1 } }]);
});

test('an answer that is too long fails its request only, and is not kept', async () => {
  const { tools, output } = connected();
  const asked = tools.ask('Accessibility.getFullAXTree');
  const failed = expect(asked).rejects.toThrow('the page is too large');
  output.write('{"id":1,"result":"');
  for (let mebibytes = 0; mebibytes < 20; mebibytes += 1) output.write('x'.repeat(1024 * 1024));
  output.write('"}\0');
  await failed;
  const next = tools.ask('Page.reload');
  output.write('{"id":2,"result":{}}\0');
  expect(await next).toEqual({});
});

test('a browser that has ended fails what is asked, before and after', async () => {
  const { tools } = connected();
  const asked = expect(tools.ask('Page.enable')).rejects.toThrow(
    'the browser has ended; browser_goto starts another',
  );
  tools.end('the browser has ended');
  await asked;
  await expect(tools.ask('Page.enable')).rejects.toThrow('the browser has ended');
});
