-- Finish and delete win over everything that still runs.
local id, by = unpack(ARGV, 2)
local state = read(id, 'state')
if state and isOpen(state) then closeRollout(id, 'closed', by) end
return record(id)
