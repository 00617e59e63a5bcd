-- Tokens are compared as decimal text: Lua's numbers are exact to 2^53 only, and tokens go to 2^63-1.
local function number(text)
  if type(text) ~= 'string' or not text:match('^%d+$') then
    return nil
  end
  local digits = text:gsub('^0+', '')
  if digits == '' then
    digits = '0'
  end
  if #digits > 19 or (#digits == 19 and digits > '9223372036854775807') then
    return nil
  end
  return digits
end

local function less(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end

-- The key of the mark: in the slot of the key itself.
local function mark_of(key)
  local open = key:find('{', 1, true)
  local close = open and key:find('}', open + 1, true)
  if close and close > open + 1 then
    return key .. ':fence'
  end
  if key:find('}', 1, true) then
    return nil
  end
  return '{' .. key .. '}:fence'
end

-- Raises the mark, or says why the write is refused.
local function admit(keys, args)
  local key, mark, token = keys[1], keys[2], number(args[1])
  if #keys ~= 2 then
    return redis.error_reply('FENCE give two keys: the key and its mark')
  end
  if key:sub(-6) == ':fence' then
    return redis.error_reply('FENCE a key that ends in :fence is a mark, and is not written to')
  end
  if mark_of(key) == nil then
    return redis.error_reply('FENCE no mark can be in the slot of a key with a closing brace and no hash tag')
  end
  if mark ~= mark_of(key) then
    return redis.error_reply('FENCE the mark of this key is ' .. mark_of(key))
  end
  if token == nil then
    return redis.error_reply('FENCE the token is a whole number from 0 to 9223372036854775807')
  end
  local seen = redis.call('GET', mark)
  if seen and number(seen) == nil then
    return redis.error_reply('FENCE the mark ' .. mark .. ' is no number: somebody else wrote to it')
  end
  if seen and less(token, seen) then
    return redis.error_reply('STALE token ' .. token .. ' is below ' .. seen)
  end
  if not seen or less(seen, token) then
    -- Before the write, without an expiry: a write that fails then has raised the mark, which is safe.
    redis.call('SET', mark, token)
  end
  return nil
end

local function fenced_set(keys, args)
  local refused = admit(keys, args)
  if refused then
    return refused
  end
  return redis.call('SET', keys[1], unpack(args, 2))
end

local function fenced_del(keys, args)
  local refused = admit(keys, args)
  if refused then
    return refused
  end
  return redis.call('DEL', keys[1])
end

local function fenced_hset(keys, args)
  local refused = admit(keys, args)
  if refused then
    return refused
  end
  return redis.call('HSET', keys[1], unpack(args, 2))
end
