/* Self-gravity of particles by a Barnes-Hut octree with quadrupole moments. The tree's topology is kept
 * between rebuilds; each step refits the moments bottom-up, walks the tree with one warp per group of
 * particles, and advances the particles (kick-drift). */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <vector>

static void cudaCheck(cudaError_t err, int line) {
  if (err == cudaSuccess) return;
  fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(err));
  exit(EXIT_FAILURE);
}
#define CUDA_CHECK(call) cudaCheck((call), __LINE__)

#define LEAF_CAPACITY 16
#define MAX_DEPTH 16
#define GROUP_SIZE 32
#define WARPS_PER_BLOCK 4
#define STACK_SIZE 160
#define THETA 0.65f
#define SOFTENING2 1e-7f
#define NUM_STEPS 20

typedef struct {
  float pos[3], mass;
  float vel[3], potential;
  float acc[3];
  int id;
} Particle;

typedef struct {
  float mass;
  float com[3];
  float quad[6]; /* second moments about com: xx xy xz yy yz zz */
} Multipole;

typedef struct {
  Multipole m;
  float radius; /* from com to the farthest particle */
  int firstChild, numChildren; /* none for a leaf */
  int firstParticle, numParticles;
} TreeNode;

typedef struct {
  float center[3], half[3];
  int first, count;
} Group;

typedef struct {
  unsigned long long kinetic, interactions;
  long long potential; /* the energies in fixed point */
} Diagnostics;

__device__ __forceinline__ void addMoment(float* q, float m, float dx, float dy, float dz) {
  q[0] += m * dx * dx, q[1] += m * dx * dy, q[2] += m * dx * dz;
  q[3] += m * dy * dy, q[4] += m * dy * dz, q[5] += m * dz * dz;
}

/* All nodes of one level: leaves from their particles, the others from their children. */
__global__ void computeMoments(TreeNode* nodes, const Particle* particles, int begin, int end) {
  int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= end) return;
  TreeNode node = nodes[i];
  Multipole m = {};
  float r2max = 0, rmax = 0;
  if (node.numChildren == 0) {
    for (int p = node.firstParticle; p < node.firstParticle + node.numParticles; ++p) {
      float mass = particles[p].mass;
      m.mass += mass;
      for (int k = 0; k < 3; ++k) m.com[k] += mass * particles[p].pos[k];
    }
    for (int k = 0; k < 3; ++k) m.com[k] /= m.mass;
    for (int p = node.firstParticle; p < node.firstParticle + node.numParticles; ++p) {
      const float* x = particles[p].pos;
      float dx = x[0] - m.com[0], dy = x[1] - m.com[1], dz = x[2] - m.com[2];
      addMoment(m.quad, particles[p].mass, dx, dy, dz);
      r2max = fmaxf(r2max, dx * dx + dy * dy + dz * dz);
    }
    rmax = sqrtf(r2max);
  } else {
    for (int c = node.firstChild; c < node.firstChild + node.numChildren; ++c) {
      const Multipole& child = nodes[c].m;
      m.mass += child.mass;
      for (int k = 0; k < 3; ++k) m.com[k] += child.mass * child.com[k];
    }
    for (int k = 0; k < 3; ++k) m.com[k] /= m.mass;
    for (int c = node.firstChild; c < node.firstChild + node.numChildren; ++c) {
      const TreeNode& child = nodes[c];
      const float* x = child.m.com;
      float dx = x[0] - m.com[0], dy = x[1] - m.com[1], dz = x[2] - m.com[2];
      for (int k = 0; k < 6; ++k) m.quad[k] += child.m.quad[k];
      addMoment(m.quad, child.m.mass, dx, dy, dz);
      rmax = fmaxf(rmax, child.radius + sqrtf(dx * dx + dy * dy + dz * dz));
    }
  }
  nodes[i].m = m;
  nodes[i].radius = rmax;
}

__global__ void computeGroups(Group* groups, int numGroups, const Particle* particles) {
  int g = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (g >= numGroups) return;
  int first = groups[g].first;
  const Particle* p = &particles[first + min(lane, groups[g].count - 1)];
  for (int k = 0; k < 3; ++k) {
    float lo = p->pos[k], hi = lo;
    for (int offset = 16; offset > 0; offset >>= 1) {
      lo = fminf(lo, __shfl_xor_sync(0xffffffffu, lo, offset));
      hi = fmaxf(hi, __shfl_xor_sync(0xffffffffu, hi, offset));
    }
    if (lane == 0) {
      groups[g].center[k] = 0.5f * (lo + hi);
      groups[g].half[k] = 0.5f * (hi - lo);
    }
  }
}

__device__ __forceinline__ float distanceToGroup2(const Group& g, const float* p) {
  float d2 = 0;
  for (int k = 0; k < 3; ++k) {
    float d = fmaxf(fabsf(p[k] - g.center[k]) - g.half[k], 0.0f);
    d2 += d * d;
  }
  return d2;
}

__device__ __forceinline__ void cellForce(const Multipole& m, const float* pos, float* acc, float* pot) {
  float dx = pos[0] - m.com[0], dy = pos[1] - m.com[1], dz = pos[2] - m.com[2];
  float rinv = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING2);
  float rinv2 = rinv * rinv, rinv3 = rinv * rinv2, rinv5 = rinv3 * rinv2;
  float qx = m.quad[0] * dx + m.quad[1] * dy + m.quad[2] * dz;
  float qy = m.quad[1] * dx + m.quad[3] * dy + m.quad[4] * dz;
  float qz = m.quad[2] * dx + m.quad[4] * dy + m.quad[5] * dz;
  float dqd = qx * dx + qy * dy + qz * dz;
  float trace = m.quad[0] + m.quad[3] + m.quad[5];
  float radial = -m.mass * rinv3 - 7.5f * dqd * rinv5 * rinv2 + 1.5f * trace * rinv5;
  acc[0] += radial * dx + 3 * rinv5 * qx;
  acc[1] += radial * dy + 3 * rinv5 * qy;
  acc[2] += radial * dz + 3 * rinv5 * qz;
  *pot -= m.mass * rinv + 1.5f * dqd * rinv5 - 0.5f * trace * rinv3;
}

__global__ void __launch_bounds__(32 * WARPS_PER_BLOCK)
    walkTree(const TreeNode* __restrict__ nodes, const Group* __restrict__ groups, int numGroups, Particle* particles,
             Diagnostics* diag) {
  __shared__ int stacks[WARPS_PER_BLOCK][STACK_SIZE];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int g = blockIdx.x * WARPS_PER_BLOCK + warp;
  if (g >= numGroups) return;
  int* stack = stacks[warp];
  const Group group = groups[g];
  int self = group.first + min(lane, group.count - 1);
  float pos[3] = {particles[self].pos[0], particles[self].pos[1], particles[self].pos[2]};
  float acc[3] = {0, 0, 0}, pot = 0;
  unsigned int interactions = 0;
  int top = 1;
  if (lane == 0) stack[0] = 0;
  __syncwarp();
  while (top > 0) {
    const TreeNode& node = nodes[stack[--top]];
    __syncwarp();
    float reach = node.radius * (1 / THETA);
    if (distanceToGroup2(group, node.m.com) > reach * reach) {
      cellForce(node.m, pos, acc, &pot);
      ++interactions;
    } else if (node.numChildren > 0) {
      if (lane < node.numChildren) stack[top + lane] = node.firstChild + lane;
      top += node.numChildren;
    } else {
      for (int p = node.firstParticle; p < node.firstParticle + node.numParticles; ++p) {
        const Particle& other = particles[p];
        float dx = other.pos[0] - pos[0], dy = other.pos[1] - pos[1], dz = other.pos[2] - pos[2];
        float rinv = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING2);
        float mr = p == self ? 0.0f : other.mass * rinv;
        float mr3 = mr * rinv * rinv;
        acc[0] += mr3 * dx, acc[1] += mr3 * dy, acc[2] += mr3 * dz;
        pot -= mr;
      }
      interactions += node.numParticles;
    }
    __syncwarp();
  }
  if (lane < group.count) {
    Particle& p = particles[self];
    for (int k = 0; k < 3; ++k) p.acc[k] = acc[k];
    p.potential = pot;
  }
  if (lane == 0) atomicAdd(&diag->interactions, (unsigned long long)interactions * group.count);
}

__global__ void advance(Particle* particles, int n, float dt, Diagnostics* diag) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long kinetic = 0;
  long long potential = 0;
  if (i < n) {
    Particle& p = particles[i];
    float v2 = 0;
    for (int k = 0; k < 3; ++k) {
      p.vel[k] += p.acc[k] * dt;
      p.pos[k] += p.vel[k] * dt;
      v2 += p.vel[k] * p.vel[k];
    }
    kinetic = (unsigned long long)(0.5 * p.mass * v2 * 1e12);
    potential = (long long)(0.5 * p.mass * p.potential * 1e12);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    kinetic += __shfl_down_sync(0xffffffffu, kinetic, offset);
    potential += __shfl_down_sync(0xffffffffu, potential, offset);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&diag->kinetic, kinetic);
  atomicAdd((unsigned long long*)&diag->potential, (unsigned long long)potential);
}

static double uniform(void) {
  static uint64_t rngState = 88172645463325252ull;
  rngState = rngState * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(rngState >> 11) / 9007199254740992.0;
}

/* A large Plummer sphere with smaller ones orbiting in it. */
static void makeGalaxy(Particle* p, int n) {
  const int clumps = 12;
  double center[clumps][3], scale[clumps];
  for (int k = 0; k < clumps; ++k) {
    for (int d = 0; d < 3; ++d) center[k][d] = k == 0 ? 0.5 : 0.2 + 0.6 * uniform();
    scale[k] = k == 0 ? 0.08 : 0.008 + 0.02 * uniform();
  }
  for (int i = 0; i < n; ++i) {
    const int k = uniform() < 0.5 ? 0 : 1 + (int)(uniform() * (clumps - 1));
    const double r = scale[k] / sqrt(pow(0.005 + 0.98 * uniform(), -2.0 / 3) - 1);
    const double z = 2 * uniform() - 1, phi = 6.283185307 * uniform(), s = sqrt(1 - z * z);
    const double dir[3] = {s * cos(phi), s * sin(phi), z};
    for (int d = 0; d < 3; ++d) {
      p[i].pos[d] = (float)std::min(std::max(center[k][d] + dir[d] * r, 0.0), 0.999999);
      p[i].vel[d] = (float)(0.3 * (uniform() - 0.5));
    }
    p[i].mass = (float)((0.5 + uniform()) / n);
    p[i].id = i;
  }
}

static uint64_t morton(const Particle& p) {
  uint64_t key = 0;
  unsigned int c[3];
  for (int d = 0; d < 3; ++d) c[d] = (unsigned int)(p.pos[d] * (1 << MAX_DEPTH));
  for (int b = MAX_DEPTH - 1; b >= 0; --b)
    for (int d = 0; d < 3; ++d) key = key << 1 | (c[d] >> b & 1);
  return key;
}

static void sortByMorton(std::vector<Particle>& particles, std::vector<uint64_t>& keys) {
  std::vector<std::pair<uint64_t, int>> order;
  for (const Particle& p : particles) order.emplace_back(morton(p), p.id);
  std::sort(order.begin(), order.end());
  const std::vector<Particle> unsorted = particles;
  for (const auto& [key, id] : order) keys.push_back(key);
  for (size_t i = 0; i < order.size(); ++i) particles[i] = unsorted[order[i].second];
}

/* Breadth first, so that each level is a range of nodes and siblings are adjacent. */
static void buildTree(const std::vector<uint64_t>& keys, std::vector<TreeNode>& nodes, std::vector<int>& levels) {
  nodes.assign(1, TreeNode());
  nodes[0].numParticles = (int)keys.size();
  levels.push_back(0);
  for (int level = 0; levels.back() < (int)nodes.size(); ++level) {
    const int begin = levels.back(), end = (int)nodes.size();
    levels.push_back(end);
    for (int i = begin; i < end; ++i) {
      if (nodes[i].numParticles <= LEAF_CAPACITY || level == MAX_DEPTH) continue;
      const int last = nodes[i].firstParticle + nodes[i].numParticles;
      const int shift = 3 * (MAX_DEPTH - 1 - level);
      nodes[i].firstChild = (int)nodes.size();
      for (int p = nodes[i].firstParticle; p < last;) {
        const uint64_t next = ((keys[p] >> shift) + 1) << shift;
        const int q = (int)(std::lower_bound(keys.begin() + p, keys.begin() + last, next) - keys.begin());
        nodes.push_back(TreeNode());
        nodes.back().firstParticle = p;
        nodes.back().numParticles = q - p;
        nodes[i].numChildren++;
        p = q;
      }
    }
  }
}

template <class T> static T* upload(const T* data, size_t n) {
  T* p;
  CUDA_CHECK(cudaMalloc(&p, n * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(p, data, n * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::max(atoi(argv[1]), 64) : 200000;
  std::vector<Particle> particles(n);
  std::vector<uint64_t> keys;
  std::vector<TreeNode> nodes;
  std::vector<int> levels;
  makeGalaxy(particles.data(), n);
  sortByMorton(particles, keys);
  buildTree(keys, nodes, levels);
  const int numGroups = (n + GROUP_SIZE - 1) / GROUP_SIZE;
  std::vector<Group> groups(numGroups);
  for (int g = 0; g < numGroups; ++g) {
    groups[g].first = g * GROUP_SIZE;
    groups[g].count = std::min(GROUP_SIZE, n - g * GROUP_SIZE);
  }

  Particle* dParticles = upload(particles.data(), n);
  TreeNode* dNodes = upload(nodes.data(), nodes.size());
  Group* dGroups = upload(groups.data(), numGroups);
  Diagnostics* dDiag;
  CUDA_CHECK(cudaMalloc((void**)&dDiag, sizeof(Diagnostics)));
  CUDA_CHECK(cudaMemset(dDiag, 0, sizeof(Diagnostics)));

  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  for (int step = 0; step <= NUM_STEPS; ++step) {
    if (step == 1) CUDA_CHECK(cudaEventRecord(start));
    for (int level = (int)levels.size() - 2; level >= 0; --level) {
      const int count = levels[level + 1] - levels[level];
      computeMoments<<<(count + 127) / 128, 128>>>(dNodes, dParticles, levels[level], levels[level + 1]);
    }
    computeGroups<<<(numGroups + 7) / 8, 256>>>(dGroups, numGroups, dParticles);
    walkTree<<<(numGroups + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK, 32 * WARPS_PER_BLOCK>>>(dNodes, dGroups, numGroups,
                                                                                         dParticles, dDiag);
    advance<<<(n + 255) / 256, 256>>>(dParticles, n, 1e-5f, dDiag);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  Diagnostics diag;
  CUDA_CHECK(cudaMemcpy(particles.data(), dParticles, n * sizeof(Particle), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaMemcpy(&diag, dDiag, sizeof(diag), cudaMemcpyDeviceToHost));
  unsigned long long check = diag.kinetic + 3 * (unsigned long long)diag.potential + 5 * diag.interactions;
  for (const Particle& p : particles)
    for (int k = 0; k < 3; ++k)
      check = check * 31 + (unsigned long long)(long long)(p.acc[k] * 256) + (unsigned long long)(long long)(p.pos[k] * 65536);
  printf("check %llu\ntime_ms %.4f\n", check, ms / NUM_STEPS);
  return 0;
}
