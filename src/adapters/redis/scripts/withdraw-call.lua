-- A dispatched call that its sandbox never received: dispatched → unknown, so that a repeat may be sent. Only if nobody
-- has sent it again since it was handed out as overdue: `lookAgainAtMs` is its deadline still.
local id, call, counted, lookAgainAtMs = unpack(ARGV, 2)
if tonumber(redis.call('ZSCORE', key.callDeadlines, overdueName(id, call)) or 0) ~= tonumber(lookAgainAtMs) then return 0 end
withdraw(id, call, counted)
return 1
