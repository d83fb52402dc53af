-- A process (ARGV[2]) says what it is and has in hand (ARGV[3]). What was told ARGV[4] ms ago is forgotten, and of more
-- processes than ARGV[5], which only a start that fails again and again makes, those that have been silent longest.
local process, word, keptMs, most = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
redis.call('HSET', key.processes, process, word)
redis.call('ZADD', key.processesHeard, nowMs, process)
local gone = redis.call('ZRANGEBYSCORE', key.processesHeard, '-inf', '(' .. (nowMs - keptMs))
for _, one in ipairs(redis.call('ZRANGE', key.processesHeard, 0, -most - 1)) do gone[#gone + 1] = one end
if #gone > 0 then
  redis.call('ZREM', key.processesHeard, unpack(gone))
  redis.call('HDEL', key.processes, unpack(gone))
end
redis.call('PEXPIRE', key.processes, keptMs)
redis.call('PEXPIRE', key.processesHeard, keptMs)
return 1
