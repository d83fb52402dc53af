-- Where versions of environments are kept: the prefix of their keys, and the zset of their versions. An environment that the
-- previous release does not know how to use is where that release does not look, so each release that adds such has a new place.

local places = {
  { key.environment, key.environments },
  -- What the previous release published for itself alone.
  { key.newEnvironment, key.newEnvironments },
  { key.environment2, key.environments2 },
}

local function placeOf(isNew) return unpack(places[isNew and 3 or 1]) end

local function renew(version, keptMs)
  for _, place in ipairs(places) do
    local prefix, versions = unpack(place)
    if redis.call('PEXPIRE', prefix .. version, keptMs) == 1 then
      redis.call('ZADD', versions, nowMs, version)
      return
    end
  end
end

return { places = places, placeOf = placeOf, renew = renew }
