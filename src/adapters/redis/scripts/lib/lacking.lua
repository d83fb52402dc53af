-- A plan of thousands is some hundred KB, and a burst of rows with images of their own makes another each second. Who names
-- one that is not there any more tells it again.
local planKeptMs = 60 * 1000

-- Templates whose pool may lack something: whoever takes a sandbox from a pool, or asks more of it, says so here, and a
-- reservation that finds one full takes it out. So nobody walks thousands of templates for the few that changed. A controller
-- counts all of them every now and then and names those that lack, for what was said to a Redis that has forgotten.
local function mayLack(template)
  redis.call('SADD', key.lacking, template)
end
