-- unguarded: it is what decides whether this Redis is the fleet's.
-- Makes this Redis the fleet's. `empty`: only if it holds no fleet; `persisted`: with whatever it has kept. Where something
-- was written back before, ARGV[3] says into which Redis: another one, that came meanwhile, has not got all of it.
local redisRun, mode, writtenBackInto = unpack(ARGV)

local function holdsFleet()
  return redis.call('EXISTS', key.leases, key.sandboxes, key.templates, key.waiters) > 0
end

if redis.call('GET', key.redis) == redisRun then return 'already' end
if writtenBackInto and writtenBackInto ~= redisRun then return 'refused' end
if mode ~= 'persisted' and holdsFleet() then return 'refused' end
redis.call('SET', key.redis, redisRun)
if mode == 'persisted' then
  redis.call('SET', key.recovered, nowMs, 'PX', unsureKeptMs)
  redis.call('PEXPIRE', key.unsure, unsureKeptMs)
  redis.call('PEXPIRE', key.nameless, unsureKeptMs)
end
return 'adopted'
