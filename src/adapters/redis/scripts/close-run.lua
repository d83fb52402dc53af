-- Closes a run for new rollouts at once and its open ones by portions; says how many are left.
local run, limit = ARGV[2], tonumber(ARGV[3])
redis.call('HSET', key.run .. run, 'state', 'closed')
redis.call('PEXPIRE', key.run .. run, keptForReportsMs)
redis.call('ZREM', key.runLeases, run)
for _, id in ipairs(redis.call('SRANDMEMBER', key.open .. run, limit)) do
  closeRollout(id, 'closed', 'run_closed')
end
return redis.call('SCARD', key.open .. run)
