import { describe, expect, it } from 'vitest';
import { createStartLine } from './start-line.ts';

const never = new AbortController().signal;

describe('the line of starting sandboxes', () => {
  it('lets as many start as its budget, and the next when one is done, first come first served', async () => {
    const line = createStartLine(2, 10);
    const order: string[] = [];
    const enter = async (name: string) => {
      const leave = await line.enter(never);
      order.push(name);
      return leave;
    };
    const first = await enter('a');
    await enter('b');
    const others = [enter('c'), enter('d')];
    expect(order).toEqual(['a', 'b']);
    first?.();
    const third = await others[0];
    expect(order).toEqual(['a', 'b', 'c']);
    third?.();
    await others[1];
    expect(order).toEqual(['a', 'b', 'c', 'd']);
  });

  it('takes a place back once, however often it is given back', async () => {
    const line = createStartLine(1, 10);
    const leave = await line.enter(never);
    leave?.();
    leave?.();
    await line.enter(never);
    const waits = new AbortController();
    const waiting = line.enter(waits.signal);
    waits.abort();
    expect(await waiting).toBeNull();
  });

  it('whoever gives up while waiting leaves its place to the next', async () => {
    const line = createStartLine(1, 10);
    const leave = await line.enter(never);
    const impatient = new AbortController();
    const gone = line.enter(impatient.signal);
    const next = line.enter(never);
    impatient.abort();
    leave?.();
    expect(await gone).toBeNull();
    expect(await next).not.toBeNull();
  });

  it('says when it is at its bound', async () => {
    const line = createStartLine(1, 1);
    await line.enter(never);
    expect(line.hasRoom()).toBe(true);
    void line.enter(never);
    expect(line.hasRoom()).toBe(false);
  });
});
