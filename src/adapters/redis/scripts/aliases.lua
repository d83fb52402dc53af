-- Names that tenants gave to images, as templates of the E2B face.

-- A name is given anew freely; one more than a tenant may have is refused. Whoever names or asks keeps all of them.
script('name-image', function(ARGV)
  local name, alias, text, most, keptMs = key.aliases .. ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
  if redis.call('HEXISTS', name, alias) == 0 and redis.call('HLEN', name) >= most then return 0 end
  redis.call('HSET', name, alias, text)
  redis.call('PEXPIRE', name, keptMs)
  return 1
end)

script('named-image', function(ARGV)
  local name = key.aliases .. ARGV[2]
  redis.call('PEXPIRE', name, ARGV[4])
  return redis.call('HGET', name, ARGV[3])
end)
