-- Every log that somebody told of, the one heard last first: its name, for how long nobody has, and what was said.
local logs = {}
local heard = redis.call('ZREVRANGE', key.eventLogsHeard, 0, -1, 'WITHSCORES')
for at = 1, #heard, 2 do
  local word = redis.call('HGET', key.eventLogs, heard[at])
  if word then logs[#logs + 1] = { heard[at], nowMs - heard[at + 1], word } end
end
return logs
