-- Renews a run's lease; 0 for a run that is unknown or closed.
local run = ARGV[2]
local rollouts, state = unpack(redis.call('HMGET', key.run .. run, 'rollouts', 'state'))
if not rollouts or state == 'closed' then return 0 end
if redis.call('SCARD', key.open .. run) > 0 then renewRun(run, 'native') end
return 1
