import { describe, expect, it } from 'vitest';
import { HoldGate } from './hold-gate.ts';

const overloaded = expect.objectContaining({ code: 'gateway_overloaded' });
const ignore = (): void => undefined;

describe('the hold gate', () => {
  it('counts requests and bytes in, and out once however often they are released', () => {
    const gate = new HoldGate({ requests: 2, bodyBytes: 100 });
    const first = gate.enter(ignore);
    first.grow(60);
    const second = gate.enter(ignore);
    expect(() => second.grow(41)).toThrow(overloaded);
    second.grow(40);
    expect(() => gate.enter(ignore)).toThrow(overloaded);
    first.release();
    first.release();
    expect([gate.requests, gate.bodyBytes]).toEqual([1, 40]);
    second.release();
    expect([gate.requests, gate.bodyBytes]).toEqual([0, 0]);
  });

  it('lets nobody in while it closes, and is closed when the last has left', async () => {
    const gate = new HoldGate({ requests: 2, bodyBytes: 100 });
    const held = gate.enter(ignore);
    let closed = false;
    const closing = gate.close().then(() => {
      closed = true;
    });
    expect(() => gate.enter(ignore)).toThrow(expect.objectContaining({ code: 'shutting_down' }));
    await Promise.resolve();
    expect(closed).toBe(false);
    held.release();
    await closing;
  });

  it('cuts off whoever is still held, and nobody who was answered', () => {
    const gate = new HoldGate({ requests: 3, bodyBytes: 100 });
    const told: string[] = [];
    const enter = (name: string) => gate.enter(({ admitted }) => void told.push(`${name} ${admitted}`));
    enter('answered').release();
    enter('held');
    gate.leave();
    enter('late');
    void gate.close();
    gate.cutOff();
    expect(told).toEqual(['held unknown', 'late unknown']);
  });

  it('that holds nothing closes at once', async () => {
    await new HoldGate({ requests: 1, bodyBytes: 1 }).close();
  });
});

it('a body that was refused keeps nobody else out while the rest of it comes', () => {
  const gate = new HoldGate({ requests: 2, bodyBytes: 100 });
  const [large, small] = [gate.enter(ignore), gate.enter(ignore)];
  large.grow(90);
  expect(() => large.grow(20)).toThrow(overloaded);
  small.grow(100);
  expect(gate.bodyBytes).toBe(100);
  large.release();
  small.release();
  expect([gate.requests, gate.bodyBytes]).toEqual([0, 0]);
});
