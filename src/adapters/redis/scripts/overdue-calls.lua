-- Calls whose deadline passed `graceMs` ago and that nobody has settled. Each is handed out with the time at which it is
-- looked at again, so that two who ask do not get the same, and one that still runs is met again then.
local graceMs, lookAgainMs, limit = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local lookAgainAtMs = nowMs + lookAgainMs

local rows = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', key.callDeadlines, '-inf', nowMs - graceMs, 'LIMIT', 0, limit)) do
  local id, call = string.match(name, '^(%S+) (.*)$')
  local summary, text = readCall(id, call)
  if summary and redis.call('SISMEMBER', key.inFlight .. id, call) == 1 then
    redis.call('ZADD', key.callDeadlines, lookAgainAtMs, name)
    rows[#rows + 1] = { record(id), callReply(id, call, summary, text), lookAgainAtMs }
  else
    redis.call('ZREM', key.callDeadlines, name)
  end
end
return rows
