-- Names that tenants gave to images, as templates of the E2B face.

-- A name is given again freely; one more than a tenant may have is refused. Whoever names or asks keeps all of them.
script('name-image', function(ask, texts)
  local name = key.aliases .. ask.tenant
  if redis.call('HEXISTS', name, ask.alias) == 0 and redis.call('HLEN', name) >= ask.most then return false end
  redis.call('HSET', name, ask.alias, texts[1])
  redis.call('PEXPIRE', name, ask.keptMs)
  return true
end)

script('named-image', function(ask)
  local name = key.aliases .. ask.tenant
  redis.call('PEXPIRE', name, ask.keptMs)
  return nil, { redis.call('HGET', name, ask.alias) or '' }
end)
