import { expect, it } from 'vitest';
import { readyIn } from './temporary-fleet.ts';

it('counts what is ready of all templates, and nothing that is on its way', () => {
  const metrics = [
    '# TYPE corral_fleet_pool gauge',
    'corral_fleet_pool{template="a",state="ready"} 12',
    'corral_fleet_pool{template="a",state="launching"} 4',
    'corral_fleet_pool{template="b",state="ready"} 1',
    'corral_fleet_breaker_open{template="a"} 0',
  ];
  expect(readyIn(metrics.join('\n'))).toBe(13);
  expect(readyIn('')).toBe(0);
});
