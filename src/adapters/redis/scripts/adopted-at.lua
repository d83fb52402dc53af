-- When this Redis was last made the fleet's by way of recovery.
return redis.call('GET', key.recovered)
