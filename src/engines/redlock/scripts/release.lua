-- KEYS lock
-- ARGV value
return answer(function()
  local there = redis.pcall('GET', KEYS[1])
  if type(there) == 'table' and there.err then
    -- Another type of value is certainly not ours.
    if string.find(there.err, 'WRONGTYPE', 1, true) then
      return 0
    end
    fail(there.err, 'GET', KEYS[1])
  end
  if there ~= ARGV[1] then
    return 0
  end
  run('DEL', KEYS[1])
  -- A hint to whoever waits: where it may not be published, they look by themselves.
  local told = redis.pcall('PUBLISH', 'holdfast:free:' .. KEYS[1], 'released')
  if type(told) == 'table' then
    return 2
  end
  return 1
end)
