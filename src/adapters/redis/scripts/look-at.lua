-- Pools of these templates lack something, says a controller that has counted all of them.
for index = 2, #ARGV do mayLack(ARGV[index]) end
return 1
