import type { Keys } from '#src/adapters/redis/keys.ts';
import { snapshotLua } from './fleet-snapshot.ts';

/** Commands that change nothing. One that is missing here costs a look at fleet state, and no more. */
const reads = [
  'EXISTS',
  'GET',
  'HEXISTS',
  'HGET',
  'HGETALL',
  'HKEYS',
  'HLEN',
  'HMGET',
  'HSTRLEN',
  'LLEN',
  'LRANGE',
  'PTTL',
  'SCARD',
  'SISMEMBER',
  'SMEMBERS',
  'SRANDMEMBER',
  'SSCAN',
  'ZCARD',
  'ZCOUNT',
  'ZRANGE',
  'ZRANGEBYSCORE',
  'ZRANK',
  'ZSCORE',
];

/**
 * Stands for `lib/time.lua`. Time is what the world says, as a second key. Each function answers what went wrong or
 * false, its own reply, the messages it published, and what fleet state has become if it wrote anything: all in one
 * round trip, because several hundred scripts run in a world. Messages are told and not sent: a second connection would
 * hear them at a moment that nobody controls. And what Redis answers in an order of its own, by a secret that is another in
 * each of its processes, is answered in the order of its names, or a seed would not be the same story twice.
 */
export function worldLua(keys: Keys): string {
  return `
local worldMs, published, wrote = 0, {}, false
local reads = { ${reads.map((command) => `${command} = true`).join(', ')} }
local function snapshot() ${snapshotLua(keys)} end
local function callEngine(...) return redis.call(...) end
local function errorReply(text) return redis.error_reply(text) end
local function sha1hex(text) return redis.sha1hex(text) end
local register = redis.register_function
local function textOf(thrown) return type(thrown) == 'table' and thrown.err or tostring(thrown) end

local ordered = {}
function ordered.SMEMBERS(set)
  local members = callEngine('SMEMBERS', set)
  table.sort(members)
  return members
end
function ordered.SRANDMEMBER(set)
  local members = ordered.SMEMBERS(set)
  return members[1 + worldMs % math.max(1, #members)] or false
end
function ordered.SSCAN(set)
  return { '0', ordered.SMEMBERS(set) }
end
function ordered.HGETALL(hash)
  local flat, values, names, sorted = callEngine('HGETALL', hash), {}, {}, {}
  for index = 1, #flat, 2 do
    names[#names + 1], values[flat[index]] = flat[index], flat[index + 1]
  end
  table.sort(names)
  for index, name in ipairs(names) do sorted[2 * index - 1], sorted[2 * index] = name, values[name] end
  return sorted
end

local redis = { error_reply = errorReply, sha1hex = sha1hex }
function redis.call(command, ...)
  if command == 'PUBLISH' then
    for _, word in ipairs({ ... }) do table.insert(published, word) end
    return 0
  end
  wrote = wrote or not reads[command]
  if ordered[command] then return ordered[command](...) end
  return callEngine(command, ...)
end
function redis.register_function(name, run)
  if not run then name, run = name.function_name, name.callback end
  register(name, function(KEYS, ARGV)
    worldMs, published, wrote = tonumber(KEYS[2]), {}, false
    local ran, reply = pcall(run, KEYS, ARGV)
    local failed = not ran or (type(reply) == 'table' and reply.err ~= nil)
    return { failed and textOf(reply), not failed and reply or false, published, wrote and snapshot() }
  end)
end
local function clock() return worldMs end
`;
}
