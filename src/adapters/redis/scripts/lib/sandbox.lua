-- A sandbox: starting → ready → draining → gone (no key). `owner` is set by its one grant and never again: a sandbox
-- that has had a rollout can only be destroyed.

local function leaveStart(sandbox, template)
  redis.call('ZREM', key.starts, sandbox)
  redis.call('SREM', key.starting .. template, sandbox)
end

local function enterPhase(sandbox, phase)
  spend(sandbox)
  redis.call('HSET', key.sandbox .. sandbox, 'phase', phase, 'sinceMs', nowMs)
  moved(sandbox)
end

local function drain(sandbox)
  local template, phase = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase'))
  if not template or phase == 'draining' then return end
  leaveStart(sandbox, template)
  mayLack(template)
  redis.call('ZREM', key.ready .. template, sandbox)
  redis.call('SREM', key.held .. template, sandbox)
  redis.call('ZADD', key.draining, nowMs, sandbox)
  enterPhase(sandbox, 'draining')
  redis.call('PUBLISH', key.work, template)
end

-- Lets go of a rollout's sandbox, if it still is its.
local function drainOf(id, sandbox)
  if sandbox and redis.call('HGET', key.sandbox .. sandbox, 'owner') == id then drain(sandbox) end
end
