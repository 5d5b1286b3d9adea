// Router data plane model: longest prefix match, rule classification, flow table accounting
// with an open addressing hash table, heavy hitter export with compaction and ageing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>
#include <cuda_runtime.h>

typedef uint8_t  u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;

static void die_if(cudaError_t e, int line) { if (e) { fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e)); exit(1); } }
#define DO(x) die_if((x), __LINE__)

enum { BATCH = 2000000, BATCHES = 10, RULES = 60000, TABLE = 1 << 21, PORTS = 64, MAX_EXPORT = TABLE };
enum Verdict : u8 { PASS = 0, DROP = 1, LIMIT = 2, MIRROR = 3 };

struct FiveTuple {
    u32 src, dst;
    u16 sport, dport;
    u8  proto, pad[3];
};

struct Packet {
    FiveTuple key;
    u32 timestamp;      // us
    u16 length;
    u8  tcpFlags;
    u8  dscp;
    int rule;           // results of the pipeline
    int nextHop;
    int flow;
    u8  verdict;
};

struct Rule {           // sorted by dstLo; equal or overlapping ranges resolved by priority
    u32 dstLo, dstHi;
    u32 srcMask, srcValue;
    u16 portLo, portHi;
    short priority;
    u8  proto;          // 0 any
    u8  action;
    u32 maxSpan;        // longest range starting at or before this rule within its group
    u32 hits;
    u64 bytes;
};

struct TrieNode {
    int child[2];
    int nextHop;        // -1 none
    u8  depth;
};

struct Flow {
    u64 tag;            // 0 empty
    FiveTuple key;
    u32 firstSeen, lastSeen;
    u32 packets;
    u64 bytes;
    u32 flagsSeen;
    u32 dropped;
    u16 egress;
    u16 state;          // 1 active, 2 idle
};

struct ExportRecord { u64 tag; u64 bytes; u32 packets; u32 duration; u32 src, dst; };

struct PortCounter { u64 bytes; u32 packets; u32 drops; };

template <int BITS>
__device__ u32 bitAt(u32 v, int depth) { return (v >> (BITS - 1 - depth)) & 1u; }

__host__ __device__ inline u64 mix(u64 x)
{
    x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ULL; x ^= x >> 33;
    return x;
}

__device__ inline u64 flowTag(const FiveTuple &k)
{
    u64 a = ((u64)k.src << 32) | k.dst;
    u64 b = ((u64)k.sport << 32) | ((u64)k.dport << 8) | k.proto;
    return mix(a ^ mix(b + 0x9e3779b97f4a7c15ULL)) | 1ULL;
}

__global__ void lookupRoute(Packet *pkt, int n, const TrieNode *trie)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 dst = pkt[i].key.dst;
    int node = 0, best = -1;
    while (node >= 0) {
        const TrieNode t = trie[node];
        if (t.nextHop >= 0) best = t.nextHop;
        if (t.depth >= 32) break;
        node = t.child[bitAt<32>(dst, t.depth)];
    }
    pkt[i].nextHop = best;
}

__global__ void classify(Packet *pkt, int n, Rule *rules, int nr)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const FiveTuple k = pkt[i].key;
    int lo = 0, hi = nr;              // first rule with dstLo > dst
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (rules[mid].dstLo <= k.dst) lo = mid + 1; else hi = mid;
    }
    int best = -1, bestPrio = 32767;
    for (int r = lo - 1; r >= 0 && r > lo - 48; --r) {
        const Rule &q = rules[r];
        if (k.dst - q.dstLo > q.maxSpan) break;
        if (k.dst > q.dstHi || (k.src & q.srcMask) != q.srcValue) continue;
        if (q.proto && q.proto != k.proto) continue;
        if (k.dport < q.portLo || k.dport > q.portHi) continue;
        if (q.priority < bestPrio || (q.priority == bestPrio && r < best)) { bestPrio = q.priority; best = r; }
    }
    u8 v = PASS;
    if (best >= 0) {
        v = rules[best].action;
        atomicAdd(&rules[best].hits, 1u);
        atomicAdd(&rules[best].bytes, (u64)pkt[i].length);
    }
    pkt[i].rule = best;
    pkt[i].verdict = v;
}

__global__ void insertFlows(Packet *pkt, int n, Flow *table)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const FiveTuple key = pkt[i].key;
    u64 tag = flowTag(key);
    u32 slot = (u32)(tag >> 20) & (TABLE - 1);
    int found = -1;
    for (int probe = 0; probe < TABLE; ++probe, slot = (slot + 1) & (TABLE - 1)) {
        u64 cur = table[slot].tag;
        if (cur == 0) {
            cur = atomicCAS(&table[slot].tag, 0ULL, tag);
            if (cur == 0) { table[slot].key = key; table[slot].state = 1; cur = tag; }
        }
        if (cur == tag) { found = (int)slot; break; }
    }
    pkt[i].flow = found;
}

__global__ void accountFlows(const Packet *pkt, int n, Flow *table)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int f = pkt[i].flow;
    if (f < 0) return;
    if (pkt[i].verdict == DROP) { atomicAdd(&table[f].dropped, 1u); return; }
    atomicAdd(&table[f].packets, 1u);
    atomicAdd(&table[f].bytes, (u64)pkt[i].length);
    atomicMin(&table[f].firstSeen, pkt[i].timestamp);
    atomicMax(&table[f].lastSeen, pkt[i].timestamp);
    if (pkt[i].key.proto == 6) atomicOr(&table[f].flagsSeen, (u32)pkt[i].tcpFlags);
    table[f].egress = (u16)(pkt[i].nextHop + 1);      // same route for the whole flow
}

__global__ void countPorts(const Packet *pkt, int n, PortCounter *ports)
{
    __shared__ u64 bytes[PORTS];
    __shared__ u32 packets[PORTS], drops[PORTS];
    for (int k = threadIdx.x; k < PORTS; k += blockDim.x) { bytes[k] = 0; packets[k] = 0; drops[k] = 0; }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int p = pkt[i].nextHop;
        if (p < 0) continue;
        if (pkt[i].verdict == DROP) atomicAdd(&drops[p], 1u);
        else { atomicAdd(&packets[p], 1u); atomicAdd(&bytes[p], (u64)pkt[i].length); }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < PORTS; k += blockDim.x) {
        atomicAdd(&ports[k].bytes, bytes[k]);
        atomicAdd(&ports[k].packets, packets[k]);
        atomicAdd(&ports[k].drops, drops[k]);
    }
}

// scan of the table: mark idle flows, append heavy hitters to the export buffer
__global__ void ageAndExport(Flow *table, u32 now, u32 timeout, u64 heavy, ExportRecord *out, u32 *nOut)
{
    u32 s = blockIdx.x * blockDim.x + threadIdx.x;
    bool emit = false;
    if (s < TABLE && table[s].tag != 0) {
        if (table[s].lastSeen + timeout < now) table[s].state = 2;
        else if (table[s].state == 2) table[s].state = 1;
        emit = table[s].bytes >= heavy;
    }
    u32 mask = __ballot_sync(0xffffffffu, emit), lane = threadIdx.x & 31, base = 0;
    if (lane == 0 && mask) base = atomicAdd(nOut, (u32)__popc(mask));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (!emit) return;
    ExportRecord &r = out[base + __popc(mask & ((1u << lane) - 1))];
    r.tag = table[s].tag; r.bytes = table[s].bytes; r.packets = table[s].packets;
    r.duration = table[s].lastSeen - table[s].firstSeen;
    r.src = table[s].key.src; r.dst = table[s].key.dst;
}

static std::vector<TrieNode> buildTrie(std::mt19937 &g, std::vector<u32> &nets)
{
    std::vector<TrieNode> t(1, TrieNode{{-1, -1}, 0, 0});
    for (int p = 0; p < 150000; ++p) {
        int len = g() % 10 < 6 ? 24 : 10 + int(g() % 14);
        u32 net = (p && g() % 3) ? nets[g() % nets.size()] ^ (g() & 0xffffu) << 4 : g();
        net &= ~0u << (32 - len);
        nets.push_back(net);
        int node = 0;
        for (int d = 0; d < len; ++d) {
            int b = (net >> (31 - d)) & 1;
            if (t[node].child[b] < 0) {
                t.push_back(TrieNode{{-1, -1}, -1, (u8)(d + 1)});
                t[node].child[b] = (int)t.size() - 1;
            }
            node = t[node].child[b];
        }
        t[node].nextHop = int(g() % PORTS);
    }
    return t;
}

int main()
{
    std::mt19937 g(0xC0FFEE);
    std::uniform_real_distribution<double> U(0.0, 1.0);
    std::vector<u32> nets;
    std::vector<TrieNode> trie = buildTrie(g, nets);
    std::vector<Rule> rules(RULES, Rule{});
    for (auto &r : rules) {
        r.dstLo = nets[(size_t)(U(g) * U(g) * (nets.size() - 1))] | (g() & 0xff);
        u32 span = g() % 4 ? g() % 256 : g() % 4096;
        r.dstHi = r.dstLo > 0xffffffffu - span ? 0xffffffffu : r.dstLo + span;
        r.srcMask = g() % 2 ? 0 : 0xf0000000u;
        r.srcValue = g() & r.srcMask;
        r.portLo = g() % 3 ? 0 : u16(g() % 1024);
        r.portHi = r.portLo ? u16(r.portLo + 200) : 65535;
        r.priority = short(g() % 1000);
        r.proto = g() % 3 ? 0 : (g() % 2 ? 6 : 17);
        r.action = u8(g() % 4);
    }
    std::sort(rules.begin(), rules.end(), [](const Rule &a, const Rule &b) {
        return a.dstLo != b.dstLo ? a.dstLo < b.dstLo : (a.priority != b.priority ? a.priority < b.priority : a.srcValue < b.srcValue);
    });
    for (int i = 0; i < RULES; ++i) {
        u32 far = 0;
        for (int k = i; k >= 0 && k > i - 48; --k) far = std::max(far, rules[k].dstHi);
        rules[i].maxSpan = far - rules[i].dstLo;
    }
    // a pool of conversations with Zipf-like popularity
    const int conv = 900000;
    std::vector<FiveTuple> pool(conv);
    for (auto &k : pool) {
        k = FiveTuple{};
        k.src = g(); k.dst = nets[(size_t)(U(g) * U(g) * (nets.size() - 1))] | (g() & 0xff);
        k.sport = u16(1024 + g() % 60000);
        k.dport = g() % 3 ? (g() % 2 ? 443 : 80) : u16(g() % 5000);
        k.proto = g() % 4 ? 6 : 17;
    }
    std::vector<Packet> pk((size_t)BATCH * 2, Packet{});     // two capture buffers replayed in turn
    for (size_t i = 0; i < pk.size(); ++i) {
        Packet &p = pk[i];
        p.key = pool[std::min(conv - 1, (int)(conv * std::pow(U(g), 3.0)))];
        p.timestamp = u32(1000000 + i * 2 + g() % 64);
        p.length = g() % 10 < 4 ? u16(40 + g() % 60) : (g() % 3 ? 1500 : u16(64 + g() % 1400));
        p.tcpFlags = u8(1u << (g() % 5));
        p.dscp = u8(g() % 8);
        p.rule = p.nextHop = p.flow = -1;
    }

    Packet *dPk; Rule *dRules; TrieNode *dTrie; Flow *dTable; ExportRecord *dOut; PortCounter *dPorts; u32 *dN;
    DO(cudaMalloc(&dPk, pk.size() * sizeof(Packet)));
    DO(cudaMalloc(&dRules, RULES * sizeof(Rule)));
    DO(cudaMalloc(&dTrie, trie.size() * sizeof(TrieNode)));
    DO(cudaMalloc(&dTable, TABLE * sizeof(Flow)));
    DO(cudaMalloc(&dOut, MAX_EXPORT * sizeof(ExportRecord)));
    DO(cudaMalloc(&dPorts, PORTS * sizeof(PortCounter)));
    DO(cudaMalloc(&dN, BATCHES * sizeof(u32)));
    std::vector<Flow> table(TABLE, Flow{});
    for (auto &f : table) f.firstSeen = 0xffffffffu;
    DO(cudaMemcpy(dPk, pk.data(), pk.size() * sizeof(Packet), cudaMemcpyHostToDevice));
    DO(cudaMemcpy(dRules, rules.data(), RULES * sizeof(Rule), cudaMemcpyHostToDevice));
    DO(cudaMemcpy(dTrie, trie.data(), trie.size() * sizeof(TrieNode), cudaMemcpyHostToDevice));
    DO(cudaMemcpy(dTable, table.data(), TABLE * sizeof(Flow), cudaMemcpyHostToDevice));
    DO(cudaMemset(dPorts, 0, PORTS * sizeof(PortCounter)));
    DO(cudaMemset(dN, 0, BATCHES * sizeof(u32)));

    cudaEvent_t e0, e1;
    DO(cudaEventCreate(&e0)); DO(cudaEventCreate(&e1));
    DO(cudaEventRecord(e0));
    const int tb = 256, gb = (BATCH + tb - 1) / tb;
    for (int b = 0; b < BATCHES; ++b) {
        Packet *p = dPk + (size_t)(b % 2) * BATCH;
        lookupRoute<<<gb, tb>>>(p, BATCH, dTrie);
        classify<<<gb, tb>>>(p, BATCH, dRules, RULES);
        insertFlows<<<gb, tb>>>(p, BATCH, dTable);
        accountFlows<<<gb, tb>>>(p, BATCH, dTable);
        countPorts<<<528, tb>>>(p, BATCH, dPorts);
        ageAndExport<<<TABLE / tb, tb>>>(dTable, 1000000u + 4000000u * (b + 1) / 2, 2500000u, 40000u * (b + 1), dOut, dN + b);
    }
    DO(cudaEventRecord(e1)); DO(cudaEventSynchronize(e1)); DO(cudaGetLastError());
    float ms; DO(cudaEventElapsedTime(&ms, e0, e1));

    PortCounter ports[PORTS]; u32 nOut[BATCHES];
    DO(cudaMemcpy(pk.data(), dPk, pk.size() * sizeof(Packet), cudaMemcpyDeviceToHost));
    DO(cudaMemcpy(rules.data(), dRules, RULES * sizeof(Rule), cudaMemcpyDeviceToHost));
    DO(cudaMemcpy(table.data(), dTable, TABLE * sizeof(Flow), cudaMemcpyDeviceToHost));
    DO(cudaMemcpy(ports, dPorts, sizeof ports, cudaMemcpyDeviceToHost));
    DO(cudaMemcpy(nOut, dN, sizeof nOut, cudaMemcpyDeviceToHost));
    std::vector<ExportRecord> out(nOut[BATCHES - 1]);
    DO(cudaMemcpy(out.data(), dOut, out.size() * sizeof(ExportRecord), cudaMemcpyDeviceToHost));
    u64 hp = 0, hr = 0, hf = 0, nf = 0, ho = 0, hc = 0, ne = 0;   // flow slots vary, so flows are summed
    for (auto &p : pk) hp = hp * 31 + (u64)(p.rule + 1) * 7 + (p.nextHop + 1) * 3 + p.verdict + (p.flow < 0);
    for (auto &r : rules) hr = hr * 31 + r.hits + r.bytes;
    for (auto &f : table) if (f.tag) { ++nf; hf += mix(f.tag ^ f.bytes) + mix(f.packets + ((u64)f.dropped << 32)) * 3 + f.lastSeen - f.firstSeen + f.flagsSeen * 5 + f.egress + f.state + mix(f.key.src ^ f.key.dst); }
    for (auto &o : out) ho += mix(o.tag + o.bytes) ^ mix(o.packets + o.duration + ((u64)(o.src ^ o.dst) << 32));
    for (auto &p : ports) hc = hc * 131 + p.bytes + p.packets * 3ull + p.drops * 5ull;
    for (u32 n : nOut) ne = ne * 17 + n;
    const u64 M = 1000000007ULL;
    printf("check packets %llu\ncheck rules %llu\ncheck flows %llu\ncheck nflows %llu\ncheck export %llu\ncheck ports %llu\ncheck nexport %llu\n",
           hp % M, hr % M, hf % M, nf, ho % M, hc % M, ne % M);
    printf("time_ms %.4f\n", ms);
    cudaFree(dPk); cudaFree(dRules); cudaFree(dTrie); cudaFree(dTable); cudaFree(dOut); cudaFree(dPorts); cudaFree(dN);
    return 0;
}
