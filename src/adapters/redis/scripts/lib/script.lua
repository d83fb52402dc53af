-- requires: time
-- What every script is: a function by its name, run at one moment, on the Redis that is the fleet's. KEYS are not used, and
-- ARGV[1] is the Redis that the caller believes to speak to; what a script is asked begins at ARGV[2].

-- One transition is one moment: the clock is read once when it begins, and everything in it happens at this millisecond.
local nowMs = 0

-- Another Redis than the fleet's (restarted, or a promoted replica) may have forgotten claims: nothing is decided on it.
local function guarded(run)
  return function(_, ARGV)
    if redis.call('GET', key.redis) ~= ARGV[1] then
      return redis.error_reply('RECOVERING this Redis is not the one that holds the fleet')
    end
    nowMs = clock()
    return run(ARGV)
  end
end

local function script(name, run)
  redis.register_function(functionNames[name], guarded(run))
end

-- Redis itself refuses it every write, and runs it also when its memory is full.
local function reading(name, run)
  redis.register_function({ function_name = functionNames[name], callback = guarded(run), flags = { 'no-writes' } })
end

-- For those by which a Redis becomes the fleet's.
local function unguarded(name, run)
  redis.register_function(functionNames[name], function(_, ARGV)
    nowMs = clock()
    return run(ARGV)
  end)
end
