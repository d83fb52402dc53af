-- requires: rollout
-- Set-up: the calls that a trainer marks as such before its policy acts. They are kept whole: if their sandbox is lost between two
-- calls, before the first other call, the next sandbox gets the same state by a replay. In every doubt there is no replay, and the loss
-- discards the rollout. Two hashes of a rollout:
--   setup:      `redis`: the Redis in which it began, because another one may have forgotten calls; `call ID`: it came with the mark;
--               `marks`: how many such calls there are; `running`: the call that has no end yet; `steps`: how many calls have ended; `step N`: the call and the digest of its
--               end, JSON; `tookMs`: of all of them; `untilMs`: when this expires; `bytes`: of what they sent; `kept`: the same as stored; `unfit`: why there can be
--               no replay; `replays`: sandboxes in which one began; `replayed`: the generation of the last of them, and its last step
--               that was replayed
--   setup-sent: call → what to send again, opaque here
-- `dispatched` of its record is `setup` until a call without the mark is dispatched: whether the policy may have acted.
-- While a rollout heals, `healing` of its record has the cause of the loss.

local bytesMost = 16 * 1024 * 1024 -- of one rollout
local stepsMost, tookMostMs = 256, 5 * 60 * 1000 -- a replay takes as long again, and its rollout waits for it
local spareMs = 2 * 3600 * 1000 -- beyond the hard life of a rollout
local replaysMost = 3 -- what breaks each of its sandboxes may be the set-up itself

local function uncount(tenant, bytes)
  if bytes == 0 then return end
  local counter = key.setupBytes .. tenant
  if redis.call('DECRBY', counter, bytes) <= 0 then redis.call('DEL', counter) end
end

local function forget(id)
  uncount(Rollout.tenantOf(id), tonumber(redis.call('HGET', key.setup .. id, 'kept') or 0))
  redis.call('UNLINK', key.setup .. id, key.setupSent .. id)
end

local function lastsUntil(name, atMs)
  if redis.call('PTTL', name) < atMs - nowMs then redis.call('PEXPIRE', name, math.floor(atMs - nowMs)) end
end

-- There can be no replay any more. The marks of its calls stay, because they decide whether another call may come as set-up.
local function makeUnfit(id, why)
  local name = key.setup .. id
  uncount(Rollout.tenantOf(id), tonumber(redis.call('HGET', name, 'kept') or 0))
  redis.call('HSETNX', name, 'unfit', why)
  redis.call('HSET', name, 'kept', 0)
  redis.call('UNLINK', key.setupSent .. id)
end

-- `said.mostBytes`: the share of Redis that the set-up of one tenant's open rollouts may have.
local function keep(id, call, sent, said)
  local name, counter = key.setup .. id, key.setupBytes .. Rollout.tenantOf(id)
  local bytes, unfit, untilMs = unpack(redis.call('HMGET', name, 'bytes', 'unfit', 'untilMs'))
  if unfit then return end
  if sent == '' and said.bytes <= bytesMost then return makeUnfit(id, 'its gateway had no room to keep its set-up') end
  if tonumber(bytes or 0) + said.bytes > bytesMost then return makeUnfit(id, 'its set-up is larger than 16 MiB') end
  if redis.call('EXISTS', key.full) == 1 then return makeUnfit(id, 'Redis had no room to keep its set-up') end
  if tonumber(redis.call('GET', counter) or 0) + #sent > said.mostBytes then
    return makeUnfit(id, "the set-up of its tenant's open rollouts fills their share of Redis")
  end
  redis.call('HSET', key.setupSent .. id, call, sent)
  redis.call('HINCRBY', name, 'bytes', said.bytes)
  redis.call('HINCRBY', name, 'kept', #sent)
  redis.call('INCRBY', counter, #sent)
  lastsUntil(key.setupSent .. id, tonumber(untilMs))
  lastsUntil(counter, tonumber(untilMs))
end

-- Whether all calls of this rollout are known for certain. A Redis that took the place of another may lack some, and then a mark
-- means nothing.
local function isSure(placedAtMs)
  local recoveredMs = redis.call('GET', key.recovered)
  return not recoveredMs or tonumber(placedAtMs) > tonumber(recoveredMs)
end

-- A call is dispatched as set-up. What an upload sends is brought with its end. Calls that run at the same time may depend on one
-- another in ways that no order of a replay repeats.
local function begin(id, call, hardEndMs, redisRun, sent, said)
  local name, untilMs = key.setup .. id, hardEndMs + spareMs
  if redis.call('HSETNX', name, 'redis', redisRun) == 1 then
    Rollout.write(id, 'setup', 1)
    redis.call('HSET', name, 'untilMs', string.format('%.0f', untilMs))
    lastsUntil(name, untilMs)
  end
  if redis.call('HEXISTS', name, 'running') == 1 then makeUnfit(id, 'its set-up calls overlapped') end
  if redis.call('HSETNX', name, 'call ' .. call, 1) == 1 then redis.call('HINCRBY', name, 'marks', 1) end
  redis.call('HSET', name, 'running', call)
  if sent ~= '' or said.bytes > 0 then keep(id, call, sent, said) end
end

local function isRunning(id, call)
  return redis.call('HGET', key.setup .. id, 'running') == call
end

-- It was never sent: a repeat is a call of its own.
local function unmark(id, call)
  local name = key.setup .. id
  if redis.call('HDEL', name, 'call ' .. call) == 1 then redis.call('HINCRBY', name, 'marks', -1) end
  if not isRunning(id, call) then return end
  redis.call('HDEL', name, 'running')
  local kept = redis.call('HSTRLEN', key.setupSent .. id, call)
  if kept == 0 then return end
  redis.call('HDEL', key.setupSent .. id, call)
  redis.call('HINCRBY', name, 'bytes', -kept)
  redis.call('HINCRBY', name, 'kept', -kept)
  uncount(Rollout.tenantOf(id), kept)
end

-- A call has its outcome. One that was cancelled before it was sent ran nothing, and nothing knows whether it would have been set-up.
local function noteUnsent(id, call, summary)
  local isUnsent = summary[5] == 'no' and summary[6] == 'cancelled'
  if isUnsent and redis.call('HEXISTS', key.setup .. id, 'call ' .. call) == 0 then
    redis.call('HINCRBY', key.rollout .. id, 'unsent', 1)
  end
end

-- Whether a call has come that is no set-up, also one that ran nothing.
local function isOver(id)
  local marks, unsent = redis.call('HGET', key.setup .. id, 'marks'), Rollout.read(id, 'unsent')
  return redis.call('HLEN', key.calls .. id) > tonumber(marks or 0) + tonumber(unsent or 0)
end

-- A call has ended. `said` is missing if no replay could repeat its end.
local function finish(id, call, said, sent, tookMs)
  local name = key.setup .. id
  if not isRunning(id, call) or redis.call('HEXISTS', name, 'unfit') == 1 then return end
  if said and said.bytes then keep(id, call, sent, said) end
  if not said or redis.call('HEXISTS', key.setupSent .. id, call) == 0 then
    return makeUnfit(id, 'the call ' .. call .. ' cannot be repeated')
  end
  local step = redis.call('HINCRBY', name, 'steps', 1)
  local together = redis.call('HINCRBY', name, 'tookMs', math.ceil(tookMs))
  if step > stepsMost or together > tookMostMs then return makeUnfit(id, 'its set-up has too many calls, or takes too long') end
  redis.call('HDEL', name, 'running')
  redis.call('HSET', name, 'step ' .. step, cjson.encode({ call = call, digest = said.digest }))
end

-- Whether only set-up was ever dispatched.
local function isAlone(id)
  return (Rollout.read(id, 'dispatched')) == 'setup'
end

-- Why the state of this rollout cannot be made again; nil if it can.
local function obstacle(id, redisRun)
  local began, unfit, running = unpack(redis.call('HMGET', key.setup .. id, 'redis', 'unfit', 'running'))
  if not began or not isAlone(id) then return 'it has run calls that are no set-up' end
  if began ~= redisRun then return 'Redis was replaced since its set-up began' end
  if unfit then return unfit end
  if running then return 'the call ' .. running .. ' had not ended' end
  return nil
end

-- Its sandbox is lost, and another one is to get its state.
local function heal(id, cause)
  redis.call('HINCRBY', key.rollout .. id, 'heals', 1)
  Rollout.write(id, 'healing', cause)
end

local function endHealing(id)
  redis.call('HDEL', key.rollout .. id, 'healing')
end

-- The number of the last step that was replayed in the sandbox of this generation, nil if no replay began there; and how many there are.
local function progress(id, generation)
  local replayed, steps = unpack(redis.call('HMGET', key.setup .. id, 'replayed', 'steps'))
  local of, step = string.match(replayed or '', '^(%d+) (%d+)$')
  return tonumber(of) == tonumber(generation) and tonumber(step) or nil, tonumber(steps or 0)
end

local function isReplayed(id, generation)
  local replayed, steps = progress(id, generation)
  return replayed == steps
end

local function note(id, generation, step)
  redis.call('HSET', key.setup .. id, 'replayed', string.format('%d %d', generation, step))
end

-- A replay begins, or goes on, in the sandbox of this generation; false: the rollout has had as many as it may.
local function enter(id, generation)
  if progress(id, generation) then return true end
  note(id, generation, 0)
  return redis.call('HINCRBY', key.setup .. id, 'replays', 1) <= replaysMost
end

local function readStep(id, step)
  return cjson.decode(redis.call('HGET', key.setup .. id, 'step ' .. step))
end

local function noteReplayed(id, generation, step)
  if step > progress(id, generation) then note(id, generation, step) end
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
  isRunning = isRunning,
  noteUnsent = noteUnsent,
  isOver = isOver,
  finish = finish,
  obstacle = obstacle,
  heal = heal,
  endHealing = endHealing,
  progress = progress,
  isReplayed = isReplayed,
  enter = enter,
  readStep = readStep,
  noteReplayed = noteReplayed,
  leave = leave,
}
