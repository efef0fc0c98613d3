-- Begins every script that asks for the time.

-- TIME in microseconds.
local function clock()
  local time = run('TIME')
  return time[1] * 1000000 + time[2]
end
