-- Closes open rollouts of the native face in a run whose lease is over, by portions; says how many are left. The run
-- itself goes on, and so do its rollouts of the other face, which has no such lease. Whoever has renewed it meanwhile keeps the rest.
local run, limit = ARGV[2], tonumber(ARGV[3])
local leaseMs = redis.call('ZSCORE', key.runLeases, run)
if not isInTouch() or not leaseMs or tonumber(leaseMs) > nowMs then return 0 end

local left = 0
for _, id in ipairs(redis.call('SMEMBERS', key.open .. run)) do
  if read(id, 'face') == 'native' then
    if limit > 0 then closeRollout(id, 'closed', 'run_lapsed') else left = left + 1 end
    limit = limit - 1
  end
end
if left == 0 then redis.call('ZREM', key.runLeases, run) end
return left
