// Muon tomography of a pyramid. Tracks that the detectors saw are followed through a grid of voxels; the opacity that
// is missing or left over is projected back with integer corrections, and each round the densities are mended.
// Everything lives in managed memory.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

struct Voxel {
    float density;
    float prior;
    int correction;
    int length;
    unsigned int crossings;
    short layer;
    unsigned char material;
    unsigned char frozen;
};

struct Track {
    float origin[3];
    float dir[3];
    float momentum;
    float measured;
    float predicted;
    float path;
    unsigned short detector;
    unsigned char quality;
    unsigned char used;
};

struct Detector {
    float x, y, z;
    float tilt;
    int tracks;
    int sumResidual;
    int badTracks;
    int serial;
};

struct Grid {
    int dim[3];
    float size;
};

struct Walker {
    int cell[3];
    int step[3];
    float next[3];
    float delta[3];
    float at;
};

static const int DETECTORS = 48;
__constant__ float stoppingPower[8] = {0.0f, 1.0f, 1.06f, 0.94f, 1.1f, 0.97f, 1.02f, 1.2f};

__host__ __device__ inline unsigned jumble(unsigned x) {
    x = (x + 0x7ed55d16u) + (x << 12);
    x = (x ^ 0xc761c23cu) ^ (x >> 19);
    x = (x + 0x165667b1u) + (x << 5);
    x = (x + 0xd3a2646cu) ^ (x << 9);
    x = (x + 0xfd7046c5u) + (x << 3);
    return (x ^ 0xb55a4f09u) ^ (x >> 16);
}

inline float rnd(unsigned x) { return (jumble(x) & 0xfffff) / 1048576.0f; }

__device__ bool startWalk(Walker &w, const Track &t, const Grid &g) {
    w.at = 0;
    for (int k = 0; k < 3; k++) {
        float p = t.origin[k] / g.size, d = t.dir[k];
        w.cell[k] = (int)floorf(p);
        if (w.cell[k] < 0 || w.cell[k] >= g.dim[k]) return false;
        w.step[k] = d >= 0 ? 1 : -1;
        float inv = 1.0f / fmaxf(fabsf(d), 1e-6f);
        w.next[k] = (d >= 0 ? w.cell[k] + 1 - p : p - w.cell[k]) * inv;
        w.delta[k] = inv;
    }
    return true;
}

// Gives the length inside the present voxel and goes on to the next; false when that one is outside.
__device__ bool advance(Walker &w, const Grid &g, float *length) {
    int k = w.next[0] < w.next[1] ? (w.next[0] < w.next[2] ? 0 : 2) : (w.next[1] < w.next[2] ? 1 : 2);
    *length = (w.next[k] - w.at) * g.size;
    w.at = w.next[k];
    w.next[k] += w.delta[k];
    w.cell[k] += w.step[k];
    return w.cell[k] >= 0 && w.cell[k] < g.dim[k];
}

__device__ inline int voxelIndex(const Walker &w, const Grid &g) {
    return (w.cell[2] * g.dim[1] + w.cell[1]) * g.dim[0] + w.cell[0];
}

__global__ void project(Track *tracks, const Voxel *voxels, int count, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Walker w;
    float opacity = 0, path = 0, length;
    bool inside = startWalk(w, tracks[i], grid);
    while (inside) {
        const Voxel &v = voxels[voxelIndex(w, grid)];
        float rho = v.density * stoppingPower[v.material & 7];
        inside = advance(w, grid, &length);
        opacity += rho * length;
        if (rho > 0) path += length;
    }
    tracks[i].predicted = opacity;
    tracks[i].path = path;
    tracks[i].used = path > 4.0f && tracks[i].quality > 20;
}

__global__ void backProject(const Track *tracks, Voxel *voxels, Detector *detectors, int count, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || !tracks[i].used) return;
    Track t = tracks[i];
    float residual = (t.measured - t.predicted) / t.path;
    atomicAdd(&detectors[t.detector].tracks, 1);
    atomicAdd(&detectors[t.detector].sumResidual, (int)(residual * 1000.0f));
    if (fabsf(residual) > 1.5f) {
        atomicAdd(&detectors[t.detector].badTracks, 1);
        return;
    }
    Walker w;
    bool inside = startWalk(w, t, grid);
    while (inside) {
        int at = voxelIndex(w, grid);
        float length;
        inside = advance(w, grid, &length);
        if (voxels[at].material == 0) continue;
        atomicAdd(&voxels[at].correction, (int)(residual * length * 4096.0f));
        atomicAdd(&voxels[at].length, (int)(length * 256.0f));
        atomicAdd(&voxels[at].crossings, 1u);
    }
}

__global__ void mend(Voxel *voxels, Grid grid) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= grid.dim[0] || y >= grid.dim[1]) return;
    Voxel &v = voxels[(blockIdx.z * grid.dim[1] + y) * grid.dim[0] + x];
    if (v.material == 0 || v.frozen || v.length < 64) return;
    float change = (v.correction / 4096.0f) / (v.length / 256.0f);
    float rho = v.density + 0.5f * change + 0.02f * (v.prior - v.density);
    v.density = fminf(fmaxf(rho, 0.0f), 4.0f);
    v.correction = 0;
    v.length = 0;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 240000;
    Grid grid = {{128, 128, 88}, 2.0f};
    int total = grid.dim[0] * grid.dim[1] * grid.dim[2];
    Voxel *voxels;
    Track *tracks;
    Detector *detectors;
    cudaMallocManaged(&voxels, total * sizeof(Voxel));
    cudaMallocManaged(&tracks, count * sizeof(Track));
    if (cudaMallocManaged(&detectors, DETECTORS * sizeof(Detector)) != cudaSuccess) {
        printf("no memory\n");
        return 1;
    }
    for (int i = 0; i < total; i++) {
        int x = i % grid.dim[0], y = i / grid.dim[0] % grid.dim[1], z = i / (grid.dim[0] * grid.dim[1]);
        bool stone = abs(x - 64) < 62 - 0.66f * z && abs(y - 64) < 62 - 0.66f * z;
        float rho = stone ? 2.1f + 0.3f * rnd(i) : 0.0f;
        voxels[i] = {rho, rho, 0, 0, 0u, (short)(z / 4), (unsigned char)(stone ? 1 + jumble(i) % 7 : 0),
                     (unsigned char)(jumble(i + 5) % 50 == 0)};
    }
    for (int d = 0; d < DETECTORS; d++)
        detectors[d] = {20 + 216 * rnd(d * 3 + 1), 20 + 216 * rnd(d * 3 + 2), 1.0f, 0, 0, 0, 0, 1000 + d};
    for (int i = 0; i < count; i++) {
        Track &t = tracks[i];
        int d = (int)((long long)i * DETECTORS / count);
        float theta = 1.2f * rnd(i * 4 + 1000001), phi = 6.2831853f * rnd(i * 4 + 1000002);
        t.origin[0] = detectors[d].x, t.origin[1] = detectors[d].y, t.origin[2] = detectors[d].z;
        t.dir[0] = sinf(theta) * cosf(phi), t.dir[1] = sinf(theta) * sinf(phi), t.dir[2] = cosf(theta);
        t.momentum = 5.0f + 100.0f * rnd(i * 4 + 1000003);
        float reach = fminf(fminf(t.origin[0], 256 - t.origin[0]), 170.0f * cosf(theta));
        t.measured = 2.2f * reach * (0.7f + 0.3f * rnd(i * 4 + 1000004));
        t.predicted = t.path = 0;
        t.detector = (unsigned short)d;
        t.quality = (unsigned char)(jumble(i + 77) % 256);
        t.used = 0;
    }
    cudaEvent_t begin, end;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    dim3 block(32, 8, 1), blocks((grid.dim[0] + 31) / 32, (grid.dim[1] + 7) / 8, grid.dim[2]);
    const int warm = 3, rounds = 20;
    for (int round = 0; round < warm + rounds; round++) {
        if (round == warm) cudaEventRecord(begin);
        project<<<(count + 127) / 128, 128>>>(tracks, voxels, count, grid);
        backProject<<<(count + 127) / 128, 128>>>(tracks, voxels, detectors, count, grid);
        mend<<<blocks, block>>>(voxels, grid);
    }
    cudaEventRecord(end);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        printf("failed: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    float ms;
    cudaEventElapsedTime(&ms, begin, end);
    long long check = 0;
    double mass = 0;
    for (int i = 0; i < total; i++) check += voxels[i].crossings, mass += voxels[i].density * (1 + i % 5);
    for (int d = 0; d < DETECTORS; d++) check += detectors[d].tracks + 3 * detectors[d].badTracks;
    check += (long long)(mass / 64.0);
    printf("check %lld\ntime_ms %.5f\n", check, ms / rounds);
    cudaFree(voxels), cudaFree(tracks), cudaFree(detectors);
    return 0;
}
