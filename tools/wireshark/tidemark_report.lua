-- SPDX-License-Identifier: Apache-2.0
--
-- Wireshark dissector of INT Telemetry Report v2.0 as Tidemark's switches send
-- it: several reports in one datagram, unknown metadata and domains skipped by
-- their length. A row of the packet list summarises the reports. This script reads
-- the inner packet's flow; a preference also passes it to Wireshark's dissectors.
--
--   tshark -X lua_script:tidemark_report.lua -r reports.pcap
--
-- or copy it into Wireshark's personal Lua plugins folder (Help > About >
-- Folders). UDP port 32766, or another in the protocol's preferences.

local report = Proto("tidemark", "Telemetry Report")

local DOMAIN_TIDEMARK = 0x544D
local NONE, TLV, EXTENSION, ETHERNET, IPV4, IPV6 = 0, 1, 2, 3, 4, 5
local UNLIMITED = 0xFFFFFFFF

local report_types = { [0] = "Inner only", [1] = "INT", [2] = "IOAM" }
local inner_types = {
  [NONE] = "None", [TLV] = "TLV", [EXTENSION] = "Domain-specific extension",
  [ETHERNET] = "Ethernet", [IPV4] = "IPv4", [IPV6] = "IPv6",
}
local drop_reasons = { [71] = "Tail drop", [73] = "AQM" }

local domains = { [DOMAIN_TIDEMARK] = "Tidemark" }

-- From contract/report.toml.
-- <begin generated: fields>
local f = {
  version = ProtoField.uint8("tidemark.version", "Version", base.DEC, nil, 0xF0),
  hw_id = ProtoField.uint32("tidemark.hw_id", "Hardware id", base.DEC, nil, 0x0FC00000),
  sequence = ProtoField.uint32("tidemark.sequence", "Sequence number", base.DEC, nil, 0x003FFFFF),
  node_id = ProtoField.uint32("tidemark.node_id", "Node id", base.DEC),
  report_type = ProtoField.uint8("tidemark.report_type", "Report type", base.DEC, report_types, 0xF0),
  inner_type = ProtoField.uint8("tidemark.inner_type", "Inner type", base.DEC, inner_types, 0x0F),
  length_words = ProtoField.uint8("tidemark.length_words", "Length (4-byte words)", base.DEC),
  metadata_length_words = ProtoField.uint8("tidemark.metadata_length_words", "Metadata length (4-byte words)", base.DEC),
  dropped = ProtoField.bool("tidemark.dropped", "Dropped", 8, nil, 0x80),
  congested = ProtoField.bool("tidemark.congested", "Congested queue", 8, nil, 0x40),
  tracked = ProtoField.bool("tidemark.tracked", "Tracked flow", 8, nil, 0x20),
  intermediate = ProtoField.bool("tidemark.intermediate", "Intermediate", 8, nil, 0x10),
  metadata_bits = ProtoField.uint16("tidemark.metadata_bits", "Metadata bits", base.HEX),
  domain = ProtoField.uint16("tidemark.domain", "Domain", base.HEX, domains),
  domain_bits = ProtoField.uint16("tidemark.domain_bits", "Domain metadata bits", base.HEX),
  domain_status = ProtoField.uint16("tidemark.domain_status", "Domain metadata status", base.HEX),
  ingress_port = ProtoField.uint16("tidemark.ingress_port", "Ingress port", base.DEC),
  egress_port = ProtoField.uint16("tidemark.egress_port", "Egress port", base.DEC),
  hop_latency = ProtoField.uint32("tidemark.hop_latency", "Hop latency", base.DEC),
  queue_id = ProtoField.uint8("tidemark.queue_id", "Queue id", base.DEC),
  occupancy = ProtoField.uint24("tidemark.occupancy", "Queue occupancy on arrival", base.DEC),
  ingress_ns = ProtoField.uint64("tidemark.ingress_ns", "Ingress time (ns)", base.DEC),
  egress_ns = ProtoField.uint64("tidemark.egress_ns", "Egress time (ns)", base.DEC),
  ingress_port2 = ProtoField.uint32("tidemark.ingress_port2", "Level-2 ingress interface", base.DEC),
  egress_port2 = ProtoField.uint32("tidemark.egress_port2", "Level-2 egress interface", base.DEC),
  utilisation = ProtoField.uint32("tidemark.utilisation", "Egress port utilisation", base.DEC),
  buffer_id = ProtoField.uint8("tidemark.buffer_id", "Buffer id", base.DEC),
  buffer_occupancy = ProtoField.uint24("tidemark.buffer_occupancy", "Buffer occupancy", base.DEC),
  drop_queue_id = ProtoField.uint8("tidemark.drop_queue_id", "Queue id of the drop", base.DEC),
  drop_reason = ProtoField.uint8("tidemark.drop_reason", "Drop reason", base.DEC, drop_reasons),
  limit = ProtoField.uint32("tidemark.limit", "Limit in force", base.DEC),
  sampling_shift = ProtoField.uint8("tidemark.sampling_shift", "Sampling shift (1 in 2^n)", base.DEC),
  policy_flags = ProtoField.uint8("tidemark.policy_flags", "Policy flags", base.HEX),
  ce_marked = ProtoField.bool("tidemark.ce_marked", "CE marked here", 8, nil, 0x01),
  out_of_sample = ProtoField.bool("tidemark.out_of_sample", "Out of the sample", 8, nil, 0x02),
  tag = ProtoField.bytes("tidemark.tag", "Tag"),
  boot = ProtoField.uint64("tidemark.boot", "Boot", base.DEC),
  datagram = ProtoField.uint64("tidemark.datagram", "Datagram", base.DEC),
  code = ProtoField.bytes("tidemark.code", "Tag of the run"),
}
-- <end generated: fields>
-- Not a field on the wire.
f.reserved = ProtoField.uint32("tidemark.reserved_metadata", "Reserved metadata", base.HEX)
f.residence_ns = ProtoField.uint64("tidemark.residence_ns", "Time in the node (ns)", base.DEC)
f.unknown = ProtoField.bytes("tidemark.unknown_metadata", "Metadata of an unknown domain")
f.inner = ProtoField.bytes("tidemark.inner", "Inner packet")
f.inner_ipv4_src = ProtoField.ipv4("tidemark.inner.src", "Source")
f.inner_ipv4_dst = ProtoField.ipv4("tidemark.inner.dst", "Destination")
f.inner_ipv6_src = ProtoField.ipv6("tidemark.inner.src6", "Source")
f.inner_ipv6_dst = ProtoField.ipv6("tidemark.inner.dst6", "Destination")
f.inner_src_port = ProtoField.uint16("tidemark.inner.src_port", "Source port", base.DEC)
f.inner_dst_port = ProtoField.uint16("tidemark.inner.dst_port", "Destination port", base.DEC)
f.inner_seq = ProtoField.uint32("tidemark.inner.seq", "TCP sequence number", base.DEC)
report.fields = f

local e = {
  version = ProtoExpert.new(
    "tidemark.version.unknown", "Not version 2 of the report: not dissected",
    expert.group.UNDECODED, expert.severity.WARN),
  short = ProtoExpert.new(
    "tidemark.malformed", "The report is longer than its datagram, or its metadata than the report",
    expert.group.MALFORMED, expert.severity.ERROR),
}
report.experts = e

report.prefs.port = Pref.uint("UDP port", 32766, "Datagrams to this port are reports")

-- A report contains only the head of its packet. Wireshark's dissectors call that malformed and
-- colour its row, even if their columns are not shown.
report.prefs.inner = Pref.bool("Dissect inner packets", false,
  "Also use Wireshark's dissectors, which call the truncated packets malformed and follow their TCP")

-- Metadata in the order of its bits: mask, bytes, and fields with first byte and
-- bytes. From contract/report.toml.
-- <begin generated: metadata>
local metadata = {
  { 0x8000, 4, { { f.reserved, 0, 4 } } },
  { 0x4000, 4, { { f.ingress_port, 0, 2 }, { f.egress_port, 2, 2 } } },
  { 0x2000, 4, { { f.hop_latency, 0, 4 } } },
  { 0x1000, 4, { { f.queue_id, 0, 1 }, { f.occupancy, 1, 3 } } },
  { 0x0800, 8, { { f.ingress_ns, 0, 8 } } },
  { 0x0400, 8, { { f.egress_ns, 0, 8 } } },
  { 0x0200, 8, { { f.ingress_port2, 0, 4 }, { f.egress_port2, 4, 4 } } },
  { 0x0100, 4, { { f.utilisation, 0, 4 } } },
  { 0x0080, 4, { { f.buffer_id, 0, 1 }, { f.buffer_occupancy, 1, 3 } } },
  { 0x0040, 4, { { f.reserved, 0, 4 } } },
  { 0x0020, 4, { { f.reserved, 0, 4 } } },
  { 0x0010, 4, { { f.reserved, 0, 4 } } },
  { 0x0008, 4, { { f.reserved, 0, 4 } } },
  { 0x0004, 4, { { f.reserved, 0, 4 } } },
  { 0x0002, 4, { { f.reserved, 0, 4 } } },
  { 0x0001, 4, { { f.drop_queue_id, 0, 1 }, { f.drop_reason, 1, 1 } } },
}
local domain_metadata = {
  { 0x8000, 4, { { f.limit, 0, 4 } } },
  { 0x4000, 4, { { f.sampling_shift, 0, 1 }, { f.policy_flags, 1, 1 }, { f.ce_marked, 1, 1 }, { f.out_of_sample, 1, 1 } } },
  { 0x2000, 16, { { f.tag, 0, 16 } } },
  { 0x1000, 16, { { f.boot, 0, 8 }, { f.datagram, 8, 8 } } },
  { 0x0800, 16, { { f.code, 0, 16 } } },
}
-- <end generated: metadata>

local function add_fields(fields, tree, tvb, at)
  for _, field in ipairs(fields) do
    local bytes = tvb(at + field[2], field[3])
    local item = tree:add(field[1], bytes)
    if field[1] == f.limit and bytes:uint() == UNLIMITED then item:append_text(" (unlimited)") end
  end
end

-- Adds the items whose bit is set; returns the offset after them, or nil if they
-- do not fit before `stop`.
local function add_items(items, bits, tree, tvb, at, stop)
  for _, item in ipairs(items) do
    if bit.band(bits, item[1]) ~= 0 then
      if at + item[2] > stop then return nil end
      add_fields(item[3], tree, tvb, at)
      at = at + item[2]
    end
  end
  return at
end

local inner_dissectors = {
  [ETHERNET] = Dissector.get("eth_withoutfcs"),
  [IPV4] = Dissector.get("ip"),
  [IPV6] = Dissector.get("ipv6"),
}

-- IPv6 extension headers that name the next header.
local HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
local TCP, UDP = 6, 17

-- Returns the protocol above IPv6 and its offset; nil if the packet is truncated before it or
-- is a later fragment.
local function above_ipv6(tvb, at)
  local protocol = tvb(at + 6, 1):uint()
  at = at + 40
  while at + 8 <= tvb:len() do
    local words = tvb(at + 1, 1):uint()
    if protocol == HOP_BY_HOP or protocol == ROUTING or protocol == DESTINATION then
      protocol, at = tvb(at, 1):uint(), at + 8 + 8 * words
    elseif protocol == AUTHENTICATION then
      protocol, at = tvb(at, 1):uint(), at + 8 + 4 * words
    elseif protocol == FRAGMENT then
      if tvb(at + 2, 2):bitfield(0, 13) ~= 0 then return nil end
      protocol, at = tvb(at, 1):uint(), at + 8
    else
      return protocol, at
    end
  end
  return nil
end

local function above_ipv4(tvb, at)
  if tvb(at + 6, 2):bitfield(3, 13) ~= 0 then return nil end
  return tvb(at + 9, 1):uint(), at + 4 * tvb(at, 1):bitfield(4, 4)
end

-- Returns the offset of IP in an Ethernet frame, and its version; nil if there is no IP.
local function above_ethernet(tvb)
  local at = 12
  while at + 2 <= tvb:len() do
    local ether_type = tvb(at, 2):uint()
    at = at + 2
    if ether_type == 0x0800 then return at, 4 end
    if ether_type == 0x86DD then return at, 6 end
    if ether_type ~= 0x8100 and ether_type ~= 0x88A8 then return nil end
    at = at + 2
  end
  return nil
end

-- Adds addresses, ports and sequence number, as far as present. Returns the flow as text, or
-- nil without addresses.
local function add_flow(kind, tree, tvb)
  local at, version = 0, kind == IPV4 and 4 or 6
  if kind == ETHERNET then at, version = above_ethernet(tvb) end
  if at == nil or tvb:len() < at + (version == 4 and 20 or 40) then return nil end
  local src, dst, protocol, above
  if version == 4 then
    src, dst = tvb(at + 12, 4), tvb(at + 16, 4)
    tree:add(f.inner_ipv4_src, src)
    tree:add(f.inner_ipv4_dst, dst)
    src, dst = tostring(src:ipv4()), tostring(dst:ipv4())
    protocol, above = above_ipv4(tvb, at)
  else
    src, dst = tvb(at + 8, 16), tvb(at + 24, 16)
    tree:add(f.inner_ipv6_src, src)
    tree:add(f.inner_ipv6_dst, dst)
    src, dst = "[" .. tostring(src:ipv6()) .. "]", "[" .. tostring(dst:ipv6()) .. "]"
    protocol, above = above_ipv6(tvb, at)
  end
  if (protocol ~= TCP and protocol ~= UDP) or tvb:len() < above + 4 then
    return src .. " > " .. dst
  end
  tree:add(f.inner_src_port, tvb(above, 2))
  tree:add(f.inner_dst_port, tvb(above + 2, 2))
  local words = string.format("%s:%d > %s:%d", src, tvb(above, 2):uint(), dst,
    tvb(above + 2, 2):uint())
  if protocol ~= TCP or tvb:len() < above + 8 then return words end
  tree:add(f.inner_seq, tvb(above + 4, 4))
  return string.format("%s seq %u", words, tvb(above + 4, 4):uint())
end

-- Adds the inner packet to the tree. Columns and addresses stay the report's, even if the
-- dissectors of the inner packet change them.
local function add_dissected(dissector, tree, tvb, pinfo)
  local addresses = {}
  for _, name in ipairs({ "src", "dst", "net_src", "net_dst", "src_port", "dst_port" }) do
    addresses[name] = pinfo[name]
  end
  -- An error comes from a truncated packet; the tree shows it.
  pcall(dissector.call, dissector, tvb:tvb(), pinfo, tree)
  for name, value in pairs(addresses) do pinfo[name] = value end
  pinfo.cols.info:clear_fence()
  pinfo.cols.protocol = "Tidemark"
end

local function add_inner(kind, tree, tvb, pinfo, words)
  local inner = tree:add(f.inner, tvb())
  local dissector = inner_dissectors[kind]
  if dissector == nil then return end
  local flow = add_flow(kind, inner, tvb)
  if flow ~= nil then table.insert(words, flow) end
  if report.prefs.inner then add_dissected(dissector, tree, tvb, pinfo) end
end

-- Adds the individual report at `at`; returns the offset after it, or nil to stop.
local function add_individual(tvb, at, pinfo, root, words)
  local finish = tvb:len()
  local length = tvb(at + 1, 1):uint()
  local stop = length == 0xFF and finish or at + 4 + 4 * length
  if stop > finish then
    root:add_proto_expert_info(e.short)
    return nil
  end
  -- Up to three bytes after the last report belong to it.
  if finish - stop < 4 then stop = finish end

  local tree = root:add(report, tvb(at, stop - at), "Individual report")
  tree:add(f.report_type, tvb(at, 1))
  tree:add(f.inner_type, tvb(at, 1))
  tree:add(f.length_words, tvb(at + 1, 1))
  tree:add(f.metadata_length_words, tvb(at + 2, 1))
  for _, flag in ipairs({ f.dropped, f.congested, f.tracked, f.intermediate }) do
    tree:add(flag, tvb(at + 3, 1))
  end
  local kind = bit.band(tvb(at, 1):uint(), 0x0F)
  local report_type = bit.rshift(tvb(at, 1):uint(), 4)
  local flags = tvb(at + 3, 1):uint()
  local inner = at + 4
  if report_type == 1 then
    inner = at + 12 + 4 * tvb(at + 2, 1):uint()
    if inner > stop then
      tree:add_proto_expert_info(e.short)
      return nil
    end
    tree:add(f.metadata_bits, tvb(at + 4, 2))
    tree:add(f.domain, tvb(at + 6, 2))
    tree:add(f.domain_bits, tvb(at + 8, 2))
    tree:add(f.domain_status, tvb(at + 10, 2))
    local bits = tvb(at + 4, 2):uint()
    local after = add_items(metadata, bits, tree, tvb, at + 12, inner)
    if after ~= nil and tvb(at + 6, 2):uint() == DOMAIN_TIDEMARK then
      after = add_items(domain_metadata, tvb(at + 8, 2):uint(), tree, tvb, after, inner)
    end
    if after == nil then
      tree:add_proto_expert_info(e.short)
      return nil
    end
    if after < inner then tree:add(f.unknown, tvb(after, inner - after)) end
    -- Ports, queue and both times, as in Tidemark's reports of forwarded packets.
    if bit.band(bits, 0x5C00) == 0x5C00 and bit.band(bits, 0xA000) == 0 then
      local residence = tvb(at + 28, 8):uint64() - tvb(at + 20, 8):uint64()
      tree:add(f.residence_ns, tvb(at + 20, 16), residence):set_generated()
    end
    if bit.band(bits, 0xF000) == 0x5000 then
      table.insert(words, string.format("port %d > %d, occupancy %d",
        tvb(at + 12, 2):uint(), tvb(at + 14, 2):uint(), tvb(at + 17, 3):uint()))
    end
    if bit.band(bits, 1) ~= 0 then flags = bit.bor(flags, 0x80) end
  end
  if bit.band(flags, 0x80) ~= 0 then table.insert(words, "DROPPED") end
  if inner < stop then add_inner(kind, tree, tvb(inner, stop - inner), pinfo, words) end
  return stop
end

function report.dissector(tvb, pinfo, root)
  if tvb:len() < 12 then return 0 end
  pinfo.cols.protocol = "Tidemark"
  local version = tvb(0, 1):bitfield(0, 4)
  local tree = root:add(report, tvb())
  tree:add(f.version, tvb(0, 1))
  if version ~= 2 then
    tree:add_proto_expert_info(e.version)
    pinfo.cols.info = string.format("Telemetry report version %d", version)
    return tvb:len()
  end
  tree:add(f.hw_id, tvb(0, 4))
  tree:add(f.sequence, tvb(0, 4))
  tree:add(f.node_id, tvb(4, 4))
  local words = {
    string.format("Node %d/%d #%d", tvb(4, 4):uint(), tvb(0, 4):bitfield(4, 6),
      tvb(0, 4):bitfield(10, 22)),
  }
  pinfo.cols.info = words[1]
  local at = 8
  while at ~= nil and tvb:len() - at >= 4 do
    at = add_individual(tvb, at, pinfo, tree, words)
  end
  pinfo.cols.info = table.concat(words, ", ")
  return tvb:len()
end

local ports = DissectorTable.get("udp.port")
local current = report.prefs.port
ports:add(current, report)

function report.prefs_changed()
  if report.prefs.port ~= current then
    ports:remove(current, report)
    current = report.prefs.port
    ports:add(current, report)
  end
end
