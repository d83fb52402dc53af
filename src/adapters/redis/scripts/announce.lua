-- A run says how many sandboxes of a template it will need at once; its earlier word for that template is replaced.
-- Answers until when it counts, or false when too many runs announce already.
local template, run, count, lifeMs = unpack(ARGV, 2)
local name = key.prewarm .. template
local untilMs = nowMs + lifeMs

announcedOf(template) -- lets go of what is over
if redis.call('HEXISTS', name, run) == 0 and redis.call('HLEN', name) >= announcersMax then return false end
local held = redis.call('SCARD', key.held .. template)
redis.call('HSET', name, run, string.format('%d %.0f %d', count, untilMs, held))
if redis.call('PTTL', name) < tonumber(lifeMs) then redis.call('PEXPIRE', name, lifeMs) end
redis.call('SADD', key.templates, template)
mayLack(template)
redis.call('PUBLISH', key.work, template)
return untilMs
