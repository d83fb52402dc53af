-- Of these sandboxes, those for which nobody was given this errand in the last seconds; whoever asks now is given it. Several
-- controllers see the same work at the same moment; by the time another may take it, the provider shows that it is done.
-- ARGV: errand, sandboxes.
local errand = ARGV[2]
local takenForMs = 5 * 1000
local given = {}
for index = 3, #ARGV do
  local box = key.sandbox .. ARGV[index]
  local phase, takenMs = unpack(redis.call('HMGET', box, 'phase', errand))
  if not takenMs or nowMs - takenMs >= takenForMs then
    -- One that is forgotten has nothing to be written on.
    if phase then redis.call('HSET', box, errand, nowMs) end
    given[#given + 1] = ARGV[index]
  end
end
return given
