-- What all sandboxes have cost so far: `environment state` and milliseconds, one after the other.
return redis.call('HGETALL', key.cost)
