-- How many sandboxes are being started, and the templates that may have more to start: those whose pool may lack something,
-- and those that somebody in line waits for.
local names, there = redis.call('SMEMBERS', key.lacking), {}
for _, template in ipairs(names) do there[template] = true end

firstInLine(function(template)
  if not there[template] then names[#names + 1] = template end
  there[template] = true
  return false -- all of them
end)
return { redis.call('ZCARD', key.starts), names }
