-- requires: line, outage, rollout, sandbox, wakeup
-- Grants: a sandbox gets its owner in `takeOver`, and nowhere else but for `restore-rollout` (recovery.lua), which writes down
-- whom the sandbox itself names. What a grant writes beside that is told twice: `grantToNext` gives a sandbox to whoever
-- is next in line (`nextWaiter`, line.lua), in a record that is there; `createHeld` (opening.lua) gives it with a record that is only made, and a burst's
-- claims write theirs together. A grant that changes is changed in both.

local servedAtOnce = 100 -- grants of one script; the next renewal serves the rest

-- Gives the sandbox its owner; returns its boot and address, its environment, and how long it was ready. Whoever calls it
-- writes that down, tells that it moved, and what else follows from a grant.
local function takeOver(id, sandbox, atMs)
  local box = key.sandbox .. sandbox
  local boot, address, sinceMs, environment =
    unpack(redis.call('HMGET', box, 'boot', 'address', 'sinceMs', 'environment'))
  redis.call('HSET', box, 'owner', id, 'sinceMs', atMs)
  return boot, address, environment or 'unknown', math.max(0, nowMs - tonumber(sinceMs))
end

local function popReady(template)
  return redis.call('ZPOPMIN', key.ready .. template)[1]
end

-- Grants `sandbox` to the next waiter of its template and returns who that is; nil when nobody waits, or while whoever
-- waits may live in a sandbox that has not answered yet: to a copy that missed the last second it still stood in line.
local function grantToNext(template, sandbox, launchType)
  if Outage.awaitsNameless() then return nil end
  local id, run = Line.nextWaiter(template)
  if not id then return nil end
  Line.leave(id, template)
  Line.passTurn(key.turns .. template, run)
  local boot, address, environment, readyMs = takeOver(id, sandbox, nowMs)
  if readyMs > 0 then Sandbox.tellCost(environment, 'ready', readyMs) end
  Sandbox.mayLack(template)
  redis.call('SADD', key.held .. template, sandbox)
  redis.call('ZADD', key.grants, nowMs, id)
  Sandbox.moved(sandbox)
  Rollout.write(id, 'state', 'claimed', 'sandbox', sandbox, 'boot', boot, 'address', address,
    'launchType', launchType, 'claimedAtMs', nowMs)
  local generation = redis.call('HINCRBY', key.rollout .. id, 'generation', 1)
  Wakeup.granted(id, {
    sandbox = sandbox, boot = boot, address = address, launchType = launchType, generation = generation, claimedAtMs = nowMs,
  })
  return id
end

-- Ready sandboxes to those who wait, in their order. True: somebody was granted one.
local function serveLine(template)
  if Outage.awaitsNameless() then return false end
  for served = 0, servedAtOnce - 1 do
    if redis.call('ZCARD', key.ready .. template) == 0 or not Line.nextWaiter(template) then return served > 0 end
    grantToNext(template, popReady(template), 'warm')
  end
  return true
end

-- A rollout gives its sandbox up before anything ran in it: the sandbox is destroyed, because it may have been
-- bound; the rollout waits again.
local function giveUpSandbox(id)
  Sandbox.drainOf(id, (Rollout.read(id, 'sandbox')))
  redis.call('ZREM', key.grants, id)
  redis.call('HDEL', key.rollout .. id, 'sandbox', 'boot', 'address', 'launchType', 'claimedAtMs', 'activeAtMs', 'awayMs',
    'broken')
  Rollout.write(id, 'state', 'waiting')
  redis.call('HINCRBY', key.rollout .. id, 'generation', 1)
end

local function swapToHead(id)
  local template, placedAtMs = Rollout.read(id, 'template', 'placedAtMs')
  giveUpSandbox(id)
  Line.join(id, template, placedAtMs - Line.headStart)
  Wakeup.released(id)
  serveLine(template)
end

return {
  takeOver = takeOver,
  popReady = popReady,
  grantToNext = grantToNext,
  serveLine = serveLine,
  giveUpSandbox = giveUpSandbox,
  swapToHead = swapToHead,
}
