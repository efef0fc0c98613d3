-- KEYS node
return answer(function()
  local seen_nonce, seen_epoch, id, nonce, epoch, run_id, known_floor, max_ttl, config_hash,
      durable, kept_epoch = unpack(ARGV)
  local seen = run('HMGET', KEYS[1], 'nonce', 'epoch', 'floor', 'last_time')
  local there = run('EXISTS', KEYS[1]) == 1
  if seen_nonce == '' and there then
    return 0
  end
  if seen_nonce ~= '' and (seen[1] ~= seen_nonce or seen[2] ~= seen_epoch) then
    return 0
  end
  local goes_on = nonce == seen[1] and epoch == seen[2]
  local kept = tonumber(seen[3])
  if not is_floor(kept) then
    -- What this client knows may be older than the floor that is lost.
    if goes_on then
      return 0
    end
    kept = 0
  end
  local floor = math.max(kept, tonumber(known_floor))
  if not is_floor(floor) then
    refuse('HFCOUNTER ' .. digits(floor) .. ' is not from 0 to 2^52 - 1')
  end
  local now = clock()
  -- Nothing began anew: a clock that went back is still behind.
  if goes_on then
    now = math.max(now, tonumber(seen[4]) or 0)
  end
  -- It votes on by what it has.
  allow_when_full(KEYS[1])
  run('HSET', KEYS[1], 'id', id, 'nonce', nonce, 'epoch', epoch, 'run_id', run_id,
      'floor', digits(floor), 'max_ttl', max_ttl, 'last_time', digits(now),
      'config_hash', config_hash, 'durable', durable, 'kept_epoch', kept_epoch)
  return 1
end)
