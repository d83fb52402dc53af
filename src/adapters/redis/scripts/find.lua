-- The record of an attempt, or of the newest one when `attempt` is empty: the id comes with its attempt left open.
local before, attempt, role = unpack(ARGV, 2)
if attempt == '' then attempt = newestOf(before .. '/' .. role) end
return record(before .. '/' .. attempt .. '/' .. role)
