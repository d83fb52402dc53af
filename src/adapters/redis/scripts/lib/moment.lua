-- One transition is one moment: the clock is read once when it begins, and everything in it happens at this millisecond.
local nowMs = 0
