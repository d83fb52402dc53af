-- requires: rollout, verdict
-- A sandbox: starting → ready → draining → gone (no key). `owner` is set by its one grant and never again: a sandbox
-- that has had a rollout can only be destroyed.

-- Which sandboxes have moved: begun, entered a phase, got an owner, been forgotten. Whoever changes one says so here, so that
-- nobody reads thousands each second for the few that did. Moves are numbered: Redis' clock may go back.

-- Of the fleet's newest; a reader is a second behind, and a burst of five hundred is some thousand moves. Whoever is
-- farther behind than this reads all sandboxes.
local movesKept = 10000

local function letGoOfOldMoves()
  local tooMany = redis.call('ZCARD', key.moved) - movesKept
  if tooMany <= 0 then return end
  local oldest = redis.call('ZPOPMIN', key.moved, tooMany)
  redis.call('HSET', key.moves, 'floor', oldest[#oldest])
end

local function movedAll(sandboxes)
  if #sandboxes == 0 then return end
  local last = redis.call('HINCRBY', key.moves, 'last', #sandboxes)
  if last == #sandboxes then redis.call('HSET', key.moves, 'beganMs', nowMs) end
  local numbered = {}
  for index, sandbox in ipairs(sandboxes) do
    numbered[2 * index - 1], numbered[2 * index] = string.format('%.0f', last - #sandboxes + index), sandbox
  end
  if redis.call('ZADD', key.moved, unpack(numbered)) > 0 then letGoOfOldMoves() end
end

local function moved(sandbox)
  movedAll({ sandbox })
end

-- It did not answer when Redis was replaced, so its journal may have calls that its rollout's record lacks.
local function isUnread(sandbox)
  return redis.call('HEXISTS', key.sandbox .. sandbox, 'journalUnread') == 1
end

-- What fleet state knows of a sandbox: `KnownSandbox` of scripts/sandboxes.ts. Of one that is forgotten, its name alone.
local function knownRow(sandbox)
  local phase, sinceMs, owner, template, unread =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'sinceMs', 'owner', 'template', 'journalUnread'))
  return {
    sandbox = sandbox, phase = phase or nil, sinceMs = tonumber(sinceMs), owner = owner or nil, template = template or nil,
    journalUnread = unread and true or nil,
  }
end

local function standing(template)
  return redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.held .. template)
end

-- Templates whose pool may lack something: whoever takes a sandbox from a pool, or asks more of it, says so here, and a
-- reservation that finds one full takes it out. So nobody walks thousands of templates for the few that changed. A controller
-- counts all of them every now and then and names those that lack, for what was said to a Redis that has forgotten.
local function mayLack(template)
  redis.call('SADD', key.lacking, template)
end

-- What sandboxes have cost, in milliseconds by environment and state. A sandbox's time is told when it leaves a state, and
-- the next state begins at that moment, so each of its milliseconds is told once, however often its end is. Of a rollout it
-- is told when the rollout is over, by what became of that; until then the rollout's record keeps it.

local function tellCost(environment, state, ms)
  redis.call('HINCRBY', key.cost, (environment or 'unknown') .. ' ' .. state, ms)
end

-- The rollout is over, or can never be scored.
local function closeCost(id)
  local ms, environment = Rollout.read(id, 'sandboxMs', 'environment')
  if not ms then return end
  local verdict = Verdict.wordAt(id)
  local state = (verdict == 'scored' or verdict == 'discarded') and verdict or 'ungraded'
  redis.call('HDEL', key.rollout .. id, 'sandboxMs')
  tellCost(environment, state, ms)
  local run = key.run .. Rollout.runOf(id)
  if redis.call('EXISTS', run) == 1 then redis.call('HINCRBY', run, 'sandboxMs:' .. state, ms) end
end

-- Where the record is forgotten, nothing came of it.
local function chargeRollout(id, environment, ms)
  local state = Rollout.read(id, 'state')
  if not state then return tellCost(environment, 'ungraded', ms) end
  redis.call('HINCRBY', key.rollout .. id, 'sandboxMs', ms)
  if not Rollout.isOpen(state) then closeCost(id) end
end

-- For whoever is about to change the sandbox's phase or owner, or to forget it. One that is on its way out, or in doubt
-- since Redis was replaced, costs nothing that is told.
local function spend(sandbox)
  local phase, sinceMs, environment, owner =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'sinceMs', 'environment', 'owner'))
  if phase ~= 'starting' and phase ~= 'ready' then return end
  local ms = math.max(0, nowMs - tonumber(sinceMs))
  if ms == 0 then return end
  if phase == 'ready' and owner then return chargeRollout(Rollout.rolloutOf(owner), environment, ms) end
  tellCost(environment, phase, ms)
end

-- Templates with sandboxes, so that a pool is counted without a look at thousands of templates that have none. Every sandbox that begins or is
-- restored enters its template here, and each count of its sandboxes corrects that: controllers count all templates with sandboxes every five
-- seconds.
local function stock(template, sandboxes)
  if sandboxes > 0 then redis.call('SADD', key.stocked, template) else redis.call('SREM', key.stocked, template) end
end

local function enlist(sandbox, template)
  redis.call('SADD', key.sandboxes, sandbox)
  redis.call('SADD', key.templates, template)
  stock(template, 1)
end

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

return {
  standing = standing,
  movedAll = movedAll,
  moved = moved,
  isUnread = isUnread,
  knownRow = knownRow,
  mayLack = mayLack,
  tellCost = tellCost,
  closeCost = closeCost,
  spend = spend,
  stock = stock,
  enlist = enlist,
  leaveStart = leaveStart,
  enterPhase = enterPhase,
  drain = drain,
  drainOf = drainOf,
}
