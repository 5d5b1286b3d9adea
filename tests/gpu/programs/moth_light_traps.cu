// Monte-Carlo of a moth survey: moths fly by night in a gusty wind and are drawn to lamps; each lamp counts its catch.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum class Flight : int { Cruise, Drawn, Resting, Caught };

struct Random {
    unsigned int s0, s1;
};

struct Moth {
    Random rnd;
    float x, y, z;
    float heading;
    float fat;
    Flight flight;
    int lamp;
    int hops;
    int species;
};

struct Lamp {
    float x, y, z;
    float power;
    float uv;
    float grip;
    int caught;
    int rare;
};

struct Air {
    float u, v, w;
    float moon;
};

struct Night {
    int nx, ny, nz;
    int lamps;
    int ticks;
    float size;
};

static void cu(cudaError_t e)
{
    if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); }
}

__host__ __device__ inline unsigned wang(unsigned k)
{
    k += ~(k << 15);
    k ^= k >> 10;
    k += k << 3;
    k ^= k >> 6;
    k += ~(k << 11);
    return k ^ (k >> 16);
}

__device__ inline float uniform(Random &r)
{
    unsigned a = r.s0, b = r.s1;
    b ^= a;
    r.s0 = ((a << 26) | (a >> 6)) ^ b ^ (b << 9);
    r.s1 = (b << 13) | (b >> 19);
    return ((a * 0x9E3779BBu) >> 8) * 5.9604645e-8f;
}

__device__ inline Air air_at(const Air *air, const Night &night, float x, float y, float z)
{
    int ix = min(max((int)(x * night.nx / night.size), 0), night.nx - 1);
    int iy = min(max((int)(y * night.ny / night.size), 0), night.ny - 1);
    int iz = min(max((int)(z * 0.5f), 0), night.nz - 1);
    return air[(iz * night.ny + iy) * night.nx + ix];
}

__global__ void fly(Moth *moths, int n, const Air *air, Lamp *lamps, Night night)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Moth m = moths[i];
    if (m.flight == Flight::Caught) return;
    for (int t = 0; t < night.ticks; t++) {
        if (m.flight == Flight::Resting) {
            m.fat -= 0.001f;
            if (uniform(m.rnd) < 0.3f) m.flight = Flight::Cruise;
            continue;
        }
        Air a = air_at(air, night, m.x, m.y, m.z);
        float strongest = 0.02f + 0.01f * a.moon;
        int target = -1;
        for (int l = 0; l < night.lamps; l++) {
            float dx = lamps[l].x - m.x, dy = lamps[l].y - m.y, dz = lamps[l].z - m.z;
            float glow = lamps[l].power / (1.0f + dx * dx + dy * dy + dz * dz);
            if (m.species & 1) glow *= lamps[l].uv;
            if (glow > strongest) { strongest = glow; target = l; }
        }
        float pace = 0.8f + 0.4f * uniform(m.rnd);
        if (target >= 0) {
            m.flight = Flight::Drawn;
            m.lamp = target;
            float dx = lamps[target].x - m.x, dy = lamps[target].y - m.y;
            m.heading = atan2f(dy, dx) + 0.6f * (uniform(m.rnd) - 0.5f);
            if (dx * dx + dy * dy < 4.0f && uniform(m.rnd) < lamps[target].grip) {
                m.flight = Flight::Caught;
                break;
            }
        } else {
            m.flight = uniform(m.rnd) < 0.05f ? Flight::Resting : Flight::Cruise;
            m.heading += 1.2f * (uniform(m.rnd) - 0.5f);
        }
        m.x += pace * __cosf(m.heading) + 0.2f * a.u;
        m.y += pace * __sinf(m.heading) + 0.2f * a.v;
        m.z = fminf(fmaxf(m.z + a.w, 0.0f), 15.0f);
        if (m.x < 0 || m.x > night.size) m.x = night.size * uniform(m.rnd);
        if (m.y < 0 || m.y > night.size) m.y = night.size * uniform(m.rnd);
        m.fat -= 0.002f;
        m.hops++;
    }
    moths[i] = m;
}

__global__ void empty_traps(Moth *moths, int n, Lamp *lamps, Night night)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || moths[i].flight != Flight::Caught) return;
    atomicAdd(&lamps[moths[i].lamp].caught, 1);
    if (moths[i].species > 40) atomicAdd(&lamps[moths[i].lamp].rare, 1);
    // marked and set free somewhere else
    moths[i].flight = Flight::Cruise;
    moths[i].x = night.size * uniform(moths[i].rnd);
    moths[i].y = night.size * uniform(moths[i].rnd);
    moths[i].fat = 1.0f;
}

__global__ void gusts(Air *air, Night night, float phase)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= night.nx || y >= night.ny) return;
    Air *a = &air[(z * night.ny + y) * night.nx + x];
    a->u += 0.1f * __sinf(phase + 0.05f * x);
    a->v += 0.1f * __cosf(phase + 0.07f * y);
    a->w = 0.05f * __sinf(phase * 3.0f + x + y + z);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 200000;
    Night night = {128, 128, 8, 40, 10, 400.0f};
    const int cells = night.nx * night.ny * night.nz;

    Moth *hm = new Moth[n];
    for (int i = 0; i < n; i++) {
        hm[i].rnd.s0 = wang(2 * i + 1) | 1u;
        hm[i].rnd.s1 = wang(2 * i + 2);
        hm[i].x = night.size * (wang(i + 7) & 0xffff) / 65536.0f;
        hm[i].y = night.size * (wang(i + 1000007) & 0xffff) / 65536.0f;
        hm[i].z = (wang(i * 3) & 15) * 0.9f;
        hm[i].heading = (wang(i * 5) & 255) * 0.0245f;
        hm[i].fat = 1.0f;
        hm[i].flight = Flight::Cruise;
        hm[i].lamp = -1;
        hm[i].hops = 0;
        hm[i].species = wang(i * 11) % 48;
    }
    Lamp *hl = new Lamp[night.lamps];
    for (int l = 0; l < night.lamps; l++) {
        unsigned h = wang(l + 4242);
        hl[l] = Lamp{night.size * (h & 255) / 256.0f, night.size * (h >> 8 & 255) / 256.0f, 2.0f + (h >> 30),
                     4.0f + (h >> 16 & 15), 0.5f + (h >> 20 & 7) * 0.2f, 0.3f, 0, 0};
    }
    Air *ha = new Air[cells];
    for (int c = 0; c < cells; c++) {
        unsigned h = wang(c ^ 0x5a5a5a);
        ha[c] = Air{(h & 255) / 256.0f - 0.5f, (h >> 8 & 255) / 256.0f - 0.5f, 0.0f, (h >> 16 & 255) / 256.0f};
    }
    Moth *moths;
    Lamp *lamps;
    Air *air;
    cu(cudaMalloc(&moths, n * sizeof *moths));
    cu(cudaMalloc(&lamps, night.lamps * sizeof *lamps));
    cu(cudaMalloc(&air, cells * sizeof *air));
    cu(cudaMemcpy(moths, hm, n * sizeof *moths, cudaMemcpyHostToDevice));
    cu(cudaMemcpy(lamps, hl, night.lamps * sizeof *lamps, cudaMemcpyHostToDevice));
    cu(cudaMemcpy(air, ha, cells * sizeof *air, cudaMemcpyHostToDevice));

    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    const int nights = 50;
    for (int s = 0; s < nights + 2; s++) {
        if (s == 2) cudaEventRecord(t0);
        gusts<<<dim3(night.nx / 32, night.ny / 8, night.nz), dim3(32, 8)>>>(air, night, 0.37f * s);
        fly<<<(n + 127) / 128, 128>>>(moths, n, air, lamps, night);
        empty_traps<<<(n + 255) / 256, 256>>>(moths, n, lamps, night);
    }
    cudaEventRecord(t1);
    cu(cudaEventSynchronize(t1));
    cu(cudaGetLastError());
    float ms;
    cudaEventElapsedTime(&ms, t0, t1);
    cu(cudaMemcpy(hl, lamps, night.lamps * sizeof *lamps, cudaMemcpyDeviceToHost));
    cu(cudaMemcpy(hm, moths, n * sizeof *moths, cudaMemcpyDeviceToHost));
    long long sum = 0;
    for (int l = 0; l < night.lamps; l++) sum += (long long)(l + 1) * (hl[l].caught * 5 + hl[l].rare);
    for (int i = 0; i < n; i++) sum += hm[i].hops;
    printf("check %lld\ntime_ms %.5f\n", sum, ms / nights);
    delete[] hm;
    delete[] hl;
    delete[] ha;
    return 0;
}
