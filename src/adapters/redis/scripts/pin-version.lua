-- The first asker of a run decides which version of an environment the whole run uses.
local run, environment, version = unpack(ARGV, 2)
redis.call('HSETNX', key.run .. run, 'pin:' .. environment, version)
redis.call('PEXPIRE', key.run .. run, keptForReportsMs)
return redis.call('HGET', key.run .. run, 'pin:' .. environment)
