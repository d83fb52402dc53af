-- unguarded: it is asked before this Redis is the fleet's.
-- What a Redis that is not the fleet's still holds of sandboxes, and which Redis it is; false where it is the fleet's.
if redis.call('GET', key.redis) == ARGV[1] then return false end
local rows = {}
for _, sandbox in ipairs(redis.call('SMEMBERS', key.sandboxes)) do
  local phase, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'owner'))
  rows[#rows + 1] = { sandbox, phase, owner }
end
return { ARGV[1], rows }
