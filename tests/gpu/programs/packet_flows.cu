// Classification of a packet trace by a decision tree over a rule table (HiCuts) and per-flow accounting
// in an open-addressing hash table, followed by policing of heavy flows and a summary of the table.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CK(expr)                                                               \
  if (cudaError_t e_ = (expr); e_ != cudaSuccess)                              \
    std::fprintf(stderr, "%s: %s\n", #expr, cudaGetErrorString(e_)), std::exit(1)
enum Action : uint8_t { PERMIT, DENY, MIRROR };
enum Verdict : uint8_t { FORWARD, DROP, POLICED };
constexpr uint16_t NO_RULE = 0xffff;
constexpr int NUM_DIMS = 5;  // source and destination address, source and destination port, protocol
constexpr int LEAF_RULES = 8, CUT_BITS = 4, MAX_CUTS = 6, SUMMARY_BINS = 32;

struct Packet {
  uint64_t timestampNs;
  uint32_t srcIp, dstIp;
  uint16_t srcPort, dstPort, length;
  uint8_t protocol, tcpFlags;
  uint16_t ruleId;  // filled by classification
  uint8_t verdict, ttl;
  uint32_t flowSlot;

  __device__ uint32_t field(int dim) const {
    return dim == 0 ? srcIp : dim == 1 ? dstIp : dim == 2 ? srcPort : dim == 3 ? dstPort : protocol;
  }
};

struct PortRange {
  uint16_t lo, hi;
  __device__ bool contains(uint16_t p) const { return p >= lo && p <= hi; }
};

struct Rule {  // in order of priority
  uint32_t srcNet, srcMask, dstNet, dstMask;
  PortRange srcPorts, dstPorts;
  uint8_t protocol, protocolMask, action, dscp;
  unsigned long long packets, bytes;

  __device__ bool matches(const Packet& p) const {
    return (p.srcIp & srcMask) == srcNet && (p.dstIp & dstMask) == dstNet && (p.protocol & protocolMask) == protocol &&
           srcPorts.contains(p.srcPort) && dstPorts.contains(p.dstPort);
  }
};

struct CutNode {
  uint32_t first;      // child, or entry of the list of rules
  uint16_t count;      // rules of a leaf
  uint8_t dim, shift;  // NUM_DIMS: a leaf
};

struct FlowEntry {
  unsigned long long key;  // fingerprint of the five fields; 0: free
  uint32_t srcIp, dstIp;
  uint16_t srcPort, dstPort;
  uint8_t protocol;
  uint16_t ruleId;
  unsigned int tcpFlags, minLength, maxLength;
  unsigned int sizeBins[4];
  unsigned long long packets, bytes, firstSeen, lastSeen;
};

struct Engine {
  Packet* packets;
  Rule* rules;
  CutNode* nodes;
  uint16_t* ruleList;
  FlowEntry* flows;
  unsigned long long* summary;  // flows and bytes by log2 of the flow's bytes
  int numPackets;
  uint32_t tableMask;
  unsigned long long policeBytes;
};

__global__ void clearFlows(Engine e) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > e.tableMask) return;
  FlowEntry& f = e.flows[i];
  f.key = f.packets = f.bytes = f.lastSeen = 0;
  f.tcpFlags = f.maxLength = 0;
  f.firstSeen = ~0ull;
  f.minLength = 0xffffffffu;
  for (unsigned int& bin : f.sizeBins) bin = 0;
  if (i < 2 * SUMMARY_BINS) e.summary[i] = 0;
}

__global__ void classify(Engine e) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned int live = __ballot_sync(0xffffffffu, i < e.numPackets);
  if (i >= e.numPackets) return;
  Packet& p = e.packets[i];
  CutNode node = e.nodes[0];
  while (node.dim < NUM_DIMS) node = e.nodes[node.first + (p.field(node.dim) >> node.shift & ((1 << CUT_BITS) - 1))];
  uint16_t id = NO_RULE;
  for (uint32_t k = node.first; k < node.first + node.count; ++k) {
    if (!e.rules[e.ruleList[k]].matches(p)) continue;
    id = e.ruleList[k];
    break;
  }
  p.ruleId = id;
  p.verdict = id == NO_RULE || e.rules[id].action == DENY ? DROP : FORWARD;

  // lanes with the same rule count together
  const unsigned int peers = __match_any_sync(live, (unsigned int)id);
  const unsigned int bytes = __reduce_add_sync(peers, (unsigned int)p.length);
  if (id != NO_RULE && (threadIdx.x & 31) == __ffs(peers) - 1) {
    atomicAdd(&e.rules[id].packets, (unsigned long long)__popc(peers));
    atomicAdd(&e.rules[id].bytes, (unsigned long long)bytes);
  }
}

__device__ inline unsigned long long mix(unsigned long long h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 33);
}

__device__ inline unsigned long long flowKey(const Packet& p) {
  const unsigned long long addresses = (unsigned long long)p.srcIp << 32 | p.dstIp;
  const unsigned long long ports = (unsigned long long)p.protocol << 32 | (unsigned int)p.srcPort << 16 | p.dstPort;
  const unsigned long long key = mix(mix(addresses) + ports);
  return key ? key : 1;
}

__global__ void updateFlows(Engine e) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= e.numPackets) return;
  const Packet p = e.packets[i];
  const unsigned long long key = flowKey(p);
  uint32_t slot = (uint32_t)(key >> 20) & e.tableMask;
  for (;; slot = (slot + 1) & e.tableMask) {
    unsigned long long seen = e.flows[slot].key;
    if (seen == 0) seen = atomicCAS(&e.flows[slot].key, 0ull, key);
    if (seen == 0) {  // ours: the tuple is the same for all packets of the flow
      FlowEntry& f = e.flows[slot];
      f.srcIp = p.srcIp, f.dstIp = p.dstIp;
      f.srcPort = p.srcPort, f.dstPort = p.dstPort;
      f.protocol = p.protocol, f.ruleId = p.ruleId;
    }
    if (seen == 0 || seen == key) break;
  }
  FlowEntry& f = e.flows[slot];
  atomicAdd(&f.packets, 1ull);
  atomicAdd(&f.bytes, (unsigned long long)p.length);
  atomicMin(&f.firstSeen, (unsigned long long)p.timestampNs);
  atomicMax(&f.lastSeen, (unsigned long long)p.timestampNs);
  if (p.length < f.minLength) atomicMin(&f.minLength, (unsigned int)p.length);
  if (p.length > f.maxLength) atomicMax(&f.maxLength, (unsigned int)p.length);
  if (p.protocol == 6) atomicOr(&f.tcpFlags, (unsigned int)p.tcpFlags);
  atomicAdd(&f.sizeBins[p.length < 128 ? 0 : p.length < 512 ? 1 : p.length < 1024 ? 2 : 3], 1u);
  e.packets[i].flowSlot = slot;
}

__global__ void policePackets(Engine e) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= e.numPackets || e.packets[i].verdict == DROP) return;
  const FlowEntry& f = e.flows[e.packets[i].flowSlot];
  // only the second half of a heavy flow's life is policed
  const bool late = e.packets[i].timestampNs > f.firstSeen + (f.lastSeen - f.firstSeen) / 2;
  if (f.bytes > e.policeBytes && late) e.packets[i].verdict = POLICED;
}

__global__ void summarize(Engine e) {
  __shared__ unsigned long long local[2 * SUMMARY_BINS];
  if (threadIdx.x < 2 * SUMMARY_BINS) local[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i <= e.tableMask; i += gridDim.x * blockDim.x) {
    const FlowEntry& f = e.flows[i];
    if (f.key == 0) continue;
    const int bin = min(63 - __clzll((long long)(f.bytes | 1)), SUMMARY_BINS - 1);
    atomicAdd(&local[bin], 1ull);
    atomicAdd(&local[SUMMARY_BINS + bin], f.bytes);
  }
  __syncthreads();
  if (threadIdx.x < 2 * SUMMARY_BINS && local[threadIdx.x]) atomicAdd(&e.summary[threadIdx.x], local[threadIdx.x]);
}

static uint64_t lcg = 42;
static uint32_t rnd() {
  return (uint32_t)((lcg = lcg * 6364136223846793005ull + 1442695040888963407ull) >> 32);
}
static uint32_t rnd(uint32_t n) { return (uint32_t)((uint64_t)rnd() * n >> 32); }

static std::vector<Rule> makeRules(int count) {
  static const uint16_t services[] = {80, 443, 53, 22, 25, 123, 8080, 3306, 389, 5060};
  std::vector<Rule> rules(count);
  for (Rule& r : rules) {
    r.srcMask = rnd(3) == 0 ? 0 : ~0u << (20 - rnd(13));
    r.dstMask = ~0u << (rnd(8) == 0 ? 24 : 16 - rnd(17));
    r.srcNet = ((20 + rnd(180)) << 24 | (rnd() & 0xffffff)) & r.srcMask;
    r.dstNet = ((10 + rnd(200)) << 24 | (rnd() & 0xffffff)) & r.dstMask;
    r.srcPorts = rnd(4) == 0 ? PortRange{1024, 65535} : PortRange{0, 65535};
    const uint16_t service = services[rnd(10)];
    r.dstPorts = rnd(3) == 0 ? PortRange{0, 65535} : PortRange{service, service};
    r.protocolMask = rnd(6) ? 0xff : 0;
    r.protocol = (rnd(4) ? 6 : 17) & r.protocolMask;
    r.action = rnd(4) == 0 ? DENY : rnd(8) == 0 ? MIRROR : PERMIT;
  }
  rules[count - 1] = Rule{};  // the default: any to any
  rules[count - 1].srcPorts = rules[count - 1].dstPorts = {0, 65535};
  return rules;
}

using Box = std::array<uint32_t, NUM_DIMS>;
struct TreeBuilder {
  const std::vector<Rule>& rules;
  std::vector<CutNode> nodes;
  std::vector<uint16_t> list;

  bool overlaps(const Rule& r, int dim, uint32_t lo, uint32_t hi) const {
    const uint32_t from[] = {r.srcNet, r.dstNet, r.srcPorts.lo, r.dstPorts.lo, r.protocol};
    const uint32_t to[] = {r.srcNet | ~r.srcMask, r.dstNet | ~r.dstMask, r.srcPorts.hi, r.dstPorts.hi,
                           (uint32_t)(r.protocol | (uint8_t)~r.protocolMask)};
    return from[dim] <= hi && to[dim] >= lo;
  }
  // base and bits: the box of the node
  void build(size_t self, const std::vector<uint16_t>& in, Box base, Box bits, int depth) {
    int best = NUM_DIMS;
    size_t bestWorst = in.size();
    std::vector<uint16_t> parts[1 << CUT_BITS], bestParts[1 << CUT_BITS];
    for (int d = 0; d < NUM_DIMS && in.size() > LEAF_RULES && depth < MAX_CUTS; ++d) {
      if (bits[d] < CUT_BITS) continue;
      size_t worst = 0, total = 0;
      for (uint32_t c = 0; c < 1 << CUT_BITS; ++c) {
        const uint32_t width = 1u << (bits[d] - CUT_BITS), lo = base[d] | c * width, hi = lo + width - 1;
        parts[c].clear();
        for (uint16_t r : in)
          if (overlaps(rules[r], d, lo, hi)) parts[c].push_back(r);
        worst = std::max(worst, parts[c].size());
        total += parts[c].size();
      }
      if (worst < bestWorst && total < 6 * in.size()) {
        best = d;
        bestWorst = worst;
        std::swap_ranges(parts, parts + (1 << CUT_BITS), bestParts);
      }
    }
    if (best == NUM_DIMS) {
      nodes[self] = CutNode{(uint32_t)list.size(), (uint16_t)in.size(), NUM_DIMS, 0};
      list.insert(list.end(), in.begin(), in.end());
      return;
    }
    const size_t first = nodes.size();
    nodes.resize(first + (1 << CUT_BITS));
    bits[best] -= CUT_BITS;
    nodes[self] = CutNode{(uint32_t)first, 0, (uint8_t)best, (uint8_t)bits[best]};
    for (uint32_t c = 0; c < 1 << CUT_BITS; ++c) {
      Box child = base;
      child[best] |= c << bits[best];
      build(first + c, bestParts[c], child, bits, depth + 1);
    }
  }
};

static std::vector<Packet> makeTrace(int n, const std::vector<Rule>& rules) {
  std::vector<Packet> flows(std::max(n / 16, 16)), trace(n);
  for (Packet& f : flows) {
    const Rule& r = rules[rnd((uint32_t)rules.size())];
    f.srcIp = r.srcNet | (rnd() & ~r.srcMask);
    f.dstIp = r.dstNet | (rnd() & ~r.dstMask);
    f.srcPort = (uint16_t)(32768 + rnd(28000));
    f.dstPort = (uint16_t)(r.dstPorts.lo + rnd(r.dstPorts.hi - r.dstPorts.lo + 1u));
    f.protocol = r.protocolMask ? r.protocol : 6;
    f.ttl = (uint8_t)(40 + rnd(24));
  }
  uint32_t recent[16] = {};
  uint64_t now = 1700000000000000000ull;
  for (int i = 0; i < n; ++i) {
    const double u = rnd() / 4294967296.0;
    const uint32_t flow = rnd(5) < 2 ? recent[rnd(16)] : (uint32_t)(u * u * u * flows.size());
    Packet& p = trace[i] = flows[recent[i & 15] = flow];
    p.timestampNs = now += 20 + rnd(400);
    p.length = (uint16_t)(rnd(5) < 2 ? 40 + rnd(60) : rnd(3) ? 1500 : 100 + rnd(1400));
    p.tcpFlags = p.protocol == 6 ? (rnd(20) == 0 ? 0x02 : rnd(20) == 0 ? 0x11 : 0x10) : 0;
  }
  return trace;
}

template <typename T>
static void download(std::vector<T>& v, const T* p) { CK(cudaMemcpy(v.data(), p, v.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
template <typename T>
static T* upload(const std::vector<T>& v) {
  T* p = nullptr;
  CK(cudaMalloc(&p, v.size() * sizeof(T)));
  CK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(std::atoi(argv[1]), 64) : 2000000;
  std::vector<Rule> rules = makeRules(6000);
  std::vector<Packet> trace = makeTrace(n, rules);
  TreeBuilder tree{rules, std::vector<CutNode>(1), {}};
  std::vector<uint16_t> all(rules.size());
  std::iota(all.begin(), all.end(), 0);
  tree.build(0, all, Box{}, Box{32, 32, 16, 16, 8}, 0);
  uint32_t slots = 1024;
  while (slots < (uint32_t)n / 8) slots *= 2;
  std::vector<FlowEntry> flows(slots);
  std::vector<unsigned long long> summary(2 * SUMMARY_BINS);
  Engine e = {};
  e.packets = upload(trace);
  e.rules = upload(rules);
  e.nodes = upload(tree.nodes);
  e.ruleList = upload(tree.list);
  e.flows = upload(flows);
  e.summary = upload(summary);
  e.numPackets = n;
  e.tableMask = slots - 1;
  e.policeBytes = 50000;
  auto step = [&] {
    const int blocks = (n + 255) / 256;
    clearFlows<<<(slots + 255) / 256, 256>>>(e);
    classify<<<blocks, 256>>>(e);
    updateFlows<<<blocks, 256>>>(e);
    policePackets<<<blocks, 256>>>(e);
    summarize<<<264, 256>>>(e);
    CK(cudaGetLastError());
  };
  const int steps = 25;
  cudaEvent_t events[2];
  for (cudaEvent_t& event : events) CK(cudaEventCreate(&event));
  step();
  CK(cudaEventRecord(events[0]));
  for (int s = 0; s < steps; ++s) step();
  CK(cudaEventRecord(events[1]));
  CK(cudaEventSynchronize(events[1]));
  float ms = 0;
  CK(cudaEventElapsedTime(&ms, events[0], events[1]));

  download(trace, e.packets);
  download(rules, e.rules);
  download(flows, e.flows);
  download(summary, e.summary);
  unsigned long long check = 0;
  for (const Packet& p : trace) check = check * 31 + p.ruleId + 65536ull * p.verdict;
  for (const Rule& r : rules) check = check * 31 + r.packets + 3 * r.bytes;
  for (unsigned long long s : summary) check = check * 31 + s;
  for (const FlowEntry& f : flows)  // a flow's slot depends on the order of insertion: a sum
    if (f.key)
      check += f.key * (f.packets + 3 * f.bytes + 5 * (f.lastSeen - f.firstSeen) + 7 * f.minLength + 11 * f.maxLength +
                        13 * f.tcpFlags + f.sizeBins[0] + 17 * f.sizeBins[2] + f.srcIp + f.dstPort + f.ruleId);
  std::printf("check %llu\ntime_ms %.4f\n", check, ms / steps);
  return 0;
}
