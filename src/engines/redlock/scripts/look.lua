-- KEYS node
return answer(function()
  local now = clock()
  if run('EXISTS', KEYS[1]) == 0 then
    return {now}
  end
  local record = run('HMGET', KEYS[1], 'id', 'nonce', 'epoch', 'run_id', 'floor', 'max_ttl',
                     'last_time', 'config_hash', 'durable', 'kept_epoch')
  table.insert(record, 1, now)
  return record
end)
