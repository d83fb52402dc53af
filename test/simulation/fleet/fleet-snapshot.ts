import type { Keys } from '#src/adapters/redis/keys.ts';

/** Runs whose rollouts are looked at, as `tenant/run`. */
export const simulatedRuns = ['lab/run-1', 'lab/run-2'] as const;

export type RolloutRow = {
  readonly key: string;
  readonly state: string;
  readonly sandbox: string;
  readonly boot: string;
  /** Empty while it is open. */
  readonly verdict: string;
  /** The code that discarded it; empty: none has. */
  readonly discard: string;
  readonly suspected: string;
  readonly score: string;
  readonly dispatched: boolean;
  /** When it got its sandbox, on Redis' clock. */
  readonly claimedAtMs: number;
  readonly inFlight: number;
  /** Calls that it has recorded, while it is open. */
  readonly calls: ReadonlySet<string>;
  /** Those of them that have not settled. */
  readonly running: ReadonlySet<string>;
  /** The policy broke its own sandbox. */
  readonly broken: boolean;
  /** It is given its set-up in another sandbox. */
  readonly healing: boolean;
  /** What closed it; empty while it is open. */
  readonly closedBy: string;
  /** On Redis' clock. */
  readonly closedAtMs: number;
  /** The turn of its grader, by the name of who asked for it, and when it ends, on Redis' clock; null: none is under way. */
  readonly turn: { readonly by: string; readonly untilMs: number } | null;
};

export type SandboxRow = {
  readonly sandbox: string;
  readonly phase: string;
  readonly owner: string;
  /** The number of its last move. */
  readonly move: number;
};

/** Fleet state as it stands after a script: what the invariants speak of, and nothing else. */
export type FleetSnapshot = {
  readonly text: string;
  readonly rollouts: ReadonlyMap<string, RolloutRow>;
  readonly sandboxes: ReadonlyMap<string, SandboxRow>;
  /** The number of the last move of all. */
  readonly moves: number;
  /** Templates with sandboxes that the list of such templates lacks. */
  readonly uncounted: readonly string[];
  /** Members of the sets that must be empty when nothing is going on. */
  readonly left: {
    readonly leases: number;
    readonly grants: number;
    readonly waiters: number;
    readonly starts: number;
  };
  /** Outcomes counted in the runs' reports, and calls that have settled. */
  readonly settled: { readonly counted: number; readonly calls: number };
  /** When the grant that was renewed least recently was renewed, on Redis' clock; null without grants. */
  readonly oldestGrantMs: number | null;
};

/** Body of a Lua function that returns one line for each rollout and sandbox. */
export function snapshotLua(keys: Keys): string {
  const runs = simulatedRuns.map((run) => `'${run}'`).join(', ');
  return `
local lines = {}
local function add(...)
  local values = { ... }
  for index, value in ipairs(values) do values[index] = tostring(value or '') end
  lines[#lines + 1] = table.concat(values, '\\t')
end
local counted, calls = 0, 0
-- Of one that is over its line knows all of its calls, by five bytes each.
local function settled(id, state)
  if state ~= 'closed' and state ~= 'expired' then return redis.call('HLEN', '${keys('calls')}' .. id) end
  local bytes, fields = 0, redis.call('HGETALL', '${keys('rollout')}' .. id)
  for index = 1, #fields, 2 do
    if string.match(fields[index], '^called%d+$') then bytes = bytes + #fields[index + 1] end
  end
  return bytes / 5
end
for _, run in ipairs({ ${runs} }) do
  local counters = redis.call('HGETALL', '${keys('run')}' .. run)
  for index = 1, #counters, 2 do
    if string.sub(counters[index], 1, 8) == 'outcome:' then counted = counted + counters[index + 1] end
  end
  for _, id in ipairs(redis.call('ZRANGE', '${keys('rollouts')}' .. run, 0, -1)) do
    local function read(name)
      return redis.call('HMGET', name .. id, 'state', 'sandbox', 'boot', 'discard', 'score', 'dispatched',
        'claimedAtMs', 'broken', 'closedBy', 'closedAtMs', 'gradeBy', 'gradeUntilMs', 'verdict', 'suspected', 'healing')
    end
    local values = read('${keys('rollout')}')
    for place, value in ipairs(read('${keys('details')}')) do values[place] = values[place] or value end
    local inFlight = redis.call('SCARD', '${keys('inFlight')}' .. id)
    calls = calls + settled(id, values[1]) - inFlight
    local named = redis.call('HKEYS', '${keys('calls')}' .. id)
    table.sort(named)
    local running = redis.call('SMEMBERS', '${keys('inFlight')}' .. id)
    table.sort(running)
    add('r', id, values[1], values[2], values[3], values[4], values[5], values[6], values[7], inFlight, values[8],
      values[9], values[10], values[11], values[12], values[13], values[14], values[15],
      table.concat(named, ','), table.concat(running, ','))
  end
end
local boxes = redis.call('SMEMBERS', '${keys('sandboxes')}')
table.sort(boxes)
for _, box in ipairs(boxes) do
  local values = redis.call('HMGET', '${keys('sandbox')}' .. box, 'phase', 'owner')
  add('s', box, values[1], values[2], redis.call('ZSCORE', '${keys('moved')}', box))
end
local templates = redis.call('SMEMBERS', '${keys('templates')}')
table.sort(templates)
for _, template in ipairs(templates) do
  local sandboxes = redis.call('ZCARD', '${keys('ready')}' .. template) + redis.call('SCARD', '${keys('starting')}' .. template)
    + redis.call('SCARD', '${keys('held')}' .. template)
  if sandboxes > 0 and redis.call('SISMEMBER', '${keys('stocked')}', template) == 0 then add('t', template) end
end
add('l', redis.call('ZCARD', '${keys('leases')}'), redis.call('ZCARD', '${keys('grants')}'),
  redis.call('ZCARD', '${keys('waiters')}'), redis.call('ZCARD', '${keys('starts')}'))
add('c', counted, calls, redis.call('ZRANGE', '${keys('grants')}', 0, 0, 'WITHSCORES')[2] or '',
  redis.call('HGET', '${keys('moves')}', 'last'))
return table.concat(lines, '\\n')`;
}

/** The snapshot that a text of {@link snapshotLua} tells; `before` itself when nothing has changed. */
export function readState(text: string, before: FleetSnapshot | null): FleetSnapshot {
  if (before?.text === text) return before;
  const lines = text.split('\n').map((line) => line.split('\t'));
  const rollouts = lines.filter(([kind]) => kind === 'r').map(rolloutRow);
  const sandboxes = lines.filter(([kind]) => kind === 's').map(sandboxRow);
  const [, leases, grants, waiters, starts] = lines.find(([kind]) => kind === 'l') ?? [];
  const [, counted = '0', calls = '0', oldest = '', moves = '0'] = lines.find(([kind]) => kind === 'c') ?? [];
  return {
    text,
    settled: { counted: Number(counted), calls: Number(calls) },
    moves: Number(moves),
    oldestGrantMs: oldest === '' ? null : Number(oldest),
    rollouts: new Map(rollouts.map((row) => [row.key, row])),
    sandboxes: new Map(sandboxes.map((row) => [row.sandbox, row])),
    uncounted: lines.flatMap(([kind, template = '']) => (kind === 't' ? [template] : [])),
    left: {
      leases: Number(leases ?? 0),
      grants: Number(grants ?? 0),
      waiters: Number(waiters ?? 0),
      starts: Number(starts ?? 0),
    },
  };
}

function rolloutRow(values: readonly string[]): RolloutRow {
  const [, key = '', state = '', sandbox = '', boot = '', discard = '', score = '', dispatched = ''] = values;
  const [claimedAtMs = '0', inFlight = '0', broken = '', closedBy = '', closedAtMs = ''] = values.slice(8);
  const [by = '', untilMs = '0', verdict = '', suspected = '', healing = '', calls = '', running = ''] =
    values.slice(13);
  return {
    key,
    state,
    sandbox,
    boot,
    verdict,
    discard,
    suspected,
    score,
    dispatched: dispatched !== '',
    claimedAtMs: Number(claimedAtMs),
    inFlight: Number(inFlight),
    calls: new Set(calls.split(',')),
    running: new Set(running.split(',')),
    broken: broken !== '',
    healing: healing !== '',
    closedBy,
    closedAtMs: Number(closedAtMs),
    turn: Number(untilMs) === 0 ? null : { by, untilMs: Number(untilMs) },
  };
}

function sandboxRow(values: readonly string[]): SandboxRow {
  const [, sandbox = '', phase = '', owner = '', move = '0'] = values;
  return { sandbox, phase, owner, move: Number(move) };
}
