-- KEYS lock
-- ARGV value, seat, own, keep, scope
return answer(function()
  if deleted then
    return call_waiters(KEYS[1])
  end
  if type(there) == 'table' and there.err then
    -- Another type of value is certainly not ours.
    if string.find(there.err, 'WRONGTYPE', 1, true) then
      return 0
    end
    fail(there.err, 'GET', KEYS[1])
  end
  if there then
    if ARGV[1] == '' or there ~= ARGV[1] then
      return 0
    end
    -- Once more, for what it fails with.
    run('DEL', KEYS[1])
  elseif ARGV[1] ~= '' then
    return 0
  end
  -- A hint to whoever waits: where it cannot be given, they look by themselves.
  return call_waiters(KEYS[1])
end)
