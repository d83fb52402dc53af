-- unguarded: it writes fleet state back before this Redis is the fleet's.
-- Rollouts whose sandbox is gone, says somebody who has seen them there: those without a record are not opened anew. One
-- that was opened already, because another controller was quicker and had not seen it, stays so.
for index = 2, #ARGV do
  local id = ARGV[index]
  if redis.call('EXISTS', key.rollout .. id) == 0 then redis.call('HSETNX', key.unsure, id, 'gone') end
end
redis.call('PEXPIRE', key.unsure, unsureKeptMs)
return 1
