-- A started sandbox answered: to the next waiter, else to the warm pool. A start that was given up meanwhile stays
-- given up, and one that is not ours is never adopted. Says whose it is.
local sandbox, boot, address = unpack(ARGV, 2)
local phase, template, owner = unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'template', 'owner'))
if phase ~= 'starting' then return owner end

redis.call('HSET', key.sandbox .. sandbox, 'boot', boot, 'address', address, 'readyAtMs', nowMs)
leaveStart(sandbox, template)
enterPhase(sandbox, 'ready')
noteSuccess(template)
local waiter = grantToNext(template, sandbox, 'cold')
if not waiter then redis.call('ZADD', key.ready .. template, nowMs, sandbox) end
return waiter or false
