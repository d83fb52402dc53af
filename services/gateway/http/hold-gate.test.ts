import { describe, expect, it } from 'vitest';
import type { Failure } from '#src/failure/failure.ts';
import { tenantId } from '#src/model/ids.ts';
import { HoldGate } from './hold-gate.ts';
import { patienceMs } from './slow-bodies.ts';

const overloaded = expect.objectContaining({ code: 'gateway_overloaded' });
const ignore = (): void => undefined;
const [acme, zeta] = [tenantId('acme'), tenantId('zeta')];
const gateOf = (requests: number, nowMs = () => 0) => new HoldGate({ requests, bodyBytes: 100 }, nowMs);

describe('the hold gate', () => {
  it('counts requests and bytes in, and out once however often they are released', () => {
    const gate = gateOf(2);
    const first = gate.enter(acme, ignore);
    first.grow(60);
    const second = gate.enter(acme, ignore);
    expect(() => second.grow(41)).toThrow(overloaded);
    second.grow(40);
    expect(() => gate.enter(acme, ignore)).toThrow(overloaded);
    first.release();
    first.release();
    expect([gate.requests, gate.bodyBytes]).toEqual([1, 40]);
    second.release();
    expect([gate.requests, gate.bodyBytes]).toEqual([0, 0]);
  });

  it('lets nobody in while it closes, and is closed when the last has left', async () => {
    const gate = gateOf(2);
    const held = gate.enter(acme, ignore);
    let closed = false;
    const closing = gate.close().then(() => {
      closed = true;
    });
    expect(() => gate.enter(acme, ignore)).toThrow(expect.objectContaining({ code: 'shutting_down' }));
    await Promise.resolve();
    expect(closed).toBe(false);
    held.release();
    await closing;
  });

  it('cuts off whoever is still held, and nobody who was answered', () => {
    const gate = gateOf(3);
    const told: string[] = [];
    const enter = (name: string) => gate.enter(acme, ({ admitted }) => void told.push(`${name} ${admitted}`));
    enter('answered').release();
    enter('held');
    gate.leave();
    enter('late');
    void gate.close();
    gate.cutOff();
    expect(told).toEqual(['held unknown', 'late unknown']);
  });

  it('that holds nothing closes at once', async () => {
    await gateOf(1).close();
  });
});

it('a body that was refused keeps nobody else out while the rest of it comes', () => {
  const gate = gateOf(2);
  const [large, small] = [gate.enter(acme, ignore), gate.enter(acme, ignore)];
  large.grow(90);
  expect(() => large.grow(20)).toThrow(overloaded);
  small.grow(100);
  expect(gate.bodyBytes).toBe(100);
  large.release();
  small.release();
  expect([gate.requests, gate.bodyBytes]).toEqual([0, 0]);
});

/** A gate whose places one tenant's bodies hold, none of which has come for longer than the patience. */
function fullOf(requests: number, as: 'kept' | 'passed_on' = 'kept') {
  let nowMs = 0;
  const gate = gateOf(requests, () => nowMs);
  const dropped: Failure[] = [];
  const holds = Array.from({ length: requests }, () =>
    gate.enter(acme, (failure) => void dropped.push(failure)),
  );
  const readings = holds.map((hold) => hold.read(as));
  nowMs = patienceMs + 1;
  return { gate, dropped, holds, readings };
}

describe('a full gate', () => {
  it.each([
    ['kept', 'no'],
    ['passed_on', 'unknown'],
  ] as const)(
    'drops a slow body that is %s for a request of another tenant, admitted: %s',
    (as, admitted) => {
      const { gate, dropped } = fullOf(2, as);
      gate.enter(zeta, ignore);
      expect(dropped).toEqual([expect.objectContaining({ code: 'gateway_overloaded', admitted })]);
      expect(gate.requests).toBe(2);
    },
  );

  it('drops a slow body for its own tenant, too, which a fleet’s only tenant has all places of', () => {
    const { gate, dropped } = fullOf(2);
    gate.enter(acme, ignore);
    expect(dropped).toHaveLength(1);
  });

  it('drops no request whose body is complete or whose sandbox is slow', () => {
    const { gate, dropped, readings } = fullOf(2, 'passed_on');
    readings[0]?.ended();
    readings[1]?.came(1);
    expect(() => gate.enter(zeta, ignore)).toThrow(overloaded);
    expect(dropped).toEqual([]);
  });

  it('takes nothing more of a body that was dropped, and gives its place back once', () => {
    const { gate, holds, readings } = fullOf(1);
    const other = gate.enter(zeta, ignore);
    expect(() => holds[0]?.grow(1)).toThrow(overloaded);
    expect(() => readings[0]?.came(1)).toThrow(overloaded);
    holds[0]?.release();
    expect([gate.requests, gate.bodyBytes]).toEqual([1, 0]);
    other.release();
    expect(gate.requests).toBe(0);
  });

  it('of bytes drops slow bodies of the tenant that holds more than its share of them', () => {
    let nowMs = 0;
    const gate = gateOf(10, () => nowMs);
    const dropped: string[] = [];
    const enter = (tenant = acme) => gate.enter(tenant, () => void dropped.push(tenant));
    const [large, small] = [enter(), enter(zeta)];
    large.read('kept');
    large.grow(80);
    small.read('kept');
    small.grow(20);
    nowMs = patienceMs + 1;
    enter(tenantId('beta')).grow(50);
    expect(dropped).toEqual(['acme']);
    expect(gate.bodyBytes).toBe(70);
  });
});
