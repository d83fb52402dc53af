-- unguarded: it writes fleet state back before this Redis is the fleet's.
-- Rollouts whose sandbox is gone, says somebody who has seen them there: those without a record are not opened anew.
-- Nothing once the fleet is adopted: then they may have been opened already.
if redis.call('GET', key.redis) == ARGV[1] then return 0 end
for index = 2, #ARGV do
  local id = ARGV[index]
  if redis.call('EXISTS', key.rollout .. id) == 0 then redis.call('HSETNX', key.unsure, id, 'gone') end
end
return 1
