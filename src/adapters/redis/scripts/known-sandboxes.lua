-- Every sandbox of the fleet, for comparison with the provider's list; as long as the fleet is large.
local rows = {}
for _, sandbox in ipairs(redis.call('SMEMBERS', key.sandboxes)) do
  local phase, sinceMs, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'sinceMs', 'owner'))
  rows[#rows + 1] = { sandbox, phase, sinceMs, owner }
end
return rows
