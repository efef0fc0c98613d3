-- Fencing for Redis: runs one command on one key, unless a newer fencing token was seen.
--
--   redis-cli --eval redis.lua 'fence:{accounts}' '{accounts}' , "$HOLDFAST_FENCING_TOKEN" SET 100
--
-- KEYS[1]: the fence, a hash of this script's own. KEYS[2]: the guarded key. In a cluster both
-- need the same {tag}. ARGV: the token, the command, its arguments behind the key.
local value, source = string.match(ARGV[1] or '', '^([1-9]%d*):([!-~]+:[!-~]+)$')
if not value or #value > 16 or tonumber(value) > 9007199254740991 then
  return redis.error_reply('BADTOKEN this is no fencing token: the form is VALUE:LOCK:STORE, '
    .. 'with VALUE from 1 to 2^53 - 1')
end
if not ARGV[2] then
  return redis.error_reply('BADTOKEN there is no command behind the token')
end
local bound = redis.call('HMGET', KEYS[1], 'source', 'floor')
if bound[1] and bound[1] ~= source then
  return redis.error_reply('OTHERLOCK ' .. KEYS[1] .. ' is bound to ' .. bound[1]
    .. ': tokens of different locks or stores cannot be compared')
end
if bound[2] and tonumber(bound[2]) > tonumber(value) then
  return redis.error_reply('STALETOKEN token ' .. value .. ' for ' .. KEYS[2] .. ': token '
    .. bound[2] .. ' was seen, this writer was replaced: stop and acquire the lock again')
end
redis.call('HSET', KEYS[1], 'source', source, 'floor', value)
return redis.call(ARGV[2], KEYS[2], unpack(ARGV, 3))
