import type { StateServer } from '#src/ports/fleet/server.ts';

/** What INFO tells of the Redis at the other end. */
export type Identity = {
  /** Another one after every restart and on every replica. */
  readonly redisRun: string;
  readonly isReplica: boolean;
  readonly server: StateServer;
};

/** Null where it does not name itself, as something else than Redis would not. */
export function identityOf(info: string): Identity | null {
  const lines = info.split('\n').map((line) => [line.slice(0, line.indexOf(':')), valueIn(line)] as const);
  const told = new Map(lines);
  const read = (name: string) => told.get(name) ?? '';
  if (read('run_id') === '') return null;
  const limitBytes = Number(read('maxmemory'));
  return {
    redisRun: read('run_id'),
    isReplica: read('role') === 'slave',
    server: {
      version: read('redis_version'),
      evictionPolicy: read('maxmemory_policy'),
      memoryLimitBytes: limitBytes > 0 ? limitBytes : null,
      appendOnly: read('aof_enabled') === '1',
    },
  };
}

const valueIn = (line: string) => line.slice(line.indexOf(':') + 1).trim();

/** Its scripts are functions, which older ones do not have. */
const oldestMajor = 7;

/** Why this server must not hold fleet state, and what to do; null: it may. */
export function unfitness(server: StateServer, mayEvict: boolean): string | null {
  const { version, evictionPolicy } = server;
  if (Number.parseInt(version, 10) < oldestMajor)
    return `Redis is version ${version}; fleet state needs ${oldestMajor}.0 or later (or Valkey)`;
  if (evictionPolicy !== '' && evictionPolicy !== 'noeviction' && !mayEvict)
    return `Redis has maxmemory-policy ${evictionPolicy}, which forgets rollouts when its memory is full; set noeviction, or CORRAL_REDIS_MAY_EVICT=1 to live with it`;
  return null;
}
