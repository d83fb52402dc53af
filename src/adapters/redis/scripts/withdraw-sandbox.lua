-- A sandbox that may be lost gets no new rollout: to draining, if it is ready and nobody's.
local sandbox = ARGV[2]
local phase, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'owner'))
if phase ~= 'ready' or owner then return 0 end
drain(sandbox)
return 1
