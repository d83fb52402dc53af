-- The record of an attempt, or of the newest one when `attempt` is empty: the id comes with its attempt left open.
local before, attempt, role = unpack(ARGV, 2)
if attempt == '' then attempt = newestOf(before .. '/' .. role) end
local id = before .. '/' .. attempt .. '/' .. role
local found = record(id)
if not found and unsureCode(id) == 'recovering' then return stillRecovering() end
return found
