// Reading quipus: cords hang from cords. Knots are decoded, totals are summed from the leaves to the primary cords with
// a worklist, shares are handed down level by level, and every cord is filed by its way to the root.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

using std::vector;

struct Cord {
    int parent;
    int firstChild;
    int children;
    int waiting;
    unsigned char knots[8];
    int value;
    int total;
    int share;
    float lengthCm;
    unsigned char colour, ply, spin, level;
};

struct Round {
    int size;
    int pushed;
};

struct Files {
    unsigned int byColour[16];
    unsigned int longWays;
    unsigned int mismatches;
};

static void must(cudaError_t e)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "cuda: %s\n", cudaGetErrorString(e));
        exit(1);
    }
}

static uint32_t h32(uint64_t k)
{
    k = (k + 0x9E3779B97F4A7C15ull) * 0xBF58476D1CE4E5B9ull;
    k ^= k >> 29;
    k *= 0x94D049BB133111EBull;
    return (uint32_t)(k >> 32);
}

__device__ int readKnots(const unsigned char *knots)
{
    int v = 0;
    for (int k = 0; k < 4; k++) {
        int turns = knots[2 * k], kind = knots[2 * k + 1];
        v = v * 10 + (kind == 1 ? 1 : kind == 2 ? turns : turns / 2);
    }
    return v;
}

__global__ void decode(Cord *cords, int n, int *queue, Round *rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Cord *c = &cords[i];
    c->value = readKnots(c->knots);
    c->waiting = c->children;
    c->total = 0;
    if (c->children == 0)
        queue[atomicAdd(&rounds[0].size, 1)] = i;
}

__global__ void gatherTotals(Cord *cords, const int *queue, int *nextQueue, Round *rounds, int r)
{
    int size = rounds[r].size;
    for (int q = blockIdx.x * blockDim.x + threadIdx.x; q < size; q += blockDim.x * gridDim.x) {
        int i = queue[q];
        int first = cords[i].firstChild, last = first + cords[i].children;
        int sum = cords[i].value;
        for (int k = first; k < last; k++)
            sum += cords[k].total;
        cords[i].total = sum;
        int p = cords[i].parent;
        if (p >= 0 && atomicSub(&cords[p].waiting, 1) == 1) {
            nextQueue[atomicAdd(&rounds[r + 1].size, 1)] = p;
            atomicAdd(&rounds[r].pushed, 1);
        }
    }
}

__global__ void handDown(Cord *cords, int begin, int end, int year)
{
    int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= end)
        return;
    int p = cords[i].parent;
    if (p < 0) {
        cords[i].share = cords[i].total % 9973 + year;
        return;
    }
    const Cord &up = cords[p];
    long long part = (long long)up.share * (cords[i].total + 1);
    cords[i].share = (int)(part / (up.total + 1)) + (up.spin == cords[i].spin);
}

__global__ void fileAway(const Cord *cords, int n, Files *files)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int mine = cords[i].colour, same = 0;
    float cm = 0.0f;
    for (int at = i; at >= 0; at = cords[at].parent) {
        same += cords[at].colour == mine;
        cm += cords[at].lengthCm;
    }
    atomicAdd(&files->byColour[mine & 15], (unsigned)same);
    if (cm > 420.0f)
        atomicAdd(&files->longWays, 1u);
    if (cords[i].children == 0 && cords[i].share > cords[i].value)
        atomicAdd(&files->mismatches, 1u);
}

int main(int argc, char **argv)
{
    int n = argc >= 2 ? atoi(argv[1]) : 480000;
    int roots = n < 200 ? 1 : 100;
    vector<Cord> cords(n);
    vector<int> levelStart;
    int made = roots < n ? roots : n;
    for (int i = 0; i < made; i++) {
        cords[i].parent = -1;
        cords[i].level = 0;
    }
    levelStart.push_back(0);
    // in breadth-first order, so that the children of a cord lie side by side
    for (int i = 0; i < n; i++) {
        Cord &c = cords[i];
        uint32_t h = h32(i);
        int want = (i < roots || made - i < 50) ? 2 + h % 6 : h % 6;
        if (made + want > n)
            want = n - made;
        if ((int)levelStart.size() <= c.level)
            levelStart.push_back(i);
        c.firstChild = made;
        c.children = want;
        for (int k = 0; k < want; k++) {
            cords[made + k].parent = i;
            cords[made + k].level = (unsigned char)(c.level + 1);
        }
        made += want;
        c.waiting = c.value = c.total = c.share = 0;
        for (int k = 0; k < 4; k++) {
            c.knots[2 * k] = (h >> (4 * k)) % 10;
            c.knots[2 * k + 1] = (h >> (16 + 2 * k)) & 3;
        }
        c.lengthCm = 20.0f + h % 60;
        c.colour = (h >> 7) % 13;
        c.ply = 2 + (h & 1);
        c.spin = (h >> 5) & 1;
    }
    int levels = (int)levelStart.size();
    levelStart.push_back(n);

    Cord *dCords;
    int *queue[2];
    Round *rounds;
    Files *files, out;
    must(cudaMalloc(&dCords, n * sizeof(Cord)));
    must(cudaMalloc(&queue[0], n * sizeof(int)));
    must(cudaMalloc(&queue[1], n * sizeof(int)));
    must(cudaMalloc(&rounds, (levels + 1) * sizeof(Round)));
    must(cudaMalloc(&files, sizeof(Files)));
    must(cudaMemcpy(dCords, cords.data(), n * sizeof(Cord), cudaMemcpyHostToDevice));

    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    int blocks = (n + 191) / 192, years = 50;
    for (int year = -2; year < years; year++) {
        if (year == 0)
            must(cudaEventRecord(begin));
        must(cudaMemsetAsync(rounds, 0, (levels + 1) * sizeof(Round)));
        must(cudaMemsetAsync(files, 0, sizeof(Files)));
        decode<<<blocks, 192>>>(dCords, n, queue[0], rounds);
        for (int r = 0; r < levels; r++)
            gatherTotals<<<264, 256>>>(dCords, queue[r & 1], queue[~r & 1], rounds, r);
        for (int l = 0; l < levels; l++)
            handDown<<<(levelStart[l + 1] - levelStart[l] + 127) / 128, 128>>>(dCords, levelStart[l], levelStart[l + 1], year);
        fileAway<<<blocks, 192>>>(dCords, n, files);
    }
    must(cudaEventRecord(end));
    must(cudaEventSynchronize(end));
    must(cudaGetLastError());
    float ms;
    must(cudaEventElapsedTime(&ms, begin, end));
    must(cudaMemcpy(&out, files, sizeof(Files), cudaMemcpyDeviceToHost));
    must(cudaMemcpy(cords.data(), dCords, n * sizeof(Cord), cudaMemcpyDeviceToHost));
    unsigned long long sum = out.longWays + 31ull * out.mismatches;
    for (int k = 0; k < 16; k++)
        sum = sum * 131 + out.byColour[k];
    for (int i = 0; i < n; i++)
        sum = sum * 33 + (unsigned)(cords[i].total ^ cords[i].share);
    printf("check %llu\n", sum);
    printf("time_ms %.5f\n", ms / years);
    return 0;
}
