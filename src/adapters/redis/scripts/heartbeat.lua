-- Renews a rollout's lease, and its place or grant where it has one.
local id = ARGV[2]
if read(id, 'state') then stillHere(id) end
return record(id)
