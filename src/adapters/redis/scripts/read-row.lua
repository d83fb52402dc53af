-- reads only: the dataset row of a rollout, which its record does not carry.
return readRow(ARGV[2]) or false
