-- A dataset row named its image: what controllers need to make the template of it. Chosen again, it starts its life again.
local template, version, image = unpack(ARGV, 2)
redis.call('HSET', key.chosen, template, version .. ' ' .. image)
redis.call('ZADD', key.choices, nowMs, template)
redis.call('PEXPIRE', key.chosen, choicesKeptMs)
redis.call('PEXPIRE', key.choices, choicesKeptMs)
return 1
