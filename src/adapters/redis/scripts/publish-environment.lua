-- Keeps an environment version for as long as a run may be pinned to it, and forgets those that nobody published since.
local version, text, keptMs = ARGV[2], ARGV[3], tonumber(ARGV[4])
redis.call('SET', key.environment .. version, text, 'PX', keptMs)
redis.call('ZADD', key.environments, nowMs, version)
redis.call('ZREMRANGEBYSCORE', key.environments, '-inf', nowMs - keptMs)
return 1
