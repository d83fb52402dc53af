-- requires: rollout, verdict
-- The record of a rollout as callers get it: `Rollout` of scripts/shapes.ts.

-- One that is over has a line only, which outlives every retry; what else was known of it stands beside for a while.
local function addDetails(id, values)
  for place, value in ipairs(redis.call('HMGET', key.details .. id, unpack(recordFields))) do
    values[place] = values[place] or value
  end
end

-- Nil for a rollout that is unknown. Without its dataset row, which may be a thousand times as long and is asked for by few.
local function read(id)
  local values = redis.call('HMGET', key.rollout .. id, unpack(recordFields))
  local state = values[placeInRecord.state]
  if not state then return nil end
  if not Rollout.isOpen(state) then addDetails(id, values) end
  local named = {}
  for place, field in ipairs(recordFields) do named[field] = values[place] or nil end
  local verdict, discarded = Verdict.of(named)
  for _, field in ipairs(decidingFields) do named[field] = nil end
  named.key, named.inFlight = id, redis.call('SCARD', key.inFlight .. id)
  named.verdict, named.discarded, named.barred = verdict, discarded, Verdict.barredBy(discarded, state, named.closedBy)
  return named
end

return { read = read }
