-- A sandbox that will not stay where it is gets no new rollout: to draining, if it is nobody's. One that still starts is
-- given up here, because it may become ready, and be granted, before whoever starts it hears of this.
local sandbox, why = unpack(ARGV, 2)
local phase, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'owner'))
if phase == 'starting' then return failStart(sandbox, 'provider_unavailable', why) and 1 or 0 end
if phase ~= 'ready' or owner then return 0 end
drain(sandbox)
return 1
