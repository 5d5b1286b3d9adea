/* Growth of hailstones in a storm cell. The storm is a 3D grid of air; stones are blown through it, collect
 * supercooled water, shed what they cannot freeze, and fall out at the ground, where they leave a swath. */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Vec3 {
    float x, y, z;
};

struct AirCell {
    Vec3 wind;
    float temp;
    float liquid;
    float ice;
    float density;
};

struct Stone {
    Vec3 pos;
    Vec3 vel;
    float mass;
    float rho;
    float skin;
    float temp;
    float age;
    float largest;
    int layers;
    int state; // 0 aloft, 1 on the ground, 2 melted away
    unsigned seed;
    unsigned char embryo, wet, spare0, spare1;
};

struct SwathCell {
    int stones, massMg, largestUm, melted;
};

struct Storm {
    int nx, ny, nz;
    float cell, dt;
};

__host__ __device__ inline unsigned scramble(unsigned v) {
    v = (v ^ 61u) ^ (v >> 16);
    v *= 9u;
    v ^= v >> 4;
    v *= 0x27d4eb2du;
    return v ^ (v >> 15);
}

__host__ __device__ inline float frac01(unsigned v) { return (float)(scramble(v) & 0xffffff) / 16777216.0f; }
__host__ __device__ inline float clampf(float v, float lo, float hi) { return fminf(fmaxf(v, lo), hi); }

__device__ void addScaled(AirCell &sum, const AirCell &c, float w) {
    sum.wind.x += w * c.wind.x;
    sum.wind.y += w * c.wind.y;
    sum.wind.z += w * c.wind.z;
    sum.temp += w * c.temp;
    sum.liquid += w * c.liquid;
    sum.ice += w * c.ice;
    sum.density += w * c.density;
}

__device__ AirCell sampleAir(const AirCell *air, Storm s, Vec3 p) {
    float gx = clampf(p.x / s.cell, 0.0f, s.nx - 1.001f);
    float gy = clampf(p.y / s.cell, 0.0f, s.ny - 1.001f);
    float gz = clampf(p.z / s.cell, 0.0f, s.nz - 1.001f);
    int x = (int)gx, y = (int)gy, z = (int)gz;
    float fx = gx - x, fy = gy - y, fz = gz - z;
    AirCell sum = {{0, 0, 0}, 0, 0, 0, 0};
    for (int k = 0; k < 8; k++) {
        int dx = k & 1, dy = (k >> 1) & 1, dz = k >> 2;
        float w = (dx ? fx : 1 - fx) * (dy ? fy : 1 - fy) * (dz ? fz : 1 - fz);
        addScaled(sum, air[((z + dz) * s.ny + y + dy) * s.nx + x + dx], w);
    }
    return sum;
}

__host__ __device__ inline Stone newStone(unsigned seed, Storm s) {
    Stone st;
    st.pos.x = s.cell * (s.nx - 1) * (0.2f + 0.6f * frac01(seed + 1));
    st.pos.y = s.cell * (s.ny - 1) * (0.2f + 0.6f * frac01(seed + 2));
    st.pos.z = s.cell * (s.nz - 1) * (0.3f + 0.4f * frac01(seed + 3));
    st.vel = {0, 0, 0};
    st.skin = st.age = st.largest = 0;
    st.mass = 5e-5f * (1.0f + 8.0f * frac01(seed + 4));
    st.rho = 600.0f + 300.0f * frac01(seed + 5);
    st.temp = -8.0f;
    st.layers = st.state = 0;
    st.seed = seed;
    st.embryo = (unsigned char)(scramble(seed + 6) % 3);
    st.wet = st.spare0 = st.spare1 = 0;
    return st;
}

__global__ void pulseUpdraft(AirCell *air, Storm s, float phase) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= s.nx || y >= s.ny || z >= s.nz) return;
    AirCell &c = air[(z * s.ny + y) * s.nx + x];
    float rx = x / (float)s.nx - 0.5f - 0.1f * cosf(phase), ry = y / (float)s.ny - 0.5f - 0.1f * sinf(phase);
    float h = z / (float)s.nz;
    float target = 32.0f * expf(-18.0f * (rx * rx + ry * ry)) * h * (1.3f - h) * 2.2f;
    c.wind.z += 0.2f * (target - c.wind.z);
    if (c.temp < 0 && c.temp > -40.0f) c.liquid = clampf(c.liquid + 2e-5f * c.wind.z, 0.0f, 6e-3f);
}

__global__ void growStones(Stone *stones, const AirCell *air, int n, Storm s, int substeps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || stones[i].state != 0) return;
    Stone st = stones[i];
    for (int k = 0; k < substeps && st.state == 0; k++) {
        AirCell a = sampleAir(air, s, st.pos);
        float radius = cbrtf(st.mass / (4.18879f * st.rho));
        float drag = st.embryo == 2 ? 0.75f : 0.55f;
        float fall = sqrtf(8.0f * radius * st.rho * 9.81f / (3.0f * drag * a.density));
        st.vel.x += 0.5f * (a.wind.x - st.vel.x);
        st.vel.y += 0.5f * (a.wind.y - st.vel.y);
        st.vel.z = a.wind.z - fall;
        st.pos.x += s.dt * st.vel.x;
        st.pos.y += s.dt * st.vel.y;
        st.pos.z += s.dt * st.vel.z;
        float swept = 3.14159f * radius * radius * fall * s.dt;
        float gain = swept * (0.8f * a.liquid + 0.1f * a.ice);
        st.temp += 0.1f * (a.temp - st.temp) + 40.0f * gain / (st.mass + gain);
        if (st.temp > 0) {
            float melt = fminf(1.5e-7f * st.temp * s.dt * radius * 100.0f, 0.5f * st.mass);
            st.skin += melt + gain;
            st.mass -= melt;
            if (st.skin > 0.1f * st.mass) st.skin = 0.1f * st.mass; // the rest is shed
            if (!st.wet) st.layers++;
            st.wet = 1;
        } else {
            st.mass += gain + 0.2f * st.skin;
            st.skin *= 0.8f;
            st.rho = clampf(st.rho + (a.temp > -12.0f ? 2.0f : -1.5f), 400.0f, 917.0f);
            st.wet = 0;
        }
        st.age += s.dt;
        st.largest = fmaxf(st.largest, radius);
        if (st.pos.z <= 0) st.state = 1;
        if (st.mass < 1e-6f || st.age > 3000.0f) st.state = 2;
    }
    stones[i] = st;
}

__global__ void collectFallen(Stone *stones, SwathCell *swath, int n, Storm s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int state = stones[i].state;
    if (state == 0) return;
    int x = (int)clampf(stones[i].pos.x / s.cell, 0.0f, s.nx - 1.0f);
    int y = (int)clampf(stones[i].pos.y / s.cell, 0.0f, s.ny - 1.0f);
    SwathCell *cell = &swath[y * s.nx + x];
    if (state == 1) {
        atomicAdd(&cell->stones, 1);
        atomicAdd(&cell->massMg, (int)(stones[i].mass * 1e6f));
        atomicMax(&cell->largestUm, (int)(stones[i].largest * 1e6f));
    } else atomicAdd(&cell->melted, 1);
    stones[i] = newStone(scramble(stones[i].seed + 77u), s);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 250000;
    Storm storm = {112, 112, 40, 250.0f, 2.0f};
    int cells = storm.nx * storm.ny * storm.nz, ground = storm.nx * storm.ny;
    std::vector<AirCell> air(cells);
    for (int i = 0; i < cells; i++) {
        int x = i % storm.nx, y = i / storm.nx % storm.ny, z = i / ground;
        float rx = x / (float)storm.nx - 0.5f, ry = y / (float)storm.ny - 0.5f;
        air[i].wind = {-20.0f * ry + frac01(i * 5), 20.0f * rx + frac01(i * 5 + 1), 0.0f};
        air[i].temp = 25.0f - 1.7f * z + frac01(i * 5 + 2);
        air[i].liquid = air[i].temp > -40.0f ? 2e-3f * frac01(i * 5 + 3) : 0.0f;
        air[i].ice = 1e-3f * frac01(i * 5 + 4);
        air[i].density = 1.2f * expf(-0.03f * z);
    }
    std::vector<Stone> stones(n);
    for (int i = 0; i < n; i++) stones[i] = newStone(scramble(i + 1234567u), storm);

    AirCell *dAir;
    Stone *dStones;
    SwathCell *dSwath;
    if (cudaMalloc(&dAir, cells * sizeof(AirCell)) != cudaSuccess) return 1;
    if (cudaMalloc(&dStones, n * sizeof(Stone)) != cudaSuccess) return 1;
    if (cudaMalloc(&dSwath, ground * sizeof(SwathCell)) != cudaSuccess) return 1;
    cudaMemcpy(dAir, air.data(), cells * sizeof(AirCell), cudaMemcpyHostToDevice);
    cudaMemcpy(dStones, stones.data(), n * sizeof(Stone), cudaMemcpyHostToDevice);
    cudaMemset(dSwath, 0, ground * sizeof(SwathCell));

    cudaEvent_t from, to;
    cudaEventCreate(&from), cudaEventCreate(&to);
    dim3 block(32, 4, 2), grid((storm.nx + 31) / 32, (storm.ny + 3) / 4, (storm.nz + 1) / 2);
    const int warm = 20, steps = 100;
    for (int step = 0; step < warm + steps; step++) {
        if (step == warm) cudaEventRecord(from);
        pulseUpdraft<<<grid, block>>>(dAir, storm, 0.05f * step);
        growStones<<<(n + 191) / 192, 192>>>(dStones, dAir, n, storm, 6);
        collectFallen<<<(n + 255) / 256, 256>>>(dStones, dSwath, n, storm);
    }
    cudaEventRecord(to);
    if (cudaEventSynchronize(to) != cudaSuccess || cudaGetLastError() != cudaSuccess) {
        fprintf(stderr, "failed\n");
        return 1;
    }
    float ms;
    cudaEventElapsedTime(&ms, from, to);
    std::vector<SwathCell> swath(ground);
    cudaMemcpy(swath.data(), dSwath, ground * sizeof(SwathCell), cudaMemcpyDeviceToHost);
    double check = 0;
    for (int i = 0; i < ground; i++) {
        check += swath[i].stones * 1000.0 + swath[i].melted * (1 + i % 7);
        check += swath[i].massMg / 16 + swath[i].largestUm / 16;
    }
    printf("check %.4e\ntime_ms %.5f\n", check, ms / steps);
    cudaFree(dAir), cudaFree(dStones), cudaFree(dSwath);
    return 0;
}
