-- Templates that rollouts wait for or sandboxes exist of; the others are forgotten here.
local known = {}
for _, template in ipairs(redis.call('SMEMBERS', key.templates)) do
  local members = redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.starting .. template)
    + redis.call('SCARD', key.held .. template) + countGrantable(template) + announcedOf(template)
  if members > 0 then
    known[#known + 1] = template
  else
    redis.call('SREM', key.templates, template)
    redis.call('SREM', key.lacking, template)
    redis.call('DEL', key.turns .. template)
  end
end
return known
