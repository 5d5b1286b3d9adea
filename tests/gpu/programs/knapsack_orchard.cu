// knapsack_orchard.cu -- island-model genetic algorithm for a multi-constraint
// knapsack.  Which fruit trees should go into the orchard, given water, space and
// labour?  Genomes are bit strings, islands occasionally exchange their best.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <utility>
#include <vector>

#define cudaTry(expr)                                                              \
  {                                                                                \
    cudaError_t status = (expr);                                                   \
    if (status != cudaSuccess) {                                                   \
      std::cerr << #expr << " failed: " << cudaGetErrorString(status) << std::endl; \
      std::exit(EXIT_FAILURE);                                                     \
    }                                                                              \
  }

constexpr int WORDS = 6;
constexpr int ITEMS = WORDS * 32;
constexpr int ISLAND = 256;  // genomes per island

struct Genome {
  unsigned int genes[WORDS];
  int value;
  int fitness;
  int water, space, labour;
  int parentA, parentB;
  unsigned int rng;
  short birth;
  unsigned char mutations;
  unsigned char lineage;
};

struct Tree {
  int value;
  int water;
  int space;
  int labour;
};

struct Island {
  int bestFitness;
  int bestIndex;
  long long sumFitness;
  int feasible;
  int immigrants;
  int allTimeBest;
  int mutationRate;  // in 1/65536 for each gene word
};

struct Limits {
  int water, space, labour;
};

__constant__ Tree c_trees[ITEMS];
__constant__ Limits c_limits;

__device__ __forceinline__ unsigned int rand32(unsigned int& s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s * 2654435769u;
}

__global__ void plant(Genome* pop, int n) {
  int gid = blockDim.x * blockIdx.x + threadIdx.x;
  if (gid >= n) return;
  Genome g = {};
  g.rng = (unsigned)gid * 747796405u + 2891336453u;
  if (g.rng == 0) g.rng = 1;
  for (int k = 0; k < 4; ++k) rand32(g.rng);
  for (int w = 0; w < WORDS; ++w) g.genes[w] = rand32(g.rng) & rand32(g.rng);
  g.parentA = g.parentB = gid;
  g.lineage = (unsigned char)(gid / ISLAND);
  pop[gid] = g;
}

__global__ void evaluate(Genome* __restrict__ pop, int n) {
  int gid = blockDim.x * blockIdx.x + threadIdx.x;
  if (gid >= n) return;
  int value = 0, water = 0, space = 0, labour = 0;
  for (int w = 0; w < WORDS; ++w) {
    const unsigned int bits = pop[gid].genes[w];
#pragma unroll 8
    for (int b = 0; b < 32; ++b) {
      const int on = (int)((bits >> b) & 1u);
      const Tree& t = c_trees[w * 32 + b];
      value += on * t.value;
      water += on * t.water;
      space += on * t.space;
      labour += on * t.labour;
    }
  }
  const int over = max(water - c_limits.water, 0) + max(space - c_limits.space, 0) +
                   max(labour - c_limits.labour, 0);
  pop[gid].value = value;
  pop[gid].water = water;
  pop[gid].space = space;
  pop[gid].labour = labour;
  pop[gid].fitness = value - 4 * over;
}

// one block per island
__global__ void rankIslands(const Genome* __restrict__ pop, Island* islands, int generation) {
  __shared__ int bestFit[ISLAND];
  __shared__ int bestIdx[ISLAND];
  __shared__ int sum[ISLAND];
  __shared__ int feasible;
  const int t = threadIdx.x;
  const int i = blockIdx.x * ISLAND + t;
  if (t == 0) feasible = 0;
  bestFit[t] = pop[i].fitness;
  bestIdx[t] = i;
  sum[t] = pop[i].fitness;
  __syncthreads();
  const bool ok = pop[i].water <= c_limits.water && pop[i].space <= c_limits.space &&
                  pop[i].labour <= c_limits.labour;
  if (ok) atomicAdd(&feasible, 1);
  for (int s = ISLAND / 2; s > 0; s >>= 1) {
    if (t < s) {
      const int f = bestFit[t + s], k = bestIdx[t + s];
      if (f > bestFit[t] || (f == bestFit[t] && k < bestIdx[t])) {
        bestFit[t] = f;
        bestIdx[t] = k;
      }
      sum[t] += sum[t + s];
    }
    __syncthreads();
  }
  if (t == 0) {
    Island isl = islands[blockIdx.x];
    isl.bestFitness = bestFit[0];
    isl.bestIndex = bestIdx[0];
    isl.sumFitness = sum[0];
    isl.feasible = feasible;
    if (bestFit[0] > isl.allTimeBest) {
      isl.allTimeBest = bestFit[0];
      isl.mutationRate = max(isl.mutationRate - 512, 1024);
    } else if (generation % 4 == 0) {
      isl.mutationRate = min(isl.mutationRate + 512, 24576);
    }
    islands[blockIdx.x] = isl;
  }
}

__device__ int tournament(const Genome* pop, int base, unsigned int& rng) {
  const unsigned int r = rand32(rng);
  int winner = base + (int)(r & (ISLAND - 1));
  int best = pop[winner].fitness;
  for (int k = 1; k < 3; ++k) {
    const int c = base + (int)((r >> (9 * k)) & (ISLAND - 1));
    const int f = pop[c].fitness;
    if (f > best || (f == best && c < winner)) {
      best = f;
      winner = c;
    }
  }
  return winner;
}

__global__ void breed(const Genome* __restrict__ pop, Genome* __restrict__ next,
                      const Island* __restrict__ islands, int n, int generation) {
  for (int gid = blockDim.x * blockIdx.x + threadIdx.x; gid < n; gid += gridDim.x * blockDim.x) {
    const int island = gid / ISLAND;
    const int base = island * ISLAND;
    if (gid == islands[island].bestIndex) {  // elitism
      next[gid] = pop[gid];
      continue;
    }
    unsigned int rng = pop[gid].rng;
    const int a = tournament(pop, base, rng);
    const int b = tournament(pop, base, rng);
    const unsigned int rate = (unsigned int)islands[island].mutationRate;
    int mutations = 0;
    for (int w = 0; w < WORDS; ++w) {
      const unsigned int mask = rand32(rng);
      unsigned int child = (pop[a].genes[w] & mask) | (pop[b].genes[w] & ~mask);
      const unsigned int r = rand32(rng);
      if ((r >> 16) < rate) {
        child ^= 1u << (r & 31);
        ++mutations;
      }
      next[gid].genes[w] = child;
    }
    next[gid].parentA = a;
    next[gid].parentB = b;
    next[gid].rng = rng;
    next[gid].birth = (short)generation;
    next[gid].mutations = (unsigned char)mutations;
    next[gid].lineage = pop[a].lineage;
    next[gid].fitness = 0;
    next[gid].value = 0;
  }
}

// ring migration: the champion of the island to the left replaces slot
// (generation mod ISLAND) unless that slot holds the own champion
__global__ void migrate(const Genome* __restrict__ pop, Genome* __restrict__ next, Island* islands,
                        int nIslands, int generation) {
  const int k = blockDim.x * blockIdx.x + threadIdx.x;
  if (k >= nIslands) return;
  const int from = (k + nIslands - 1) % nIslands;
  const int slot = k * ISLAND + (generation * 37) % ISLAND;
  if (slot == islands[k].bestIndex) return;
  const Genome& guest = pop[islands[from].bestIndex];
  for (int w = 0; w < WORDS; ++w) next[slot].genes[w] = guest.genes[w];
  next[slot].lineage = guest.lineage;
  next[slot].parentA = islands[from].bestIndex;
  islands[k].immigrants += 1;
}

int main(int argc, char** argv) {
  int nIslands = 6000;
  int generations = 60;
  if (argc > 1) nIslands = std::atoi(argv[1]);
  if (argc > 2) generations = std::atoi(argv[2]);
  const int n = nIslands * ISLAND;

  std::mt19937 gen(7);
  std::vector<Tree> trees(ITEMS);
  Limits lim = {0, 0, 0};
  for (Tree& t : trees) {
    t.water = 10 + (int)(gen() % 90u);
    t.space = 10 + (int)(gen() % 90u);
    t.labour = 10 + (int)(gen() % 90u);
    t.value = (t.water + t.space + t.labour) / 3 + (int)(gen() % 60u);
    lim.water += t.water;
    lim.space += t.space;
    lim.labour += t.labour;
  }
  lim.water /= 3;
  lim.space /= 3;
  lim.labour /= 3;
  cudaTry(cudaMemcpyToSymbol(c_trees, trees.data(), sizeof(Tree) * ITEMS));
  cudaTry(cudaMemcpyToSymbol(c_limits, &lim, sizeof(lim)));

  std::vector<Island> islands(nIslands);
  for (int i = 0; i < nIslands; ++i) islands[i] = Island{-1000000, 0, 0, 0, 0, -1000000, 4096 + 64 * (i % 100)};

  Genome *pop, *next;
  Island* d_islands;
  cudaTry(cudaMalloc(&pop, sizeof(Genome) * n));
  cudaTry(cudaMalloc(&next, sizeof(Genome) * n));
  cudaTry(cudaMalloc(&d_islands, sizeof(Island) * nIslands));
  cudaTry(cudaMemset(next, 0, sizeof(Genome) * n));
  cudaTry(cudaMemcpy(d_islands, islands.data(), sizeof(Island) * nIslands, cudaMemcpyHostToDevice));

  const int blocks = (n + 127) / 128;
  plant<<<blocks, 128>>>(pop, n);
  cudaTry(cudaDeviceSynchronize());

  cudaEvent_t tick, tock;
  cudaTry(cudaEventCreate(&tick));
  cudaTry(cudaEventCreate(&tock));
  cudaTry(cudaEventRecord(tick));
  for (int g = 1; g <= generations; ++g) {
    evaluate<<<blocks, 128>>>(pop, n);
    rankIslands<<<nIslands, ISLAND>>>(pop, d_islands, g);
    breed<<<132 * 12, 128>>>(pop, next, d_islands, n, g);
    migrate<<<(nIslands + 63) / 64, 64>>>(pop, next, d_islands, nIslands, g);
    std::swap(pop, next);
  }
  cudaTry(cudaEventRecord(tock));
  cudaTry(cudaEventSynchronize(tock));
  cudaTry(cudaGetLastError());
  float ms = 0.0f;
  cudaTry(cudaEventElapsedTime(&ms, tick, tock));

  // score the last generation
  evaluate<<<blocks, 128>>>(pop, n);
  rankIslands<<<nIslands, ISLAND>>>(pop, d_islands, generations + 1);
  cudaTry(cudaDeviceSynchronize());

  std::vector<Genome> host(n);
  cudaTry(cudaMemcpy(host.data(), pop, sizeof(Genome) * n, cudaMemcpyDeviceToHost));
  cudaTry(cudaMemcpy(islands.data(), d_islands, sizeof(Island) * nIslands, cudaMemcpyDeviceToHost));
  unsigned long long genes = 0, parents = 0, lineage = 0, isl = 0;
  long long fitness = 0, resources = 0;
  int best = -1000000;
  for (const Genome& g : host) {
    for (unsigned int w : g.genes) genes = genes * 1099511628211ull + w;
    parents = parents * 31 + (unsigned)g.parentA + 3u * (unsigned)g.parentB + g.rng;
    lineage += g.lineage + 3u * g.mutations + (unsigned)g.birth;
    fitness += g.fitness + g.value;
    resources += g.water + 2ll * g.space + 3ll * g.labour;
  }
  for (const Island& k : islands) {
    best = std::max(best, k.allTimeBest);
    isl = isl * 31 + (unsigned)k.bestIndex + (unsigned long long)k.sumFitness + (unsigned)k.feasible +
          (unsigned)k.immigrants + (unsigned)k.mutationRate + (unsigned)k.bestFitness;
  }
  std::printf("time_ms %.5f\n", ms / generations);
  std::printf("check best %d\n", best);
  std::printf("check genes %llu\n", genes);
  std::printf("check parents %llu\n", parents);
  std::printf("check lineage %llu\n", lineage);
  std::printf("check fitness %lld\n", fitness);
  std::printf("check resources %lld\n", resources);
  std::printf("check islands %llu\n", isl);
  cudaTry(cudaFree(pop));
  cudaTry(cudaFree(next));
  cudaTry(cudaFree(d_islands));
  return 0;
}
