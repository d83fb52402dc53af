-- unguarded: it is what decides whether this Redis is the fleet's.
-- Makes this Redis the fleet's. `empty`: only if it holds no fleet; `persisted`: with whatever it has kept.
local redisRun, mode = ARGV[1], ARGV[2]

local function holdsFleet()
  return redis.call('EXISTS', key.leases, key.sandboxes, key.templates, key.waiters) > 0
end

if redis.call('GET', key.redis) == redisRun then return 'already' end
if mode ~= 'persisted' and holdsFleet() then return 'refused' end
redis.call('SET', key.redis, redisRun)
if mode == 'persisted' then
  redis.call('SET', key.recovered, nowMs, 'PX', unsureKeptMs)
  redis.call('PEXPIRE', key.unsure, unsureKeptMs)
  redis.call('PEXPIRE', key.nameless, unsureKeptMs)
end
return 'adopted'
