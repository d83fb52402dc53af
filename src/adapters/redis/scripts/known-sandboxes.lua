-- reads only: every sandbox of the fleet, or those that are named, as far as they are known.
local rows = {}
local names = #ARGV > 1 and { unpack(ARGV, 2) } or redis.call('SMEMBERS', key.sandboxes)
for _, sandbox in ipairs(names) do
  local row = knownRow(sandbox)
  if row[2] then rows[#rows + 1] = row end
end
return rows
