-- Names that tenants gave to images, as templates of the E2B face.

local usualTag = 'default'
local mostTags = 64
-- How many bytes all names of a tenant take; no alias begins with a colon.
local usedBytes = ':bytes'

-- No alias ends in a colon. Here are all other tags of it, as JSON: tag -> what it stands for, as text.
local function tagsOf(alias) return alias .. ':' end

local function withTag(json, tag, text)
  local tags = cjson.decode(json or '{}')
  local count = 0
  for _ in pairs(tags) do count = count + 1 end
  if not tags[tag] and count >= mostTags then return nil end
  tags[tag] = text
  return cjson.encode(tags)
end

-- A name is given again freely; one more than a tenant may have, or more bytes, is refused. Naming and asking keeps all of them.
script('name-image', function(ask, texts)
  local name, field, text = key.aliases .. ask.tenant, ask.alias, texts[1]
  if ask.tag ~= usualTag then
    field = tagsOf(ask.alias)
    text = withTag(redis.call('HGET', name, field), ask.tag, text)
  end
  if not text then return false end
  if redis.call('HEXISTS', name, field) == 0 and redis.call('HLEN', name) >= ask.most then return false end
  local grows = #text - redis.call('HSTRLEN', name, field)
  local used = tonumber(redis.call('HGET', name, usedBytes) or 0)
  if grows > 0 and used + grows > ask.mostBytes then return false end
  redis.call('HSET', name, field, text, usedBytes, used + grows)
  redis.call('PEXPIRE', name, ask.keptMs)
  return true
end)

script('named-image', function(ask)
  local name = key.aliases .. ask.tenant
  redis.call('PEXPIRE', name, ask.keptMs)
  local found = redis.call('HMGET', name, ask.alias, tagsOf(ask.alias))
  return nil, { found[1] or '', found[2] or '' }
end)
