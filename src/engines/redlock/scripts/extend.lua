-- Begins every script that extends keys.

-- A thousand keys block a node for 7 to 10 ms.
local KEYS_MAX = 100

-- '1' for every key of KEYS from `first` on that still has its value, which then lives for `ttl`
-- from now on, else '0'. PEXPIRE creates nothing. With `counter_ttl` its counter lives on, too: by
-- it `list` tells the token for as long as the lock is held.
local function extended(first, values, ttl, counter_ttl)
  local count = #KEYS - first + 1
  if count > KEYS_MAX then
    refuse('ERR at most ' .. KEYS_MAX .. ' locks are extended at once, not ' .. count)
  end
  if count == 0 then
    return ''
  end
  local there = run('MGET', unpack(KEYS, first))
  local ours = {}
  for i = 1, count do
    if there[i] and there[i] == ARGV[values + i - 1] then
      ours[i] = digits(run('PEXPIRE', KEYS[first + i - 1], ttl))
      if counter_ttl then
        run('PEXPIRE', 'holdfast:token:' .. KEYS[first + i - 1], counter_ttl)
      end
    else
      ours[i] = '0'
    end
  end
  return table.concat(ours)
end
