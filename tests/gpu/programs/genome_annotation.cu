// Assigns aligned reads to annotated genome features.  Features are sorted by
// chromosome and start; a binary search plus a walk back over the running maximum of
// the feature ends finds the best overlap, the rest go to the nearest feature.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CUDA_CHECK(what)                                                             \
    do {                                                                             \
        cudaError_t result = (what);                                                 \
        if (result != cudaSuccess) {                                                 \
            fprintf(stderr, "error %d (%s) at %s:%d\n", (int)result,                 \
                    cudaGetErrorString(result), __FILE__, __LINE__);                 \
            abort();                                                                 \
        }                                                                            \
    } while (0)

constexpr int kChromosomes = 24;

struct Feature {
    int start, end;      // end is one past the last base
    int maxEnd;          // running maximum of the ends on this chromosome
    uint32_t reads, antisense;
    uint32_t near_;      // intergenic reads for which this is the closest feature
    unsigned long long bases;
    float density;       // reads per kilobase
    int gene;
    int8_t strand;
    uint8_t chromosome, type, exons;
};

struct Read {
    int pos;
    int feature;         // assigned feature or -1
    int overlap, distance; // distance to the nearest feature when there is no overlap
    uint16_t length;
    uint8_t chromosome;
    int8_t strand;
    uint8_t quality, duplicate;
};

struct ChromosomeIndex {
    int first[kChromosomes + 1];
    int length[kChromosomes];
};

__device__ inline int upperBound(const Feature *f, int lo, int hi, int pos)
{
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (f[mid].start < pos) lo = mid + 1;
        else hi = mid;
    }
    return lo; // first feature that starts at or after pos
}

__device__ inline int overlapOf(const Feature &f, int a, int b) { return min(f.end, b) - max(f.start, a); }

__global__ void assignReads(Read *reads, int n, const Feature *features, ChromosomeIndex index)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Read &r = reads[i];
        int a = r.pos, b = r.pos + r.length;
        int first = index.first[r.chromosome], last = index.first[r.chromosome + 1];
        int k = upperBound(features, first, last, b) - 1;
        int best = -1, bestOverlap = 0;
        while (k >= first && features[k].maxEnd > a) {
            int o = overlapOf(features[k], a, b);
            if (o > bestOverlap) {
                bestOverlap = o;
                best = k;
            }
            --k;
        }
        r.feature = best;
        r.overlap = bestOverlap;
    }
}

__global__ void nearestFeature(Read *reads, int n, Feature *features, ChromosomeIndex index)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (reads[i].feature >= 0) {
            reads[i].distance = 0;
            continue;
        }
        int a = reads[i].pos, b = a + reads[i].length;
        int first = index.first[reads[i].chromosome], last = index.first[reads[i].chromosome + 1];
        int right = upperBound(features, first, last, a);
        int gap = 1 << 30, who = -1;
        if (right < last) {
            gap = features[right].start - b;
            who = right;
        }
        // the running maximum tells when no earlier feature can come closer
        int left = right - 1;
        while (left >= first && a - features[left].maxEnd < gap) {
            int d = a - features[left].end;
            if (d < gap) {
                gap = d;
                who = left;
            }
            --left;
        }
        reads[i].distance = gap;
        if (who >= 0 && reads[i].quality >= 20) atomicAdd(&features[who].near_, 1u);
    }
}

__global__ void countReads(const Read *reads, int n, Feature *features)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Read &r = reads[i];
    if (r.feature < 0 || r.duplicate || r.quality < 20) return;
    Feature *f = features + r.feature;
    if (f->strand != r.strand) {
        atomicAdd(&f->antisense, 1u);
        return;
    }
    atomicAdd(&f->reads, 1u);
    atomicAdd(&f->bases, (unsigned long long)r.overlap);
}

__global__ void featureDensity(Feature *features, int n, float *perType)
{
    __shared__ float top[4];
    if (threadIdx.x < 4) top[threadIdx.x] = 0.0f;
    __syncthreads();
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) {
        Feature &f = features[k];
        f.density = 1000.0f * (float)f.reads / (float)(f.end - f.start);
        // densities are never negative: their bit patterns compare like integers
        atomicMax((int *)&top[f.type & 3], __float_as_int(f.density));
    }
    __syncthreads();
    if (threadIdx.x < 4) atomicMax((int *)&perType[threadIdx.x], __float_as_int(top[threadIdx.x]));
}

__global__ void chromosomeCounts(const Read *reads, int n, unsigned long long *mapped, unsigned long long *gaps)
{
    __shared__ unsigned int hit[kChromosomes], miss[kChromosomes];
    for (int c = threadIdx.x; c < kChromosomes; c += blockDim.x) hit[c] = miss[c] = 0u;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (reads[i].feature >= 0)
            atomicAdd(&hit[reads[i].chromosome], 1u);
        else
            atomicAdd(&miss[reads[i].chromosome], (unsigned int)min(reads[i].distance, 2000));
    }
    __syncthreads();
    for (int c = threadIdx.x; c < kChromosomes; c += blockDim.x) {
        atomicAdd(&mapped[c], (unsigned long long)hit[c]);
        atomicAdd(&gaps[c], (unsigned long long)miss[c]);
    }
}

// The next library: same fragments, shifted along the chromosome.
__global__ void shiftReads(Read *reads, int n, ChromosomeIndex index, int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int room = index.length[reads[i].chromosome] - 400;
    reads[i].pos = (reads[i].pos + shift * (1 + (i & 7))) % room;
    reads[i].strand = (int8_t)-reads[i].strand;
}

int main()
{
    const int nFeatures = 180000, nReads = 3000000;
    std::mt19937 rng(31337);
    ChromosomeIndex index{};
    std::vector<Feature> features;
    features.reserve(nFeatures);
    for (int c = 0; c < kChromosomes; ++c) {
        index.length[c] = 2000000 * (kChromosomes - c) + 9000000;
        index.first[c] = (int)features.size();
        for (int k = 0; k < nFeatures / kChromosomes; ++k) {
            Feature f{};
            int len = 150 + (int)(rng() % 1200u);
            if (rng() % 50u == 0) len += 12000;
            f.start = (int)(rng() % (unsigned)(index.length[c] - len));
            f.end = f.start + len;
            f.gene = (int)(rng() % 60000u);
            f.strand = (rng() & 1u) ? 1 : -1;
            f.chromosome = (uint8_t)c;
            f.type = (uint8_t)(rng() & 3u);
            f.exons = (uint8_t)(1 + rng() % 20u);
            features.push_back(f);
        }
        std::sort(features.begin() + index.first[c], features.end(), [](const Feature &x, const Feature &y) {
            return x.start != y.start ? x.start < y.start : x.end < y.end;
        });
        int running = 0;
        for (size_t k = (size_t)index.first[c]; k < features.size(); ++k) features[k].maxEnd = running = std::max(running, features[k].end);
    }
    index.first[kChromosomes] = (int)features.size();
    const int total = (int)features.size();

    std::vector<Read> reads(nReads);
    for (Read &r : reads) {
        r = Read{};
        r.chromosome = (uint8_t)(rng() % kChromosomes);
        r.pos = (int)(rng() % (unsigned)(index.length[r.chromosome] - 400));
        r.length = (uint16_t)(50 + (rng() >> 3) % 250u);
        uint32_t bits = rng();
        r.strand = (bits & 1u) ? 1 : -1;
        r.quality = (uint8_t)((bits >> 1) % 61u);
        r.duplicate = (bits >> 10) % 9u == 0;
        r.feature = -1;
    }

    Read *dReads;
    Feature *dFeatures;
    float *dTop, top[4];
    unsigned long long *dCounts;
    CUDA_CHECK(cudaMalloc(&dReads, reads.size() * sizeof(Read)));
    CUDA_CHECK(cudaMalloc(&dFeatures, features.size() * sizeof(Feature)));
    const size_t countBytes = 2 * kChromosomes * sizeof(unsigned long long);
    CUDA_CHECK(cudaMalloc(&dTop, 4 * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dCounts, countBytes));
    CUDA_CHECK(cudaMemcpy(dReads, reads.data(), reads.size() * sizeof(Read), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dFeatures, features.data(), features.size() * sizeof(Feature), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(dTop, 0, 4 * sizeof(float)));
    CUDA_CHECK(cudaMemset(dCounts, 0, countBytes));

    const int tb = 256, rg = (nReads + tb - 1) / tb, fg = (total + tb - 1) / tb, reps = 12;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    for (int r = 0; r <= reps; ++r) {
        if (r == 1) CUDA_CHECK(cudaEventRecord(t0));
        assignReads<<<2048, tb>>>(dReads, nReads, dFeatures, index);
        nearestFeature<<<2048, tb>>>(dReads, nReads, dFeatures, index);
        countReads<<<rg, tb>>>(dReads, nReads, dFeatures);
        featureDensity<<<fg, tb>>>(dFeatures, total, dTop);
        chromosomeCounts<<<1024, tb>>>(dReads, nReads, dCounts, dCounts + kChromosomes);
        shiftReads<<<rg, tb>>>(dReads, nReads, index, 5003);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
    CUDA_CHECK(cudaMemcpy(features.data(), dFeatures, features.size() * sizeof(Feature), cudaMemcpyDeviceToHost));
    std::vector<unsigned long long> counts(2 * kChromosomes);
    CUDA_CHECK(cudaMemcpy(counts.data(), dCounts, countBytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(top, dTop, sizeof(top), cudaMemcpyDeviceToHost));
    unsigned long long sense = 0, anti = 0, bases = 0, near_ = 0, hits = 0, gaps = 0;
    for (const Feature &f : features) { sense += f.reads; anti += f.antisense; bases += f.bases; near_ += f.near_; }
    for (int c = 0; c < kChromosomes; ++c) { hits += counts[c]; gaps += counts[c + kChromosomes]; }
    printf("check %llu/%llu/%llu/%llu/%llu/%llu/%.1f\n", sense, anti, bases, near_, hits, gaps, top[0] + top[3]);
    printf("time_ms %.4f\n", ms / reps);
    return 0;
}
