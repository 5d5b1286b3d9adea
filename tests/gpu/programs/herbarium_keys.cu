// Re-identification of a herbarium: the specimens walk down a dichotomous key, the sheets are laid out anew in the
// order of their drawers, taxa collect statistics, and doubtful sheets are measured again for the next pass.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(e)                                                                   \
    if ((e) != cudaSuccess) {                                                        \
        printf("error %s in line %d\n", cudaGetErrorString(cudaGetLastError()), __LINE__); \
        return 1;                                                                    \
    }

struct Specimen {
    unsigned char trait[16];
    float leaf[4];
    int sheet;
    int taxon;
    float confidence;
    short year;
    unsigned char region;
    unsigned char condition;
    unsigned int seed;
};

struct Couplet {
    int yes;
    int no;
    float limit;
    int taxon; // -1: a question, else a leaf of the key
    short value;
    unsigned char kind; // 0 trait equals, 1 trait at least, 2 leaf longer than, 3 ratio of leaf measures
    unsigned char which;
};

struct Taxon {
    int sheets;
    int firstYear;
    int lastYear;
    unsigned int regions;
    int lengthSum;
    int doubtful;
};

__host__ __device__ unsigned stir(unsigned x) {
    x = ~x + (x << 15);
    x = x ^ (x >> 12);
    x = x + (x << 2);
    x = x ^ (x >> 4);
    x = x * 2057u;
    return x ^ (x >> 16);
}

struct Answer {
    bool yes;
    float margin;
};
__device__ Answer ask(const Specimen *s, const Couplet &c) {
    Answer a;
    float diff;
    switch (c.kind) {
    case 0:
        a.yes = s->trait[c.which] == c.value;
        a.margin = s->condition > 2 ? 0.8f : 1.0f;
        return a;
    case 1:
        diff = (float)s->trait[c.which] - c.value;
        a.yes = diff >= 0;
        a.margin = diff > 1 || diff < -1 ? 1.0f : 0.85f;
        return a;
    case 2:
        diff = s->leaf[c.which & 3] - c.limit;
        break;
    default:
        diff = s->leaf[c.which & 3] / s->leaf[(c.which + 1) & 3] - c.limit;
        break;
    }
    a.yes = diff > 0;
    a.margin = diff > 0.2f || diff < -0.2f ? 1.0f : 0.7f;
    return a;
}

__global__ void identify(Specimen *specimens, const Couplet *key, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        int at = 0;
        float confidence = 1.0f;
        while (key[at].taxon < 0) {
            Answer a = ask(&specimens[i], key[at]);
            confidence *= a.margin;
            at = a.yes ? key[at].yes : key[at].no;
        }
        specimens[i].taxon = key[at].taxon;
        specimens[i].confidence = confidence;
    }
}

__global__ void layOut(const Specimen *from, Specimen *to, const int *order, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Specimen s = from[order[i]];
    s.sheet = i;
    to[i] = s;
}

__global__ void tally(const Specimen *laid, Taxon *taxa, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Taxon *t = &taxa[laid[i].taxon];
    if (laid[i].confidence < 0.3f) {
        atomicAdd(&t->doubtful, 1);
        return;
    }
    atomicAdd(&t->sheets, 1);
    atomicMin(&t->firstYear, (int)laid[i].year);
    atomicMax(&t->lastYear, (int)laid[i].year);
    atomicOr(&t->regions, 1u << (laid[i].region & 31));
    atomicAdd(&t->lengthSum, (int)(laid[i].leaf[0] * 10.0f));
}

__global__ void measureAgain(Specimen *specimens, int n, int pass) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || specimens[i].confidence >= 0.3f) return;
    unsigned h = stir(specimens[i].seed + pass);
    specimens[i].leaf[h & 3] *= 0.9f + 0.2f * ((h >> 8) % 256) / 256.0f;
    specimens[i].trait[(h >> 4) & 15] = (unsigned char)((h >> 16) % 8);
    specimens[i].seed = h;
}

// Grows a random key; returns the couplet's index.
int growKey(std::vector<Couplet> &key, int depth, unsigned seed, int &taxa) {
    int at = (int)key.size();
    unsigned h = stir(seed * 2654435761u + depth);
    key.push_back(Couplet());
    if (depth == 0 || (depth < 7 && h % 8 == 0)) {
        key[at] = {0, 0, 0.0f, taxa++, 0, 0, 0};
        return at;
    }
    unsigned char kind = (unsigned char)((h >> 4) % 4);
    unsigned char which = (unsigned char)((h >> 8) % 16);
    short value = (short)((h >> 12) % 6 + 1);
    float limit = kind == 2 ? 2.0f + (h >> 16) % 64 / 8.0f : 0.5f + (h >> 16) % 64 / 64.0f;
    int yes = growKey(key, depth - 1, h + 1, taxa);
    int no = growKey(key, depth - 1, h + 2, taxa);
    key[at] = {yes, no, limit, -1, value, kind, which};
    return at;
}

struct ByDrawer {
    const std::vector<Specimen> &s;
    bool operator()(int a, int b) const {
        unsigned da = s[a].region * 64u + s[a].trait[3], db = s[b].region * 64u + s[b].trait[3];
        return da != db ? da < db : a < b;
    }
};

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1200000;
    int taxonCount = 0;
    std::vector<Couplet> key;
    growKey(key, 13, 4711u, taxonCount);

    std::vector<Specimen> specimens(n);
    for (int i = 0; i < n; i++) {
        Specimen &s = specimens[i];
        unsigned h = stir(i + 99u);
        for (int k = 0; k < 16; k++) s.trait[k] = (unsigned char)(stir(h + k * 31u) % 8);
        for (int k = 0; k < 4; k++) s.leaf[k] = 1.0f + (stir(h + 1000u + k) % 1000) / 100.0f;
        s.sheet = i, s.taxon = 0, s.confidence = 0;
        s.year = (short)(1780 + stir(h + 7u) % 240);
        s.region = (unsigned char)(stir(h + 8u) % 30);
        s.condition = (unsigned char)(stir(h + 9u) % 5);
        s.seed = h;
    }
    std::vector<int> order(n);
    for (int i = 0; i < n; i++) order[i] = i;
    std::sort(order.begin(), order.end(), ByDrawer{specimens});
    std::vector<Taxon> taxa(taxonCount);
    for (int t = 0; t < taxonCount; t++) taxa[t] = {0, 9999, 0, 0u, 0, 0};

    Specimen *dSpecimens, *dLaid;
    Couplet *dKey;
    Taxon *dTaxa;
    int *dOrder;
    CUDA_OK(cudaMalloc(&dSpecimens, n * sizeof(Specimen)));
    CUDA_OK(cudaMalloc(&dLaid, n * sizeof(Specimen)));
    CUDA_OK(cudaMalloc(&dKey, key.size() * sizeof(Couplet)));
    CUDA_OK(cudaMalloc(&dTaxa, taxonCount * sizeof(Taxon)));
    CUDA_OK(cudaMalloc(&dOrder, n * sizeof(int)));
    CUDA_OK(cudaMemcpy(dSpecimens, specimens.data(), n * sizeof(Specimen), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dKey, key.data(), key.size() * sizeof(Couplet), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dTaxa, taxa.data(), taxonCount * sizeof(Taxon), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dOrder, order.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    int blocks = (n + 255) / 256, passes = 25;
    for (int pass = -2; pass < passes; pass++) {
        if (pass == 0) cudaEventRecord(start);
        identify<<<132 * 6, 256>>>(dSpecimens, dKey, n);
        layOut<<<blocks, 256>>>(dSpecimens, dLaid, dOrder, n);
        tally<<<blocks, 256>>>(dLaid, dTaxa, n);
        measureAgain<<<blocks, 256>>>(dSpecimens, n, pass + 2);
    }
    cudaEventRecord(stop);
    CUDA_OK(cudaEventSynchronize(stop));
    float ms;
    CUDA_OK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_OK(cudaMemcpy(taxa.data(), dTaxa, taxonCount * sizeof(Taxon), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int t = 0; t < taxonCount; t++) {
        const Taxon &x = taxa[t];
        check += (long long)(x.sheets + 5 * x.doubtful) * (1 + t % 13) + x.lastYear - x.firstYear + x.regions % 101;
        check += x.lengthSum;
    }
    printf("check %lld\ntime_ms %.5f\n", check, ms / passes);
    return 0;
}
