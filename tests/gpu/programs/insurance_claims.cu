// Settlement of insurance claims: a forest of decision trees scores each claim,
// payable claims are settled against their policy, then the book is summed up
// by region.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

enum ClaimState : unsigned char { Open = 0, Review = 1, Settled = 2, Rejected = 3 };

struct Policy {
    int64_t paid;            // cents, all claims so far
    int holder;
    int region;
    int premium;             // cents per year
    int deductible;
    int limit;
    int startDay, endDay;
    short product;
    short agents;
    float risk;
    int claims;
    int rejected;
    float loading[2];
};

struct Claim {
    int policy;
    int day;
    int amount;              // cents
    short cause;
    ClaimState state;
    unsigned char channel;
    int payout;
    float score;
    float feature[6];
};

struct TreeNode {
    short feature;           // -1: leaf
    short depth;
    float threshold;
    int left, right;
    float value;
};

struct Region {
    unsigned long long premium;
    unsigned long long paid;
    int policies;
    int lossMaking;
};

constexpr int kTrees = 24;
constexpr int kRegions = 128;

// ---------------------------------------------------------------- helpers
static void die(const char* where, cudaError_t e)
{
    fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
    exit(1);
}

template <class T>
T* alloc(size_t n)
{
    void* p = nullptr;
    if (cudaError_t e = cudaMalloc(&p, n * sizeof(T))) die("cudaMalloc", e);
    return static_cast<T*>(p);
}

template <class T>
T* upload(const std::vector<T>& h)
{
    T* d = alloc<T>(h.size());
    if (cudaError_t e = cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice)) die("upload", e);
    return d;
}

template <class T>
std::vector<T> download(const T* d, size_t n)
{
    std::vector<T> h(n);
    if (cudaError_t e = cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost)) die("download", e);
    return h;
}

static uint32_t hash(uint32_t a)
{
    a = (a ^ 61u) ^ (a >> 16);
    a *= 9u;
    a ^= a >> 4;
    a *= 0x27d4eb2du;
    return a ^ (a >> 15);
}
static float unit(uint32_t h) { return (hash(h) >> 8) / 16777216.0f; }

// ---------------------------------------------------------------- kernels
__device__ float walkTree(const TreeNode* nodes, int root, const Claim& c)
{
    int k = root;
    while (nodes[k].feature >= 0)
        k = c.feature[nodes[k].feature] < nodes[k].threshold ? nodes[k].left : nodes[k].right;
    return nodes[k].value;
}

__global__ void scoreClaims(Claim* claims, int n, const TreeNode* nodes, const int* roots)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (claims[i].state >= Settled) return;
    float s = 0.0f;
    for (int t = 0; t < kTrees; t++) s += walkTree(nodes, roots[t], claims[i]);
    claims[i].score = s;
}

__global__ void settleClaims(Claim* claims, int n, Policy* policies, int today)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    Claim& c = claims[i];
    if (c.state >= Settled || c.day > today) return;

    Policy& p = policies[c.policy];
    if (c.score < -1.0f || c.day < p.startDay || c.day > p.endDay) {
        c.state = Rejected;
        atomicAdd(&p.rejected, 1);
        return;
    }
    if (c.state == Open && c.score < 0.0f) {      // looks odd: look again tomorrow
        c.state = Review;
        c.feature[5] += 0.25f;
        return;
    }
    int pay = c.amount - p.deductible;
    pay = max(0, min(pay, p.limit));
    if (p.product == 3) pay -= pay / 10;          // co-payment
    c.payout = pay;
    c.state = Settled;
    atomicAdd(&p.claims, 1);
    atomicAdd(reinterpret_cast<unsigned long long*>(&p.paid), (unsigned long long)pay);
}

// a new year for a tenth of the claims: they come back as open ones
__global__ void reopenClaims(Claim* claims, int n, int today)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || (i + today) % 10 != 0) return;
    claims[i].state = Open;
    claims[i].day = today;
}

__global__ void sumBook(const Policy* __restrict__ policies, int n, Region* regions)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const long long paid = policies[i].paid;
        Region* r = &regions[policies[i].region];
        atomicAdd(&r->policies, 1);
        if (paid == 0) continue;
        atomicAdd(&r->paid, (unsigned long long)paid);
        atomicAdd(&r->premium, (unsigned long long)policies[i].premium);
        if (paid > policies[i].premium) atomicAdd(&r->lossMaking, 1);
    }
}

// ---------------------------------------------------------------- data
static int growTree(std::vector<TreeNode>& nodes, uint32_t seed, int depth)
{
    const int me = (int)nodes.size();
    const uint32_t h = hash(seed);
    nodes.push_back(TreeNode{-1, (short)depth, 0.0f, -1, -1, unit(seed + 5) * 0.5f - 0.2f});
    if (depth < 3 || (depth < 11 && h % 4 != 0)) {
        nodes[me].feature = (short)((h >> 4) % 6);
        nodes[me].threshold = 0.2f + 0.6f * unit(seed + 9);
        const int l = growTree(nodes, seed * 2654435761u + 1, depth + 1);
        const int r = growTree(nodes, seed * 2654435761u + 0x9e3779b9u, depth + 1);
        nodes[me].left = l;
        nodes[me].right = r;
    }
    return me;
}

int main(int argc, char** argv)
{
    const int nClaims = argc > 1 ? atoi(argv[1]) : 3000000;
    const int nPolicies = nClaims / 2 + 1;

    std::vector<Policy> policies(nPolicies);
    for (int i = 0; i < nPolicies; i++) {
        const uint32_t h = hash(i * 7 + 3);
        Policy p{};
        p.holder = h % 1000003;
        p.region = (h >> 7) % 4 ? (h >> 9) % kRegions : 5;      // one large city
        p.premium = 20000 + h % 90000;
        p.deductible = (h >> 3) % 5 * 10000;
        p.limit = 500000 << (h >> 11) % 5;
        p.startDay = h % 40;
        p.endDay = p.startDay + 20 + (h >> 5) % 365;
        p.product = (h >> 13) % 6;
        p.risk = 1.0f;
        p.loading[0] = p.loading[1] = 0.1f;
        policies[i] = p;
    }
    std::vector<Claim> claims(nClaims);
    for (int i = 0; i < nClaims; i++) {
        const uint32_t h = hash(i ^ 0xa511e9b3u);
        Claim c{};
        const float u = unit(h);
        c.policy = (int)(u * u * u * (nPolicies - 1));          // some policies claim a lot
        c.day = 10 + h % 30;
        c.amount = 5000 + (int)(4.0e6f * unit(h + 1) * unit(h + 2) * unit(h + 3));
        c.cause = (h >> 8) % 40;
        c.channel = (h >> 16) % 5;
        c.state = h % 3 == 0 ? Settled : Open;
        for (int k = 0; k < 6; k++) c.feature[k] = unit(h * 6 + k);
        claims[i] = c;
    }
    std::vector<TreeNode> nodes;
    std::vector<int> roots;
    for (int t = 0; t < kTrees; t++) roots.push_back(growTree(nodes, 9001 + t * 77, 0));

    Policy* dPolicies = upload(policies);
    Claim* dClaims = upload(claims);
    TreeNode* dNodes = upload(nodes);
    int* dRoots = upload(roots);
    Region* dRegions = upload(std::vector<Region>(kRegions));

    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    const int steps = 20, tpb = 256, grid = (nClaims + tpb - 1) / tpb;
    for (int day = 0; day <= steps; day++) {
        if (day == 1) cudaEventRecord(a);
        scoreClaims<<<grid, tpb>>>(dClaims, nClaims, dNodes, dRoots);
        settleClaims<<<grid, tpb>>>(dClaims, nClaims, dPolicies, 20 + day);
        reopenClaims<<<grid, tpb>>>(dClaims, nClaims, 20 + day);
        sumBook<<<264, tpb>>>(dPolicies, nPolicies, dRegions);
    }
    cudaEventRecord(b);
    if (cudaError_t e = cudaEventSynchronize(b)) die("run", e);
    float ms = 0;
    cudaEventElapsedTime(&ms, a, b);

    unsigned long long check = 0;
    for (const Region& r : download(dRegions, kRegions))
        check = check * 3 + r.premium + r.paid + r.policies + 11ull * r.lossMaking;
    for (const Policy& p : download(dPolicies, nPolicies))
        check += (unsigned long long)p.paid * (p.product + 1) + p.claims * 5 + p.rejected;
    for (const Claim& c : download(dClaims, nClaims)) check += c.state * 13 + c.payout % 1000;

    cudaFree(dPolicies);
    cudaFree(dClaims);
    cudaFree(dNodes);
    cudaFree(dRoots);
    cudaFree(dRegions);
    printf("check %llu\n", check);
    printf("time_ms %.4f\n", ms / steps);
    return 0;
}
