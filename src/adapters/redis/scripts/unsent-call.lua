-- One of those who were told to send this call has not sent it, and takes its word for having been told back. When all have,
-- nobody ever sent it. One that died with it leaves its word there: nobody knows what it did.
local id, call, counted = unpack(ARGV, 2)
local summary = readCall(id, call)
if not summary or isSettled(summary) then return 0 end
summary[4] = summary[4] - 1
if summary[4] > 0 then writeCall(id, call, summary) else withdraw(id, call, counted) end
return 1
