-- A version that is asked for is in use: it starts its life again.
local version, keptMs = ARGV[2], tonumber(ARGV[3])
local text = redis.call('GETEX', key.environment .. version, 'PX', keptMs)
if text then redis.call('ZADD', key.environments, nowMs, version) end
return text
