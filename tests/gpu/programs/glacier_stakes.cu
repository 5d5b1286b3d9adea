// glacier_stakes: a shallow-ice sheet on a 2D map, cells as records,
// two maps used alternately; surveyors' stakes read single cells.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>
#include <cuda_runtime.h>

static void must(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
        std::exit(2);
    }
}

constexpr int W = 3072;
constexpr int H = 2000;
constexpr int STEPS = 40;
constexpr int STAKES = 60000;

struct Ice {
    float thickness;
    float bed;
    float velocity[2];
    double temperature;
    short age;
    unsigned char kind;      // 0 rock, 1 firn, 2 ice
    unsigned char crevasse;
};

struct Stake {
    int col, row;
    float lowest;
    float drift[2];
    int readings;
};

__host__ __device__ inline uint32_t mix(uint32_t v)
{
    v ^= v >> 16;
    v *= 0x7feb352dU;
    v ^= v >> 15;
    v *= 0x846ca68bU;
    v ^= v >> 16;
    return v;
}

__device__ __forceinline__ int at(int x, int y) { return y * W + x; }

__global__ void snowfall_init(Ice *a)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    uint32_t r = mix((uint32_t)at(x, y) * 2654435761u + 17u);
    Ice c;
    c.bed = (float)((x / 16 + y / 16) & 127) + (float)(r & 15) * 0.0625f;
    c.kind = (unsigned char)((r >> 8) % 3);
    c.thickness = c.kind == 0 ? 0.0f : 40.0f + (float)((r >> 12) & 63);
    c.velocity[0] = 0.0f;
    c.velocity[1] = 0.0f;
    c.temperature = -12.0 + (double)((r >> 20) & 255) / 64.0;
    c.age = (short)(r >> 28);
    c.crevasse = (unsigned char)(mix(r) & 3);
    a[at(x, y)] = c;
}

// forward slopes of the surface; writes the velocity of its own cell in place
__global__ void slope_velocity(Ice *a)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int c = at(x, y);
    float s = a[c].thickness + a[c].bed;
    float vx = 0.f, vy = 0.f;
    if (x + 1 < W) {
        int e = at(x + 1, y);
        vx = 0.03125f * (s - (a[e].thickness + a[e].bed));
    }
    if (y + 1 < H) {
        int n = at(x, y + 1);
        vy = 0.03125f * (s - (a[n].thickness + a[n].bed));
    }
    a[c].velocity[0] = vx;
    a[c].velocity[1] = vy;
}

// divergence of the velocities, whole records written to the other map
__global__ void creep(const Ice *__restrict__ from, Ice *__restrict__ to)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int i = at(x, y);
    Ice c = from[i];
    float in = 0.f;
    if (x > 0) in += from[at(x - 1, y)].velocity[0];
    if (y > 0) in += from[at(x, y - 1)].velocity[1];
    float t = c.thickness + (in - c.velocity[0] - c.velocity[1]);
    c.thickness = t > 0.f ? t : 0.f;
    c.age = (short)((c.age + 1) & 0x3fff);
    to[i] = c;
}

// nine-point smoothing of the temperature alone
__global__ void conduct(const Ice *__restrict__ from, Ice *__restrict__ to)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    double sum = 0.0;
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
        for (int dx = -1; dx <= 1; ++dx) {
            int xx = min(max(x + dx, 0), W - 1);
            int yy = min(max(y + dy, 0), H - 1);
            double w = (dx == 0 ? 2.0 : 1.0) * (dy == 0 ? 2.0 : 1.0);
            sum += w * from[at(xx, yy)].temperature;
        }
    to[at(x, y)].temperature = sum * 0.0625;
}

__global__ void read_stakes(Stake *s, int n, const Ice *a)
{
    int k = threadIdx.x + blockDim.x * blockIdx.x;
    if (k < n) {
        Stake q = s[k];
        const Ice &c = a[at(q.col, q.row)];
        q.lowest = fminf(q.lowest, c.thickness);
        q.drift[0] += c.velocity[0];
        q.drift[1] += c.velocity[1];
        q.readings += c.kind + (c.age & 1);
        s[k] = q;
    }
}

int main()
{
    const size_t cells = (size_t)W * H;
    Ice *cur = nullptr, *nxt = nullptr;
    Stake *stakes = nullptr;
    must(cudaMalloc(&cur, cells * sizeof(Ice)), "map a");
    must(cudaMalloc(&nxt, cells * sizeof(Ice)), "map b");
    must(cudaMalloc(&stakes, STAKES * sizeof(Stake)), "stakes");

    std::vector<Stake> hs(STAKES);
    for (int k = 0; k < STAKES; ++k) {
        uint32_t r = mix(k + 911u);
        hs[k] = Stake{(int)(r % W), (int)((r >> 12) % H), 1.0e9f, {0.f, 0.f}, 0};
    }
    must(cudaMemcpy(stakes, hs.data(), STAKES * sizeof(Stake), cudaMemcpyHostToDevice), "up");

    dim3 block(32, 8);
    dim3 grid((W + block.x - 1) / block.x, (H + block.y - 1) / block.y);
    snowfall_init<<<grid, block>>>(cur);
    snowfall_init<<<grid, block>>>(nxt);
    must(cudaDeviceSynchronize(), "init");

    auto season = [&]() {
        slope_velocity<<<grid, block>>>(cur);
        creep<<<grid, block>>>(cur, nxt);
        conduct<<<grid, block>>>(cur, nxt);
        read_stakes<<<(STAKES + 127) / 128, 128>>>(stakes, STAKES, nxt);
        std::swap(cur, nxt);
    };

    season();
    must(cudaGetLastError(), "launch");
    must(cudaDeviceSynchronize(), "warm-up");

    cudaEvent_t a, b;
    must(cudaEventCreate(&a), "event");
    must(cudaEventCreate(&b), "event");
    must(cudaEventRecord(a), "record");
    for (int s = 0; s < STEPS; ++s) season();
    must(cudaEventRecord(b), "record");
    must(cudaEventSynchronize(b), "sync");
    float ms;
    must(cudaEventElapsedTime(&ms, a, b), "elapsed");
    std::printf("time_ms %.6f\n", ms / STEPS);

    std::vector<Ice> out(cells);
    must(cudaMemcpy(out.data(), cur, cells * sizeof(Ice), cudaMemcpyDeviceToHost), "down");
    must(cudaMemcpy(hs.data(), stakes, STAKES * sizeof(Stake), cudaMemcpyDeviceToHost), "down");
    double thick = 0, temp = 0, speed = 0;
    long long age = 0;
    for (size_t i = 0; i < cells; ++i) {
        thick += out[i].thickness;
        temp += out[i].temperature * (double)(1 + i % 3);
        speed += out[i].velocity[0] * out[i].velocity[0] + out[i].velocity[1] * out[i].velocity[1];
        age += out[i].age + out[i].kind * 3 + out[i].crevasse;
    }
    double low = 0;
    long long rd = 0;
    for (const Stake &s : hs) {
        low += s.lowest;
        rd += s.readings;
    }
    std::printf("check thickness %.4e\n", thick);
    std::printf("check temperature %.5e\n", temp);
    std::printf("check speed2 %.3e\n", speed);
    std::printf("check age %lld\n", age);
    std::printf("check lowest %.4e\n", low);
    std::printf("check readings %lld\n", rd);
    cudaFree(cur);
    cudaFree(nxt);
    cudaFree(stakes);
    return 0;
}
