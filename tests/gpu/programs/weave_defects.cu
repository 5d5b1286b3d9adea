// Inspection of woven cloth. The camera measures every crossing of warp and weft; a window around each is compared
// with the draft of the pattern, single outliers are dropped, and each bolt gets a summary.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

struct Crossing {
    int16_t warp_tension;
    int16_t weft_tension;
    uint8_t shade;
    uint8_t over; // 1 where the warp lies on top
    uint8_t nap;
    uint8_t loom;
    float offset;
    float gap;
};

struct Finding {
    float score;
    int16_t kind;
    uint8_t severity;
    uint8_t neighbours;
};

struct DraftCell {
    uint8_t over;
    uint8_t shade;
    int16_t tension;
    float gap;
};

struct Bolt {
    int defects;
    int by_kind[4];
    int worst;
    int shade_sum;
    int tension_sum;
};

enum { REPEAT = 24, TILE_X = 32, TILE_Y = 8, HALO = 2, BOLT = 64 };

static void guard(cudaError_t code, int line) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(code));
    std::exit(2);
}
#define GUARD(x) guard((x), __LINE__)

static uint32_t weave_hash(uint32_t a) {
    a = (a + 0x479ab41du) + (a << 8);
    a = (a ^ 0xe4aa10ceu) ^ (a >> 5);
    a = (a + 0x9942f0a6u) - (a << 14);
    a = (a ^ 0x5aedd67du) ^ (a >> 3);
    a = (a + 0x17bea992u) + (a << 7);
    return a ^ (a >> 16);
}

__device__ __forceinline__ int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }

__global__ void inspect(const Crossing *cloth, const DraftCell *draft, Finding *out, int side) {
    __shared__ Crossing tile[TILE_Y + 2 * HALO][TILE_X + 2 * HALO];
    int x0 = blockIdx.x * TILE_X - HALO, y0 = blockIdx.y * TILE_Y - HALO;
    int tid = threadIdx.y * TILE_X + threadIdx.x;
    for (int k = tid; k < (TILE_X + 2 * HALO) * (TILE_Y + 2 * HALO); k += TILE_X * TILE_Y) {
        int ty = k / (TILE_X + 2 * HALO), tx = k % (TILE_X + 2 * HALO);
        tile[ty][tx] = cloth[(size_t)clampi(y0 + ty, 0, side - 1) * side + clampi(x0 + tx, 0, side - 1)];
    }
    __syncthreads();
    int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    if (x >= side || y >= side) return;
    const Crossing &mine = tile[threadIdx.y + HALO][threadIdx.x + HALO];
    int warp_sum = 0, weft_sum = 0, shade_sum = 0;
    float gap_sum = 0;
    for (int dy = 0; dy <= 2 * HALO; dy++) {
        for (int dx = 0; dx <= 2 * HALO; dx++) {
            const Crossing &c = tile[threadIdx.y + dy][threadIdx.x + dx];
            if (dx == HALO) warp_sum += c.warp_tension;
            if (dy == HALO) weft_sum += c.weft_tension;
            shade_sum += c.shade;
            gap_sum += c.gap;
        }
    }
    const DraftCell &want = draft[(y % REPEAT) * REPEAT + x % REPEAT];
    int slack = abs(5 * mine.warp_tension - warp_sum) + abs(5 * mine.weft_tension - weft_sum);
    int stain = abs(25 * mine.shade - shade_sum) / 25 + abs((int)mine.shade - (int)want.shade) / 4;
    float hole = fabsf(mine.gap - gap_sum * 0.04f) + fabsf(mine.gap - want.gap);
    Finding f;
    f.kind = 0;
    f.score = 0.004f * slack + 0.03f * stain + 2.0f * hole + 0.5f * fabsf(mine.offset);
    f.neighbours = 0;
    if (mine.over != want.over) {
        f.kind = 1;
        f.score += 2.0f;
    } else if (hole > 0.35f) {
        f.kind = 2;
    } else if (slack > 500) {
        f.kind = 3;
    } else if (stain > 40) {
        f.kind = 4;
    }
    f.severity = (uint8_t)fminf(255.0f, f.score * 32.0f);
    if (mine.nap > 250) f.kind = 0; // fluff: the camera could not see
    out[(size_t)y * side + x] = f;
}

// A defect without a companion among its eight neighbours is taken for noise, unless it is severe.
__global__ void drop_singles(const Finding *in, Finding *out, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    Finding f = in[(size_t)y * side + x];
    if (f.kind != 0) {
        int near = 0;
        for (int yy = max(y - 1, 0); yy <= min(y + 1, side - 1); yy++)
            for (int xx = max(x - 1, 0); xx <= min(x + 1, side - 1); xx++)
                near += in[(size_t)yy * side + xx].kind != 0;
        f.neighbours = (uint8_t)(near - 1);
        if (near == 1 && f.severity < 96) f.kind = 0;
    }
    out[(size_t)y * side + x] = f;
}

__global__ void summarise(const Crossing *cloth, const Finding *found, Bolt *bolts, int side, int bolts_across) {
    __shared__ Bolt total;
    if (threadIdx.x == 0) total = Bolt();
    __syncthreads();
    int bx = blockIdx.x * BOLT, by = blockIdx.y * BOLT;
    int shade = 0, tension = 0;
    for (int k = threadIdx.x; k < BOLT * BOLT; k += blockDim.x) {
        int x = bx + k % BOLT, y = by + k / BOLT;
        if (x >= side || y >= side) continue;
        size_t at = (size_t)y * side + x;
        shade += cloth[at].shade;
        tension += cloth[at].warp_tension;
        int kind = found[at].kind;
        if (kind == 0) continue;
        atomicAdd(&total.defects, 1);
        atomicAdd(&total.by_kind[kind - 1], 1 + found[at].neighbours);
        atomicMax(&total.worst, (int)found[at].severity);
    }
    atomicAdd(&total.shade_sum, shade);
    atomicAdd(&total.tension_sum, tension);
    __syncthreads();
    if (threadIdx.x == 0) bolts[blockIdx.y * bolts_across + blockIdx.x] = total;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 2304 * 2304;
    int side = 64;
    while ((side + 1) * (side + 1) <= n) side++;
    size_t count = (size_t)side * side;
    int across = (side + BOLT - 1) / BOLT;
    DraftCell draft[REPEAT * REPEAT];
    for (int i = 0; i < REPEAT * REPEAT; i++) {
        int x = i % REPEAT, y = i / REPEAT;
        draft[i].over = (x + y) % 4 < 2; // a twill
        draft[i].shade = (uint8_t)(90 + 60 * ((x / 6 + y / 8) % 2));
        draft[i].tension = (int16_t)(300 + 10 * (x % 3));
        draft[i].gap = draft[i].over ? 0.12f : 0.18f;
    }
    Crossing *cloth = new Crossing[count];
    for (size_t i = 0; i < count; i++) {
        int x = (int)(i % side), y = (int)(i / side);
        const DraftCell &d = draft[(y % REPEAT) * REPEAT + x % REPEAT];
        uint32_t h = weave_hash((uint32_t)i), flaw = weave_hash(0xabcd0000u + (uint32_t)(y / 5) * 4001u + x / 7);
        bool bad = flaw % 60 == 0;
        Crossing &c = cloth[i];
        c.warp_tension = (int16_t)(d.tension + (int)(h % 40) - 20 + (bad ? 90 : 0));
        c.weft_tension = (int16_t)(280 + (int)((h >> 6) % 40));
        c.shade = (uint8_t)(d.shade + (h >> 12) % 12 + (flaw % 1500 == 7 ? 60 : 0));
        c.over = d.over ^ (uint8_t)(bad && h % 5 == 0);
        c.nap = (uint8_t)(h >> 20);
        c.loom = (uint8_t)(x / 512);
        c.offset = (float)((h >> 8) % 1000) * 1e-4f;
        c.gap = d.gap + (float)((h >> 16) % 100) * 1e-3f + (h % 3000 == 1 ? 0.5f : 0.0f);
    }
    Crossing *d_cloth;
    DraftCell *d_draft;
    Finding *d_raw, *d_clean;
    Bolt *d_bolts;
    GUARD(cudaMalloc(&d_cloth, count * sizeof(Crossing)));
    GUARD(cudaMalloc(&d_draft, sizeof(draft)));
    GUARD(cudaMalloc(&d_raw, count * sizeof(Finding)));
    GUARD(cudaMalloc(&d_clean, count * sizeof(Finding)));
    GUARD(cudaMalloc(&d_bolts, across * across * sizeof(Bolt)));
    GUARD(cudaMemcpy(d_cloth, cloth, count * sizeof(Crossing), cudaMemcpyHostToDevice));
    GUARD(cudaMemcpy(d_draft, draft, sizeof(draft), cudaMemcpyHostToDevice));
    cudaEvent_t a, b;
    GUARD(cudaEventCreate(&a));
    GUARD(cudaEventCreate(&b));
    dim3 threads(TILE_X, TILE_Y), tiles((side + TILE_X - 1) / TILE_X, (side + TILE_Y - 1) / TILE_Y);
    const int repeats = 30;
    for (int r = -2; r < repeats; r++) {
        if (r == 0) GUARD(cudaEventRecord(a));
        inspect<<<tiles, threads>>>(d_cloth, d_draft, d_raw, side);
        drop_singles<<<tiles, threads>>>(d_raw, d_clean, side);
        summarise<<<dim3(across, across), 256>>>(d_cloth, d_clean, d_bolts, side, across);
    }
    GUARD(cudaEventRecord(b));
    GUARD(cudaEventSynchronize(b));
    float ms = 0;
    GUARD(cudaEventElapsedTime(&ms, a, b));
    Bolt *bolts = new Bolt[across * across];
    GUARD(cudaMemcpy(bolts, d_bolts, across * across * sizeof(Bolt), cudaMemcpyDeviceToHost));
    long long check = 0;
    for (int i = 0; i < across * across; i++) {
        check += 31LL * bolts[i].defects + bolts[i].worst + bolts[i].shade_sum + bolts[i].tension_sum;
        for (int k = 0; k < 4; k++) check += (k + 1) * bolts[i].by_kind[k];
    }
    std::printf("check %lld\ntime_ms %.5f\n", check, ms / repeats);
    return 0;
}
