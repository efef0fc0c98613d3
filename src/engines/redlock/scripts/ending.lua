-- Begins every script that makes a session's record, which must not stay for ever where the user
-- may not set its end (PEXPIRE).

-- Before it is made; Redis 7.0 and later can tell.
local function check_ending(key, ms)
  if redis.acl_check_cmd and not redis.acl_check_cmd('PEXPIRE', key, ms) then
    run('PEXPIRE', key, ms)
  end
end

local function end_new_record(key, ms)
  local done = redis.pcall('PEXPIRE', key, ms)
  if type(done) == 'table' and done.err then
    redis.pcall('DEL', key)
    run('PEXPIRE', key, ms)
  end
end

