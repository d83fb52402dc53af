-- A process says where the events of a log (ARGV[2]) are told (ARGV[3]). What nobody said for ARGV[4] ms is forgotten, and
-- of more logs than ARGV[5] those that have been silent longest.
local log, word, keptMs, most = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
redis.call('HSET', key.eventLogs, log, word)
redis.call('ZADD', key.eventLogsHeard, nowMs, log)
local gone = redis.call('ZRANGEBYSCORE', key.eventLogsHeard, '-inf', '(' .. (nowMs - keptMs))
for _, one in ipairs(redis.call('ZRANGE', key.eventLogsHeard, 0, -most - 1)) do gone[#gone + 1] = one end
if #gone > 0 then
  redis.call('ZREM', key.eventLogsHeard, unpack(gone))
  redis.call('HDEL', key.eventLogs, unpack(gone))
end
redis.call('PEXPIRE', key.eventLogs, keptMs)
redis.call('PEXPIRE', key.eventLogsHeard, keptMs)
return 1
