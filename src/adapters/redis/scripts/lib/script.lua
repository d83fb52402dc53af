-- requires: time
-- What every script is: a function by its name, run at one moment, on the Redis that is the fleet's. KEYS are not used. ARGV[1] is
-- the Redis that the caller believes to speak to, and ARGV[2] what it asks, as JSON. Texts of any size follow raw, because JSON
-- doubles what they cost. A script returns its reply, which leaves as JSON, and a list of raw texts if it has any. The schemas
-- of both stand beside the script's name, in scripts/*.ts. What is absent is nil here and missing there, never null.

-- One transition is one moment: the clock is read once when it begins, and everything in it happens at this millisecond.
local nowMs = 0

-- A verdict that is younger may be on no replica yet. A replica that was silent for longer is ignored (adapters/redis/replicas.ts), so
-- an older verdict is replicated, or no live replica exists.
local freshMs = 10 * 1000

-- Whether the reply of this script has such a verdict. It says so, and is returned when a replica has it.
local hasFreshVerdict = false

local function noteVerdictOf(decidedAtMs)
  if nowMs - (tonumber(decidedAtMs) or 0) < freshMs then hasFreshVerdict = true end
end

local function rawTexts(ARGV)
  local texts = {}
  for index = 3, #ARGV do texts[index - 2] = ARGV[index] end
  return texts
end

local function replyOf(reply, texts)
  if type(reply) == 'table' and reply.err then return reply end
  local json = cjson.encode(reply)
  if hasFreshVerdict then return { json, texts or {}, 'fresh' } end
  return texts and { json, texts } or json
end

local function asked(run)
  return function(_, ARGV)
    nowMs, hasFreshVerdict = clock(), false
    return replyOf(run(cjson.decode(ARGV[2]), rawTexts(ARGV), ARGV[1]))
  end
end

-- Another Redis than the fleet's (restarted, or a promoted replica) may have forgotten claims: nothing is decided on it.
local function guarded(run)
  return function(_, ARGV)
    if redis.call('GET', key.redis) ~= ARGV[1] then
      return redis.error_reply('RECOVERING this Redis is not the one that holds the fleet')
    end
    return run(_, ARGV)
  end
end

local function register(name, callback, flags)
  redis.register_function({ function_name = functionNames[name], callback = callback, flags = flags })
end

local function script(name, run)
  register(name, guarded(asked(run)), {})
end

-- Redis itself refuses it every write, and runs it also when its memory is full.
local function reading(name, run)
  register(name, guarded(asked(run)), { 'no-writes' })
end

-- For those by which a Redis becomes the fleet's.
local function unguarded(name, run)
  register(name, asked(run), {})
end
