-- KEYS session
return answer(function()
  -- A denied record stays: without it the session could be opened here again.
  if run('HGET', KEYS[1], 'denied') ~= '0' then
    return 0
  end
  return run('DEL', KEYS[1])
end)
