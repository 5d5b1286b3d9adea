// Two-layer graph attention network, inference only. Edges carry features and relation types
// and are stored as records sorted by destination node (CSR over the edge array).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(call)                                                               \
    if (cudaError_t err = (call); err != cudaSuccess) {                             \
        std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
        std::exit(EXIT_FAILURE);                                                    \
    }

constexpr int DIM = 16;
constexpr int EF = 4;
constexpr int RELATIONS = 6;
constexpr int CLASSES = 10;

struct Node {
    float h[DIM];
    float attSrc, attDst;
    int rowStart;
    int degree;
    short label;
    short predicted;
    float confidence;
};

struct Edge {
    int src;
    int dst;
    float feat[EF];
    float score;
    float alpha;
    unsigned char rel;
    unsigned char dropped;
    short age;
};

struct Message {
    float v[DIM];
    float mass;
    int count;
};

struct LayerWeights {
    float self[DIM][DIM];
    float neigh[DIM][DIM];
    float attSrc[DIM], attDst[DIM];
    float relBias[RELATIONS];
    float edgeW[EF];
    float bias[DIM];
};

template <typename T>
T* toDevice(const std::vector<T>& v)
{
    T* p = nullptr;
    CUDA_OK(cudaMalloc(&p, v.size() * sizeof(T)));
    CUDA_OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}

__global__ void projectAttention(Node* nodes, int n, const LayerWeights* __restrict__ w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0.f, d = 0.f;
#pragma unroll
    for (int k = 0; k < DIM; ++k) {
        const float x = nodes[i].h[k];
        s += x * w->attSrc[k];
        d += x * w->attDst[k];
    }
    nodes[i].attSrc = s;
    nodes[i].attDst = d;
}

// thread per edge: gathers two scalars from both end nodes
__global__ void edgeScores(Edge* edges, int m, const Node* __restrict__ nodes, const LayerWeights* __restrict__ w)
{
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m; e += gridDim.x * blockDim.x) {
        Edge& ed = edges[e];
        float x = nodes[ed.src].attSrc + nodes[ed.dst].attDst + w->relBias[ed.rel];
        for (int k = 0; k < EF; ++k) x += ed.feat[k] * w->edgeW[k];
        x -= 0.001f * ed.age;
        ed.score = x > 0.f ? x : 0.2f * x;
        ed.dropped = ed.age > 950;
    }
}

// thread per node: numerically safe softmax over its incoming edges
__global__ void segmentSoftmax(Edge* edges, const Node* __restrict__ nodes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int b = nodes[i].rowStart, e = b + nodes[i].degree;
    float mx = -1e30f;
    for (int k = b; k < e; ++k)
        if (!edges[k].dropped) mx = fmaxf(mx, edges[k].score);
    float sum = 0.f;
    for (int k = b; k < e; ++k) {
        float a = edges[k].dropped ? 0.f : expf(edges[k].score - mx);
        edges[k].alpha = a;
        sum += a;
    }
    const float inv = sum > 0.f ? 1.f / sum : 0.f;
    for (int k = b; k < e; ++k) edges[k].alpha *= inv;
}

// half-warp per node, one lane per feature
__global__ void __launch_bounds__(256)
aggregate(const Edge* __restrict__ edges, const Node* __restrict__ nodes, Message* __restrict__ msgs, int n)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) / DIM;
    const int f = threadIdx.x % DIM;
    if (i >= n) return;
    const int b = nodes[i].rowStart, e = b + nodes[i].degree;
    float acc = 0.f, mass = 0.f;
    int count = 0;
    for (int k = b; k < e; ++k) {
        const float a = edges[k].alpha;
        if (a < 1e-4f) continue;
        acc += a * nodes[edges[k].src].h[f];
        mass += a;
        ++count;
    }
    msgs[i].v[f] = acc;
    if (f == 0) {
        msgs[i].mass = mass;
        msgs[i].count = count;
    }
}

__global__ void updateNodes(Node* nodes, const Message* __restrict__ msgs, int n, const LayerWeights* __restrict__ gw)
{
    __shared__ LayerWeights w;
    float* dst = reinterpret_cast<float*>(&w);
    const float* src = reinterpret_cast<const float*>(gw);
    for (int k = threadIdx.x; k < (int)(sizeof(LayerWeights) / sizeof(float)); k += blockDim.x) dst[k] = src[k];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x[DIM], y[DIM];
    const Message m = msgs[i];
    for (int k = 0; k < DIM; ++k) x[k] = nodes[i].h[k];
    float norm = 1e-6f;
#pragma unroll
    for (int o = 0; o < DIM; ++o) {
        float s = w.bias[o];
#pragma unroll
        for (int k = 0; k < DIM; ++k) s += w.self[o][k] * x[k] + w.neigh[o][k] * m.v[k];
        y[o] = s > 0.f ? s : expf(s) - 1.f;
        norm += y[o] * y[o];
    }
    const float inv = rsqrtf(norm) * (m.mass > 0.f ? 1.f : 0.5f);
    for (int k = 0; k < DIM; ++k) nodes[i].h[k] = y[k] * inv;
}

__global__ void readout(Node* nodes, int n, unsigned* confusion)
{
    __shared__ unsigned local[CLASSES * CLASSES];
    for (int k = threadIdx.x; k < CLASSES * CLASSES; k += blockDim.x) local[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int best = 0;
        float bv = nodes[i].h[0], tot = 0.f;
        for (int c = 0; c < CLASSES; ++c) {
            const float v = nodes[i].h[c];
            tot += expf(v);
            if (v > bv) { bv = v; best = c; }
        }
        nodes[i].predicted = (short)best;
        nodes[i].confidence = expf(bv) / tot;
        atomicAdd(&local[nodes[i].label * CLASSES + best], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < CLASSES * CLASSES; k += blockDim.x)
        if (local[k]) atomicAdd(&confusion[k], local[k]);
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 250000;
    unsigned state = 31337u;
    auto rnd = [&state] { state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state; };
    auto uni = [&rnd] { return (rnd() >> 8) * (1.f / 16777216.f); };

    std::vector<Node> nodes(n);
    int m = 0;
    for (Node& v : nodes) {
        v = Node{};
        for (float& x : v.h) x = uni() - 0.5f;
        v.label = (short)(rnd() % CLASSES);
        const float u = uni();
        v.degree = std::min(400, (int)(4.f / std::sqrt(1.f - u + 1e-4f)) + (int)(rnd() % 4));   // heavy tail
        if (rnd() % 50 == 0) v.degree = 0;
        v.rowStart = m;
        m += v.degree;
    }
    std::vector<Edge> edges(m);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < nodes[i].degree; ++k) {
            Edge& e = edges[nodes[i].rowStart + k];
            e = Edge{};
            // half of the neighbours are local, the others are anywhere
            e.src = rnd() & 1 ? (int)(((unsigned)i + rnd() % 512u) % (unsigned)n) : (int)(rnd() % (unsigned)n);
            e.dst = i;
            for (float& f : e.feat) f = uni() - 0.5f;
            e.rel = (unsigned char)(rnd() % RELATIONS);
            e.age = (short)(rnd() % 1000);
        }
    std::vector<LayerWeights> weights(2);
    for (auto& w : weights) {
        float* p = reinterpret_cast<float*>(&w);
        for (size_t k = 0; k < sizeof(LayerWeights) / sizeof(float); ++k) p[k] = 0.6f * (uni() - 0.5f);
    }

    Node* dNodes = toDevice(nodes);
    Edge* dEdges = toDevice(edges);
    LayerWeights* dW = toDevice(weights);
    Message* dMsgs = nullptr;
    unsigned* dConf = nullptr;
    CUDA_OK(cudaMalloc(&dMsgs, n * sizeof(Message)));
    CUDA_OK(cudaMalloc(&dConf, CLASSES * CLASSES * sizeof(unsigned)));

    auto forward = [&] {
        for (int layer = 0; layer < 2; ++layer) {
            projectAttention<<<(n + 255) / 256, 256>>>(dNodes, n, dW + layer);
            edgeScores<<<2112, 256>>>(dEdges, m, dNodes, dW + layer);
            segmentSoftmax<<<(n + 127) / 128, 128>>>(dEdges, dNodes, n);
            aggregate<<<(n * DIM + 255) / 256, 256>>>(dEdges, dNodes, dMsgs, n);
            updateNodes<<<(n + 127) / 128, 128>>>(dNodes, dMsgs, n, dW + layer);
        }
        CUDA_OK(cudaMemsetAsync(dConf, 0, CLASSES * CLASSES * sizeof(unsigned)));
        readout<<<528, 256>>>(dNodes, n, dConf);
        CUDA_OK(cudaGetLastError());
    };

    cudaEvent_t beg, end;
    CUDA_OK(cudaEventCreate(&beg));
    CUDA_OK(cudaEventCreate(&end));
    forward();
    CUDA_OK(cudaMemcpy(dNodes, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice));   // undo warm-up
    CUDA_OK(cudaEventRecord(beg));
    for (int rep = 0; rep < 5; ++rep) forward();
    CUDA_OK(cudaEventRecord(end));
    CUDA_OK(cudaEventSynchronize(end));
    float ms = 0.f;
    CUDA_OK(cudaEventElapsedTime(&ms, beg, end));

    std::vector<unsigned> conf(CLASSES * CLASSES);
    auto msgs = std::make_unique<Message[]>(n);
    CUDA_OK(cudaMemcpy(nodes.data(), dNodes, n * sizeof(Node), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(edges.data(), dEdges, m * sizeof(Edge), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(msgs.get(), dMsgs, n * sizeof(Message), cudaMemcpyDeviceToHost));
    CUDA_OK(cudaMemcpy(conf.data(), dConf, conf.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    double hsum = 0, confid = 0, mass = 0, alpha2 = 0;
    long long used = 0, dropped = 0, total = 0;
    for (const Node& v : nodes) {
        confid += v.confidence;
        for (int k = 0; k < DIM; ++k) hsum += std::fabs(v.h[k]) * (1 + k % 3);
    }
    for (const Edge& e : edges) { alpha2 += (double)e.alpha * e.alpha; dropped += e.dropped; }
    for (int i = 0; i < n; ++i) { mass += msgs[i].mass; used += msgs[i].count; }
    for (unsigned c : conf) total += c;
    std::printf("check edges %d\n", m);
    std::printf("check features %.6g\n", hsum);
    std::printf("check confidence %.6g\n", confid);
    std::printf("check alpha2 %.6g\n", alpha2);
    std::printf("check mass %.6g\n", mass);
    std::printf("check used_messages %.4g\n", (double)used);
    std::printf("check dropped %lld\n", dropped);
    std::printf("check classified %lld\n", total);
    std::printf("time_ms %.4f\n", ms);
    cudaFree(dNodes); cudaFree(dEdges); cudaFree(dW); cudaFree(dMsgs); cudaFree(dConf);
    return 0;
}
