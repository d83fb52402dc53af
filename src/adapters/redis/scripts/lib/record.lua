-- requires: rollout, verdict
-- The record of a rollout as callers get it: `Rollout` of scripts/shapes.ts.

-- One that is over has a line only, which outlives every retry; what else was known of it stands beside for a while.
local function addDetails(id, has)
  for field, value in pairs(Rollout.fieldsOf(key.details .. id)) do has[field] = has[field] or value end
end

-- The record that these fields of its hash make.
local function of(id, has)
  local named = {}
  for _, field in ipairs(replyFields) do named[field] = has[field] or nil end
  local verdict, discarded = Verdict.of(has)
  named.key, named.inFlight = id, redis.call('SCARD', key.inFlight .. id)
  named.verdict, named.discarded, named.barred = verdict, discarded, Verdict.barredBy(discarded, has.state, has.closedBy)
  return named
end

-- Nil for a rollout that is unknown. Without its dataset row, which may be a thousand times as long and is asked for by few.
local function read(id)
  local has = Rollout.fieldsOf(key.rollout .. id)
  if not has.state then return nil end
  if not Rollout.isOpen(has.state) then addDetails(id, has) end
  return of(id, has)
end

return { of = of, read = read }
