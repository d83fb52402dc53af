-- Closes rollouts whose lease has passed while nothing was dispatched or being graded and somebody could have renewed it,
-- and all whose hard life is over: their sandboxes end by themselves then.
local limit = tonumber(ARGV[2])
local lookAgainMs = 10 * 1000 -- a rollout that is spared past its lease is looked at again then
local inTouch = isInTouch()

local function isSpared(id, gradeUntilMs)
  return not inTouch or redis.call('SCARD', key.inFlight .. id) > 0 or tonumber(gradeUntilMs or 0) > nowMs
end

local expired = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', key.leases, '-inf', nowMs, 'LIMIT', 0, limit)) do
  local hardEndMs, gradeUntilMs = read(id, 'hardEndMs', 'gradeUntilMs')
  if not hardEndMs then
    redis.call('ZREM', key.leases, id)
  elseif nowMs >= tonumber(hardEndMs) then
    closeRollout(id, 'expired', 'hard_life')
    expired[#expired + 1] = record(id)
  elseif isSpared(id, gradeUntilMs) then
    redis.call('ZADD', key.leases, math.min(nowMs + lookAgainMs, tonumber(hardEndMs)), id)
  else
    closeRollout(id, 'expired', 'idle')
    expired[#expired + 1] = record(id)
  end
end
forgetPlaces()
return expired
