// WalkSAT on a batch of random 3-SAT instances, one warp per instance.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>

#define CUCHECK(ans) gpuAssert((ans), __FILE__, __LINE__)
inline void gpuAssert(cudaError_t code, const char* file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

#define FULL 0xffffffffu

struct Clause {
    int lit[3];             // +(v+1) or -(v+1), v local to the instance
    int weight;
    short numTrue;
    unsigned char everUnsat;
    unsigned char pad;
};

struct Variable {
    int occStart;           // into the occurrence list
    int occCount;
    int flips;
    int lastFlip;
    unsigned char value;
    unsigned char best;
    short polarity;         // positive minus negative occurrences
};

struct Walker {
    int firstVar, numVars;
    int firstClause, numClauses;
    unsigned long long rng;
    int unsat;
    int bestUnsat;
    int flips;
    int solvedAt;           // -1 while unsolved
};

__host__ __device__ inline unsigned nextRandom(unsigned long long* s)
{
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(*s >> 33);
}

__device__ inline bool litTrue(int lit, const Variable* vars)
{
    return lit > 0 ? vars[lit - 1].value : !vars[-lit - 1].value;
}

__global__ void initVariables(Variable* vars, int n, unsigned salt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = (i + salt) * 2654435761u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    int p = vars[i].polarity;
    vars[i].value = p > 2 ? 1 : (p < -2 ? 0 : (h & 1));
    vars[i].best = vars[i].value;
    vars[i].flips = 0;
    vars[i].lastFlip = -1000000;
}

// one block per instance: true-literal counts and number of unsatisfied clauses
__global__ void evaluate(Walker* walkers, Clause* clauses, const Variable* __restrict__ vars)
{
    __shared__ int unsat;
    Walker* w = &walkers[blockIdx.x];
    if (threadIdx.x == 0) unsat = 0;
    __syncthreads();
    Clause* C = clauses + w->firstClause;
    const Variable* V = vars + w->firstVar;
    int mine = 0;
    for (int c = threadIdx.x; c < w->numClauses; c += blockDim.x) {
        int t = 0;
        for (int k = 0; k < 3; ++k) t += litTrue(C[c].lit[k], V);
        C[c].numTrue = (short)t;
        C[c].everUnsat = t == 0;
        C[c].weight = 1;
        mine += t == 0;
    }
    if (mine) atomicAdd(&unsat, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        w->unsat = unsat;
        w->bestUnsat = unsat;
        w->flips = 0;
        w->solvedAt = unsat == 0 ? 0 : -1;
        w->rng = 0x853c49e6748fea9bull + 977ull * blockIdx.x;
    }
}

// clauses that become false if variable v is flipped; all lanes get the answer
__device__ int breakCount(int v, const Variable* V, const Clause* C, const int* occ, int lane)
{
    const int start = V[v].occStart, cnt = V[v].occCount;
    const int trueLit = V[v].value ? v + 1 : -(v + 1);
    int b = 0;
    for (int k = lane; k < cnt; k += 32) {
        const Clause* c = &C[occ[start + k]];
        if (c->numTrue == 1 && (c->lit[0] == trueLit || c->lit[1] == trueLit || c->lit[2] == trueLit)) ++b;
    }
    for (int o = 16; o; o >>= 1) b += __shfl_xor_sync(FULL, b, o);
    return b;
}

__global__ void __launch_bounds__(128)
walk(Walker* walkers, int numWalkers, Clause* clauses, Variable* vars, const int* __restrict__ occ,
     int maxFlips, unsigned noise)
{
    const int wi = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (wi >= numWalkers) return;
    Walker w = walkers[wi];
    if (w.unsat == 0) return;
    Clause* C = clauses + w.firstClause;
    Variable* V = vars + w.firstVar;

    for (int step = 0; step < maxFlips && w.unsat > 0; ++step) {
        // first unsatisfied clause at or after a random position
        int pos = nextRandom(&w.rng) % w.numClauses, found = -1;
        for (int base = 0; base < w.numClauses && found < 0; base += 32) {
            int off = base + lane;
            int c = pos + off;
            if (c >= w.numClauses) c -= w.numClauses;
            bool hit = off < w.numClauses && C[c].numTrue == 0;
            unsigned mask = __ballot_sync(FULL, hit);
            if (mask) found = __shfl_sync(FULL, c, __ffs(mask) - 1);
        }
        if (found < 0) break;

        int bestVar = -1, bestBreak = 1 << 30, bestAge = 0;
        for (int k = 0; k < 3; ++k) {
            int v = abs(C[found].lit[k]) - 1;
            int b = breakCount(v, V, C, occ, lane);
            int age = V[v].lastFlip;
            if (b < bestBreak || (b == bestBreak && age < bestAge)) { bestBreak = b; bestVar = v; bestAge = age; }
        }
        unsigned r = nextRandom(&w.rng);
        if (bestBreak > 0 && (r & 1023) < noise) bestVar = abs(C[found].lit[(r >> 10) % 3]) - 1;

        // flip: every occurrence belongs to a different clause
        const int start = V[bestVar].occStart, cnt = V[bestVar].occCount;
        const int nowTrue = V[bestVar].value ? -(bestVar + 1) : bestVar + 1;
        int delta = 0;
        for (int k = lane; k < cnt; k += 32) {
            Clause* c = &C[occ[start + k]];
            bool gain = c->lit[0] == nowTrue || c->lit[1] == nowTrue || c->lit[2] == nowTrue;
            if (gain) {
                if (c->numTrue++ == 0) --delta;
            } else if (--c->numTrue == 0) {
                ++delta;
                c->everUnsat = 1;
                c->weight++;
            }
        }
        for (int o = 16; o; o >>= 1) delta += __shfl_xor_sync(FULL, delta, o);
        if (lane == 0) {
            V[bestVar].value ^= 1;
            V[bestVar].flips++;
            V[bestVar].lastFlip = w.flips;
        }
        __syncwarp();
        w.unsat += delta;
        w.flips++;
        if (w.unsat < w.bestUnsat) {
            w.bestUnsat = w.unsat;
            if (w.unsat == 0) {
                w.solvedAt = w.flips;
                for (int v = lane; v < w.numVars; v += 32) V[v].best = V[v].value;
            }
        }
    }
    if (lane == 0) walkers[wi] = w;
}

__global__ void clauseStats(const Clause* __restrict__ clauses, int n, unsigned long long* weightSum, unsigned* touched)
{
    unsigned long long s = 0;
    unsigned t = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        s += clauses[i].weight;
        t += clauses[i].everUnsat;
    }
    for (int o = 16; o; o >>= 1) {
        s += __shfl_down_sync(FULL, s, o);
        t += __shfl_down_sync(FULL, t, o);
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(weightSum, s);
        atomicAdd(touched, t);
    }
}

int main(int argc, char** argv)
{
    const int numWalkers = argc > 1 ? atoi(argv[1]) : 2048;
    const int NV = 500, NC = 2000;
    const int totalV = numWalkers * NV, totalC = numWalkers * NC;
    Walker* walkers = (Walker*)calloc(numWalkers, sizeof(Walker));
    Variable* vars = (Variable*)calloc(totalV, sizeof(Variable));
    Clause* clauses = (Clause*)calloc(totalC, sizeof(Clause));
    int* occ = (int*)malloc((size_t)totalC * 3 * sizeof(int));
    unsigned long long rng = 20231u;
    int occBase = 0;
    for (int w = 0; w < numWalkers; ++w) {
        walkers[w].firstVar = w * NV;
        walkers[w].numVars = NV;
        walkers[w].firstClause = w * NC;
        walkers[w].numClauses = NC - w % 64;       // slightly different hardness
        Clause* C = clauses + (size_t)w * NC;
        Variable* V = vars + (size_t)w * NV;
        for (int c = 0; c < walkers[w].numClauses; ++c) {
            int a = nextRandom(&rng) % NV, b, d;
            do b = nextRandom(&rng) % NV; while (b == a);
            do d = nextRandom(&rng) % NV; while (d == a || d == b);
            unsigned sign = nextRandom(&rng) >> 7;
            int v[3] = {a, b, d};
            for (int k = 0; k < 3; ++k) {
                bool neg = (sign >> k) & 1;
                C[c].lit[k] = neg ? -(v[k] + 1) : v[k] + 1;
                V[v[k]].occCount++;
                V[v[k]].polarity += neg ? -1 : 1;
            }
        }
        for (int v = 0; v < NV; ++v) {
            V[v].occStart = occBase;
            occBase += V[v].occCount;
            V[v].occCount = 0;
        }
        for (int c = 0; c < walkers[w].numClauses; ++c)
            for (int k = 0; k < 3; ++k) {
                Variable* x = &V[abs(C[c].lit[k]) - 1];
                occ[x->occStart + x->occCount++] = c;
            }
    }

    Walker* dW; Variable* dV; Clause* dC; int* dOcc; unsigned long long* dSum; unsigned* dTouched;
    CUCHECK(cudaMalloc(&dW, numWalkers * sizeof(Walker)));
    CUCHECK(cudaMalloc(&dV, totalV * sizeof(Variable)));
    CUCHECK(cudaMalloc(&dC, totalC * sizeof(Clause)));
    CUCHECK(cudaMalloc(&dOcc, (size_t)occBase * sizeof(int)));
    CUCHECK(cudaMalloc(&dSum, sizeof(unsigned long long)));
    CUCHECK(cudaMalloc(&dTouched, sizeof(unsigned)));
    CUCHECK(cudaMemcpy(dW, walkers, numWalkers * sizeof(Walker), cudaMemcpyHostToDevice));
    CUCHECK(cudaMemcpy(dV, vars, totalV * sizeof(Variable), cudaMemcpyHostToDevice));
    CUCHECK(cudaMemcpy(dC, clauses, totalC * sizeof(Clause), cudaMemcpyHostToDevice));
    CUCHECK(cudaMemcpy(dOcc, occ, (size_t)occBase * sizeof(int), cudaMemcpyHostToDevice));
    CUCHECK(cudaMemset(dSum, 0, sizeof(unsigned long long)));
    CUCHECK(cudaMemset(dTouched, 0, sizeof(unsigned)));

    cudaEvent_t start, stop;
    CUCHECK(cudaEventCreate(&start));
    CUCHECK(cudaEventCreate(&stop));
    CUCHECK(cudaEventRecord(start));
    for (int attempt = 0; attempt < 3; ++attempt) {
        initVariables<<<(totalV + 255) / 256, 256>>>(dV, totalV, 1000003u * attempt);
        evaluate<<<numWalkers, 128>>>(dW, dC, dV);
        for (int round = 0; round < 4; ++round)
            walk<<<(numWalkers + 3) / 4, 128>>>(dW, numWalkers, dC, dV, dOcc, 250, 400u);
        clauseStats<<<1024, 256>>>(dC, totalC, dSum, dTouched);
        CUCHECK(cudaGetLastError());
    }
    CUCHECK(cudaEventRecord(stop));
    CUCHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CUCHECK(cudaEventElapsedTime(&ms, start, stop));

    unsigned long long wsum;
    unsigned touched;
    CUCHECK(cudaMemcpy(walkers, dW, numWalkers * sizeof(Walker), cudaMemcpyDeviceToHost));
    CUCHECK(cudaMemcpy(vars, dV, totalV * sizeof(Variable), cudaMemcpyDeviceToHost));
    CUCHECK(cudaMemcpy(&wsum, dSum, sizeof(wsum), cudaMemcpyDeviceToHost));
    CUCHECK(cudaMemcpy(&touched, dTouched, sizeof(touched), cudaMemcpyDeviceToHost));
    long long unsat = 0, best = 0, flips = 0, solved = 0, ones = 0, vflips = 0;
    for (int w = 0; w < numWalkers; ++w) {
        unsat += walkers[w].unsat;
        best += walkers[w].bestUnsat;
        flips += walkers[w].flips;
        solved += walkers[w].solvedAt >= 0;
    }
    for (int v = 0; v < totalV; ++v) { ones += vars[v].value + 2 * vars[v].best; vflips += vars[v].flips; }
    printf("check unsat %lld\ncheck best %lld\ncheck flips %lld\ncheck solved %lld\n", unsat, best, flips, solved);
    printf("check assignment %lld\ncheck var_flips %lld\n", ones, vflips);
    printf("check weights %llu\ncheck touched %u\n", wsum, touched);
    printf("time_ms %.4f\n", ms);
    free(walkers); free(vars); free(clauses); free(occ);
    cudaFree(dW); cudaFree(dV); cudaFree(dC); cudaFree(dOcc); cudaFree(dSum); cudaFree(dTouched);
    return 0;
}
