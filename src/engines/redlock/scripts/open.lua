-- KEYS node, session
-- ARGV nonce, ttl, (field, value)...
return answer(function()
  local node = admitted(KEYS[1], ARGV[1])
  allowed_ttl(node, ARGV[2])
  local denied = run('HGET', KEYS[2], 'denied')
  if denied and denied ~= '0' then
    denied_session(KEYS[2])
  end
  check_ending(KEYS[2], ARGV[2])
  local record = {unpack(ARGV, 3)}
  for _, text in ipairs({'ttl', ARGV[2], 'denied', '0'}) do
    record[#record + 1] = text
  end
  run('HSET', KEYS[2], unpack(record))
  end_new_record(KEYS[2], ARGV[2])
  return 1
end)
