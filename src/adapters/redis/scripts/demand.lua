-- How many sandboxes are being started, and the templates that may have more to start: those whose pool may lack something,
-- and those that somebody in line waits for. What has left the line leaves the rings here.
local names, there = redis.call('SMEMBERS', key.lacking), {}
for _, template in ipairs(names) do there[template] = true end

local function waitedForBy(run)
  local ring, waiting = key.launchTemplates .. run, false
  for _, template in ipairs(redis.call('ZRANGE', ring, 0, -1)) do
    if redis.call('ZCARD', lineKey(template, run)) == 0 then
      redis.call('ZREM', ring, template)
    else
      waiting = true
      if not there[template] then names[#names + 1] = template end
      there[template] = true
    end
  end
  return waiting
end

for _, run in ipairs(redis.call('ZRANGE', key.launchRuns, 0, -1)) do
  if not waitedForBy(run) then redis.call('ZREM', key.launchRuns, run) end
end
return { redis.call('ZCARD', key.starts), names }
