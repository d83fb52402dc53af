-- uses: time
-- One script is one moment: everything in it happens at this millisecond.
local nowMs = clock()
