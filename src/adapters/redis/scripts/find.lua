-- The record of an attempt, or of the newest one when `attempt` is empty: the id comes with its attempt left open.
local before, attempt, role = unpack(ARGV, 2)
if attempt == '' then attempt = redis.call('GET', key.newest .. before .. '/' .. role) end
return attempt and record(before .. '/' .. attempt .. '/' .. role)
