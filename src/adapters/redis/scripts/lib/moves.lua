-- Which sandboxes have moved: begun, entered a phase, got an owner, been forgotten. Whoever changes one says so here, so that
-- nobody reads thousands each second for the few that did. Moves are numbered: Redis' clock may go back.

-- Of the fleet's newest; a reader is a second behind, and a burst of five hundred is some thousand moves. Whoever is
-- farther behind than this reads all sandboxes.
local movesKept = 10000

local function letGoOfOldMoves()
  local tooMany = redis.call('ZCARD', key.moved) - movesKept
  if tooMany <= 0 then return end
  local oldest = redis.call('ZPOPMIN', key.moved, tooMany)
  redis.call('HSET', key.moves, 'floor', oldest[#oldest])
end

local function movedAll(sandboxes)
  if #sandboxes == 0 then return end
  local last = redis.call('HINCRBY', key.moves, 'last', #sandboxes)
  if last == #sandboxes then redis.call('HSET', key.moves, 'beganMs', nowMs) end
  local numbered = {}
  for index, sandbox in ipairs(sandboxes) do
    numbered[2 * index - 1], numbered[2 * index] = string.format('%.0f', last - #sandboxes + index), sandbox
  end
  if redis.call('ZADD', key.moved, unpack(numbered)) > 0 then letGoOfOldMoves() end
end

local function moved(sandbox)
  movedAll({ sandbox })
end

-- What fleet state says of a sandbox; its phase is false where it is forgotten.
local function knownRow(sandbox)
  local phase, sinceMs, owner, template =
    unpack(redis.call('HMGET', key.sandbox .. sandbox, 'phase', 'sinceMs', 'owner', 'template'))
  return { sandbox, phase, sinceMs, owner, template }
end
