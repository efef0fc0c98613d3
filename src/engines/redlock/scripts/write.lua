-- KEYS node
-- ARGV nonce seen, epoch seen, id, nonce, epoch, run_id, floor, max_ttl, config_hash, durable,
--      kept_epoch
return answer(function()
  local seen = run('HMGET', KEYS[1], 'nonce', 'epoch', 'floor', 'last_time')
  local there = run('EXISTS', KEYS[1]) == 1
  if ARGV[1] == '' and there then
    return 0
  end
  if ARGV[1] ~= '' and (seen[1] ~= ARGV[1] or seen[2] ~= ARGV[2]) then
    return 0
  end
  local floor = math.max(tonumber(seen[3]) or 0, tonumber(ARGV[7]))
  if not (floor >= 0 and floor <= LARGEST) then
    refuse('HFCOUNTER ' .. digits(floor) .. ' is not from 0 to 2^53 - 1')
  end
  local now = clock()
  -- Nothing began anew: a clock that went back is still behind.
  if ARGV[4] == seen[1] and ARGV[5] == seen[2] then
    now = math.max(now, tonumber(seen[4]) or 0)
  end
  -- It votes on by what it has.
  allow_when_full(KEYS[1])
  run('HSET', KEYS[1], 'id', ARGV[3], 'nonce', ARGV[4], 'epoch', ARGV[5], 'run_id', ARGV[6],
      'floor', digits(floor), 'max_ttl', ARGV[8],
      'last_time', digits(now),
      'config_hash', ARGV[9], 'durable', ARGV[10], 'kept_epoch', ARGV[11])
  return 1
end)
