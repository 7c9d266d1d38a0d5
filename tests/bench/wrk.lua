-- Sends the requests of a file in turn, and prints what was measured as one line of JSON.
-- In the file, each request comes behind a line with its length in bytes.

local requests = {}
local turn = 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for line in function() return file:read("*l") end do
    requests[#requests + 1] = file:read(tonumber(line))
  end
  file:close()
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '{"per_second":%f,"p50_ms":%f,"p99_ms":%f,"refused":%d,"failed":%d}\n',
    summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
