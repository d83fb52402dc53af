-- Wake-ups: what happened to a rollout, for the gateways that hold a request of it: `WakeUp` of scripts/wake-ups.ts. A message may be lost,
-- which costs the two seconds until the next renewal.

local function publish(id, wakeUp)
  wakeUp.rollout = id
  redis.call('PUBLISH', key.wakeUps, cjson.encode(wakeUp))
end

-- It has a sandbox. The gateway that waits for it needs not claim again.
local function granted(id, grant)
  grant.kind = 'granted'
  publish(id, grant)
end

-- Its sandbox was given up, and it waits again; or a grader's sandbox is let go.
local function released(id)
  publish(id, { kind = 'released' })
end

-- Its verdict has changed.
local function decided(id)
  publish(id, { kind = 'verdict' })
end

-- It is closed or expired.
local function ended(id)
  publish(id, { kind = 'ended' })
end

-- It was written back after Redis forgot it.
local function restored(id)
  publish(id, { kind = 'restored' })
end

return { granted = granted, released = released, decided = decided, ended = ended, restored = restored }
