-- What sandboxes have cost, in milliseconds by environment and state. A sandbox's time is told when it leaves a state, and
-- the next state begins at that moment, so each of its milliseconds is told once, however often its end is. Of a rollout it
-- is told when the rollout is over, by what became of that; until then the rollout's record keeps it.

local function tellCost(environment, state, ms)
  redis.call('HINCRBY', key.cost, (environment or 'unknown') .. ' ' .. state, ms)
end

-- The rollout is over, or can never be scored.
local function closeCost(id)
  local ms, environment, score, discarded = read(id, 'sandboxMs', 'environment', 'score', 'discard')
  if not ms then return end
  local state = score and 'scored' or discarded and 'discarded' or 'ungraded'
  redis.call('HDEL', key.rollout .. id, 'sandboxMs')
  tellCost(environment, state, ms)
  local run = key.run .. runOf(id)
  if redis.call('EXISTS', run) == 1 then redis.call('HINCRBY', run, 'sandboxMs:' .. state, ms) end
end

-- Where the record is forgotten, nothing came of it.
local function chargeRollout(id, environment, ms)
  local state = read(id, 'state')
  if not state then return tellCost(environment, 'ungraded', ms) end
  redis.call('HINCRBY', key.rollout .. id, 'sandboxMs', ms)
  if not isOpen(state) then closeCost(id) end
end

-- For whoever is about to change the sandbox's phase or owner, or to forget it. One that is on its way out, or in doubt
-- since Redis was replaced, costs nothing that is told.
local function spend(sandbox)
  local phase, sinceMs, environment, owner =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'sinceMs', 'environment', 'owner'))
  if phase ~= 'starting' and phase ~= 'ready' then return end
  local ms = math.max(0, nowMs - tonumber(sinceMs))
  if ms == 0 then return end
  if phase == 'ready' and owner then return chargeRollout(owner, environment, ms) end
  tellCost(environment, phase, ms)
end
