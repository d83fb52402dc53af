-- requires: call, rollout
-- Set-up: the calls that a trainer marks as such before its policy acts. They are kept whole: if their sandbox is lost before the
-- first other call, another one is given the same state by a replay. Two hashes of a rollout:
--   setup:      `redis`: the Redis in which it began, because another one may have forgotten calls; `call ID`: empty while the call
--               runs, then the number of its step, or `none` if a replay leaves it out; `steps`: how many calls have ended; `step N`:
--               the call and the digest of its end, JSON; `size ID`: bytes of what it sent; `bytes`: all of them; `kept`: the
--               same as stored; `unfit`: why there can be no replay; `replayed`: a generation, and its last step that was replayed
--   setup-sent: call → what to send again, opaque here
-- While a rollout heals, `healing` of its record has the cause of the loss. The release before this one would run calls in a sandbox
-- without the set-up, so it finds a taint in the form that it reads.

local bytesMost = 16 * 1024 * 1024 -- of one rollout
local healsMost = 3 -- what breaks each of its sandboxes may be the set-up itself
local spareMs = 3600 * 1000 -- beyond the hard life of a rollout that a version before has ended
local letGoAtOnce = 20

local function uncount(tenant, bytes)
  if bytes == 0 then return end
  local counter = key.setupBytes .. tenant
  if redis.call('DECRBY', counter, bytes) <= 0 then redis.call('DEL', counter) end
end

local function forget(id)
  local tenant = Rollout.tenantOf(id)
  uncount(tenant, tonumber(redis.call('HGET', key.setup .. id, 'kept') or 0))
  redis.call('UNLINK', key.setup .. id, key.setupSent .. id)
  redis.call('ZREM', key.setups .. tenant, id)
end

-- What a version before this one has ended without knowing of it.
local function letGoOfOld(tenant)
  local over = redis.call('ZRANGEBYSCORE', key.setups .. tenant, '-inf', nowMs, 'LIMIT', 0, letGoAtOnce)
  for _, id in ipairs(over) do forget(id) end
end

-- There can be no replay any more. The marks of its calls stay, because they decide whether another call may come as set-up.
local function makeUnfit(id, why)
  local name = key.setup .. id
  uncount(Rollout.tenantOf(id), tonumber(redis.call('HGET', name, 'kept') or 0))
  redis.call('HSET', name, 'unfit', why, 'kept', 0)
  redis.call('UNLINK', key.setupSent .. id)
end

-- `said.mostBytes`: the share of Redis that the set-up of one tenant's open rollouts may have.
local function keep(id, call, sent, said)
  local name, counter = key.setup .. id, key.setupBytes .. Rollout.tenantOf(id)
  local bytes, unfit = unpack(redis.call('HMGET', name, 'bytes', 'unfit'))
  if unfit then return end
  if sent == '' and said.bytes <= bytesMost then return makeUnfit(id, 'its gateway had no room to keep its set-up') end
  if tonumber(bytes or 0) + said.bytes > bytesMost then return makeUnfit(id, 'its set-up is larger than 16 MiB') end
  if tonumber(redis.call('GET', counter) or 0) + #sent > said.mostBytes then
    return makeUnfit(id, "the set-up of its tenant's open rollouts fills their share of Redis")
  end
  redis.call('HSET', key.setupSent .. id, call, sent)
  redis.call('HSET', name, 'size ' .. call, said.bytes)
  redis.call('HINCRBY', name, 'bytes', said.bytes)
  redis.call('HINCRBY', name, 'kept', #sent)
  redis.call('INCRBY', counter, #sent)
end

-- Whether all calls of this rollout are known for certain. A Redis that took the place of another may lack some, and then a mark
-- means nothing.
local function isSure(placedAtMs)
  local recoveredMs = redis.call('GET', key.recovered)
  return not recoveredMs or tonumber(placedAtMs) > tonumber(recoveredMs)
end

-- A call is dispatched as set-up. An upload is brought with its end.
local function begin(id, call, hardEndMs, redisRun, sent, said)
  local name, tenant = key.setup .. id, Rollout.tenantOf(id)
  if redis.call('HSETNX', name, 'redis', redisRun) == 1 then
    letGoOfOld(tenant)
    Rollout.write(id, 'setup', 1)
    redis.call('ZADD', key.setups .. tenant, hardEndMs + spareMs, id)
  end
  redis.call('HSET', name, 'call ' .. call, '')
  if sent ~= '' or said.bytes > 0 then keep(id, call, sent, said) end
end

-- It was never sent, or its sandbox was lost before its end was stored: a repeat is a call of its own.
local function unmark(id, call)
  local name = key.setup .. id
  local size = tonumber(redis.call('HGET', name, 'size ' .. call) or 0)
  local kept = redis.call('HSTRLEN', key.setupSent .. id, call)
  redis.call('HDEL', name, 'call ' .. call, 'size ' .. call)
  redis.call('HDEL', key.setupSent .. id, call)
  if kept == 0 then return end
  redis.call('HINCRBY', name, 'bytes', -size)
  redis.call('HINCRBY', name, 'kept', -kept)
  uncount(Rollout.tenantOf(id), kept)
end

local function isMarked(id, call)
  return redis.call('HEXISTS', key.setup .. id, 'call ' .. call) == 1
end

-- One that was cancelled before it was sent ran nothing, and nothing knows whether it would have been set-up.
local function neverBegan(summary)
  return summary[5] == 'no' and summary[6] == 'cancelled'
end

-- Whether a call has come that is no set-up. It is asked of the calls themselves, because the release before marks none.
local function isOver(id)
  for _, call in ipairs(redis.call('HKEYS', key.calls .. id)) do
    if not isMarked(id, call) and not neverBegan(Call.read(id, call)) then return true end
  end
  return false
end

-- A call has ended. `said` is missing if no replay could repeat its end; `none`: a replay leaves it out.
local function finish(id, call, said, sent)
  local name = key.setup .. id
  if not isMarked(id, call) or redis.call('HEXISTS', name, 'unfit') == 1 then return end
  if said and said.none then return redis.call('HSET', name, 'call ' .. call, 'none') end
  if said and (sent ~= '' or (said.bytes or 0) > 0) then keep(id, call, sent, said) end
  if not said or redis.call('HEXISTS', key.setupSent .. id, call) == 0 then
    return makeUnfit(id, 'the call ' .. call .. ' cannot be repeated')
  end
  local step = redis.call('HINCRBY', name, 'steps', 1)
  redis.call('HSET', name, 'call ' .. call, step, 'step ' .. step, cjson.encode({ call = call, digest = said.digest }))
end

-- Why the state of this rollout cannot be made again; nil if it can.
local function obstacle(id, redisRun)
  local name = key.setup .. id
  local began, unfit = unpack(redis.call('HMGET', name, 'redis', 'unfit'))
  if not began then return 'it has run calls that are no set-up' end
  if began ~= redisRun then return 'Redis was replaced since its set-up began' end
  if unfit then return unfit end
  local flat = redis.call('HGETALL', key.calls .. id)
  for index = 1, #flat, 2 do
    local call, summary = flat[index], cjson.decode(flat[index + 1])
    local mark = redis.call('HGET', name, 'call ' .. call)
    if not mark and not neverBegan(summary) then return 'it has run calls that are no set-up' end
    if mark == '' and Call.isSettled(summary) then return 'the call ' .. call .. ' cannot be repeated' end
  end
  return nil
end

-- Its sandbox is lost, and another one is to get its state. Calls that ran are withdrawn: each was not answered, so a repeat runs in
-- the next sandbox. False: it has had as many sandboxes as it may.
local function heal(id, cause)
  if redis.call('HINCRBY', key.rollout .. id, 'heals', 1) > healsMost then return false end
  for _, call in ipairs(redis.call('SMEMBERS', key.inFlight .. id)) do
    Call.withdraw(id, call, false)
    unmark(id, call)
  end
  Rollout.write(id, 'healing', cause, 'taintCode', 'recovering', 'taintCause', '', 'taintEvidence', '{}', 'taintAtMs', nowMs)
  return true
end

local function endHealing(id)
  redis.call('HDEL', key.rollout .. id, 'healing', 'taintCode', 'taintCause', 'taintEvidence', 'taintAtMs')
end

-- The number of the last step that was replayed in the sandbox of this generation, and how many there are.
local function progress(id, generation)
  local replayed, steps = unpack(redis.call('HMGET', key.setup .. id, 'replayed', 'steps'))
  local of, step = string.match(replayed or '', '^(%d+) (%d+)$')
  return tonumber(of) == tonumber(generation) and tonumber(step) or 0, tonumber(steps or 0)
end

local function isReplayed(id, generation)
  local replayed, steps = progress(id, generation)
  return replayed == steps
end

local function readStep(id, step)
  return cjson.decode(redis.call('HGET', key.setup .. id, 'step ' .. step))
end

local function noteReplayed(id, generation, step)
  if step > progress(id, generation) then
    redis.call('HSET', key.setup .. id, 'replayed', string.format('%d %d', generation, step))
  end
end

-- There is nothing to heal any more: the policy acts, the rollout is graded, or it has ended.
local function leave(id)
  local setup, healing = Rollout.read(id, 'setup', 'healing')
  if healing then endHealing(id) end
  if not setup then return end
  forget(id)
  redis.call('HDEL', key.rollout .. id, 'setup')
end

return {
  isSure = isSure,
  begin = begin,
  unmark = unmark,
  isMarked = isMarked,
  isOver = isOver,
  finish = finish,
  obstacle = obstacle,
  heal = heal,
  endHealing = endHealing,
  progress = progress,
  isReplayed = isReplayed,
  readStep = readStep,
  noteReplayed = noteReplayed,
  leave = leave,
}
