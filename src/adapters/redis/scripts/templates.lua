-- requires: breaker, line, pool, sandbox
-- Templates and their pools: what is announced and chosen, how many there are, and which are too many.

-- A run says how many sandboxes of a template it will need at once; its earlier word for that template is replaced.
-- Answers until when it counts, or false when too many runs announce already.
script('announce', function(ARGV)
  local template, run, count, lifeMs = unpack(ARGV, 2)
  local name = key.prewarm .. template
  local untilMs = nowMs + lifeMs

  Pool.announcedOf(template) -- lets go of what is over
  if redis.call('HEXISTS', name, run) == 0 and redis.call('HLEN', name) >= Pool.announcersMax then return false end
  local held = redis.call('SCARD', key.held .. template)
  redis.call('HSET', name, run, string.format('%d %.0f %d', count, untilMs, held))
  if redis.call('PTTL', name) < tonumber(lifeMs) then redis.call('PEXPIRE', name, lifeMs) end
  redis.call('SADD', key.templates, template)
  Sandbox.mayLack(template)
  redis.call('PUBLISH', key.work, template)
  return untilMs
end)

-- A dataset row named its image: what controllers need to make the template of it. Chosen again, it starts its life again.
script('choose', function(ARGV)
  local template, version, image = unpack(ARGV, 2)
  redis.call('HSET', key.chosen, template, version .. ' ' .. image)
  redis.call('ZADD', key.choices, nowMs, template)
  redis.call('PEXPIRE', key.chosen, Pool.choicesKeptMs)
  redis.call('PEXPIRE', key.choices, Pool.choicesKeptMs)
  return 1
end)

-- Templates that rows made: those chosen at ARGV[2] or later, or all. Who asks for all also has the idle ones forgotten.
script('list-chosen', function(ARGV)
  local sinceMs = ARGV[2]
  if sinceMs == '' then Pool.forgetIdleChoices() end

  local rows = {}
  for _, template in ipairs(redis.call('ZRANGEBYSCORE', key.choices, sinceMs == '' and '-inf' or sinceMs, '+inf')) do
    local version, image = string.match(redis.call('HGET', key.chosen, template) or '', '^(%S+) (.+)$')
    if version then rows[#rows + 1] = { template, version, image } end
  end
  return { nowMs, rows }
end)

-- The pool in numbers, a row for each template asked for.
script('counts', function(ARGV)
  local runsLookedAt = 200 -- of one template's ring; with more, the oldest of the next ones

  -- Whoever stands at the head has a place before all times, and waits since it first came.
  local function oldestWaitMs(template)
    local oldest = nowMs
    for _, run in ipairs(redis.call('ZRANGE', key.turns .. template, 0, runsLookedAt - 1)) do
      local place = tonumber(redis.call('ZRANGE', Line.lineKey(template, run), 0, 0, 'WITHSCORES')[2] or nowMs)
      oldest = math.min(oldest, place < 0 and place + Line.headStart or place)
    end
    return nowMs - oldest
  end

  local rows = {}
  for index = 2, #ARGV do
    local template = ARGV[index]
    local code, message, atMs = unpack(redis.call('HMGET', key.breaker .. template, 'code', 'message', 'atMs'))
    rows[index - 1] = {
      template,
      redis.call('ZCARD', key.ready .. template),
      redis.call('SCARD', key.starting .. template),
      redis.call('SCARD', key.held .. template),
      Line.countGrantable(template),
      oldestWaitMs(template),
      Pool.announcedOf(template),
      Breaker.breakerState(template),
      code, message, atMs,
    }
  end
  return rows
end)

-- Templates that rollouts wait for or sandboxes exist of; the others are forgotten here.
script('known-templates', function()
  local known = {}
  for _, template in ipairs(redis.call('SMEMBERS', key.templates)) do
    local members = redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.starting .. template)
      + redis.call('SCARD', key.held .. template) + Line.countGrantable(template) + Pool.announcedOf(template)
    if members > 0 then
      known[#known + 1] = template
    else
      redis.call('SREM', key.templates, template)
      redis.call('SREM', key.lacking, template)
      redis.call('DEL', key.turns .. template)
    end
  end
  return known
end)

-- Unclaimed sandboxes that are too old, or more than are to be ready, go, the oldest first.
script('retire', function(ARGV)
  local template, maxAgeMs, keepReady = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  local portion = 100
  local ready = key.ready .. template
  local surplus = redis.call('ZCARD', ready) - math.max(keepReady, Pool.announcedOf(template))
  local retired = 0
  local oldest = redis.call('ZRANGE', ready, 0, portion - 1, 'WITHSCORES')
  for index = 1, #oldest, 2 do
    if retired >= surplus and nowMs - oldest[index + 1] < maxAgeMs then break end
    Sandbox.drain(oldest[index])
    retired = retired + 1
  end
  return retired
end)
