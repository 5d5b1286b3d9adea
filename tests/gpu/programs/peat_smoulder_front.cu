// Smouldering fire in a 3D block of peat: heat conduction, moisture
// evaporation, oxygen diffusion from the surface and a two step reaction.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK_CUDA(call)                                              \
    do {                                                              \
        cudaError_t st = (call);                                      \
        if (st != cudaSuccess) {                                      \
            fprintf(stderr, "CUDA: %s (%s:%d)\n",                     \
                    cudaGetErrorString(st), __FILE__, __LINE__);      \
            exit(1);                                                  \
        }                                                             \
    } while (0)

struct PeatCell {
    float temp;
    float moisture;
    float organic;
    float charcoal;
    float ash;
    float oxygen;
    float porosity;
    short ignited_step;
    unsigned char layer;
    unsigned char burning;
};

struct Column {
    float emission;
    float depth_burned;
    float max_temp;
    float wind;
    float litter;
    int burning_cells;
    int first_step;
    unsigned char vegetation;
    unsigned char trench;
};

struct Block {
    int nx, ny, nz;
    float dt;
};

__host__ __device__ inline size_t cell_id(const Block &b, int x, int y, int z) {
    return ((size_t)z * b.ny + y) * b.nx + x;
}

__device__ inline float conductivity(float moisture, float porosity) {
    return 0.05f + 0.08f * moisture + 0.04f * (1.0f - porosity);
}

__global__ void diffuse(const PeatCell *in, PeatCell *out, const Column *cols, Block b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < b.nx && y < b.ny && z < b.nz) {
        size_t id = cell_id(b, x, y, z);
        PeatCell c = in[id];
        size_t sy = b.nx, sz = (size_t)b.nx * b.ny;
        size_t xm = x > 0 ? id - 1 : id, xp = x < b.nx - 1 ? id + 1 : id;
        size_t ym = y > 0 ? id - sy : id, yp = y < b.ny - 1 ? id + sy : id;
        size_t zp = z < b.nz - 1 ? id + sz : id;
        float lap_t = in[xm].temp + in[xp].temp + in[ym].temp + in[yp].temp + in[zp].temp;
        float lap_o = in[xm].oxygen + in[xp].oxygen + in[ym].oxygen + in[yp].oxygen + in[zp].oxygen;
        if (z > 0) {
            lap_t += in[id - sz].temp;
            lap_o += in[id - sz].oxygen;
        } else {
            const Column &col = cols[y * b.nx + x];
            float h = 0.2f + 0.3f * col.wind;
            lap_t += c.temp + h * (290.0f - c.temp);
            lap_o += 0.23f;
        }
        lap_t -= 6.0f * c.temp;
        lap_o -= 6.0f * c.oxygen;
        float k = conductivity(c.moisture, c.porosity);
        c.temp += b.dt * k * lap_t;
        c.oxygen += b.dt * (0.05f + 0.1f * c.porosity) * lap_o;
        out[id] = c;
    }
}

__global__ void react(PeatCell *cells, int n, float dt, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        PeatCell *c = &cells[i];
        float t = c->temp;
        if (t > 350.0f && c->moisture > 0.0f) {
            float evap = fminf(c->moisture, dt * 2.0e-4f * (t - 350.0f));
            c->moisture -= evap;
            t -= 240.0f * evap;
        }
        unsigned char burning = 0;
        if (t > 470.0f && c->organic > 0.0f && c->moisture < 0.4f) {
            float rate = 4.0e3f * expf(-6000.0f / t);
            float pyro = fminf(c->organic, dt * rate * c->organic);
            c->organic -= pyro;
            c->charcoal += 0.45f * pyro;
            t -= 40.0f * pyro;
            if (c->oxygen > 0.01f && c->charcoal > 0.0f) {
                float ox = fminf(c->charcoal, dt * 6.0f * rate * c->charcoal * c->oxygen);
                ox = fminf(ox, c->oxygen * 0.5f);
                c->charcoal -= ox;
                c->ash += 0.1f * ox;
                c->oxygen -= 0.4f * ox;
                t += 2600.0f * ox;
                burning = ox > 1.0e-5f;
            }
            c->porosity = fminf(0.95f, c->porosity + 0.05f * pyro);
        }
        c->temp = fminf(t, 1200.0f);
        c->burning = burning;
        if (burning && c->ignited_step < 0) c->ignited_step = (short)step;
    }
}

__global__ void column_scan(const PeatCell *cells, Column *cols, Block b, int step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < b.nx && y < b.ny) {
        int burning = 0;
        float emis = 0.0f, depth = 0.0f, tmax = 0.0f;
        for (int z = 0; z < b.nz; z++) {
            const PeatCell &c = cells[cell_id(b, x, y, z)];
            if (c.burning) {
                burning++;
                emis += 0.01f * (c.temp - 290.0f);
            }
            if (c.ignited_step >= 0) depth = z + 1.0f;
            tmax = fmaxf(tmax, c.temp);
        }
        Column *col = &cols[y * b.nx + x];
        col->emission += emis;
        col->depth_burned = fmaxf(col->depth_burned, depth);
        col->max_temp = fmaxf(col->max_temp, tmax);
        col->burning_cells = burning;
        if (burning > 0 && col->first_step < 0) col->first_step = step;
    }
}

static unsigned int noise(unsigned int a, unsigned int b) {
    unsigned int h = a * 374761393u + b * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return h ^ (h >> 16);
}
static float noisef(unsigned int a, unsigned int b) { return (noise(a, b) >> 8) / 16777216.0f; }

int main(int argc, char **argv) {
    int want = argc > 1 ? atoi(argv[1]) : 4000000;
    if (want < 8) want = 8;
    Block b;
    b.nz = (int)(std::cbrt((double)want) * 0.4);
    if (b.nz < 2) b.nz = 2;
    b.ny = (int)std::sqrt((double)want / b.nz);
    if (b.ny < 1) b.ny = 1;
    b.nx = want / (b.nz * b.ny);
    if (b.nx < 1) b.nx = 1;
    b.dt = 0.8f;
    int n = b.nx * b.ny * b.nz, nc = b.nx * b.ny;

    std::vector<PeatCell> cells(n);
    std::vector<Column> cols(nc);
    for (int y = 0; y < b.ny; y++)
        for (int x = 0; x < b.nx; x++) {
            Column &c = cols[y * b.nx + x];
            unsigned int p = (unsigned)(y / 8) * 4099u + (unsigned)(x / 8);
            c.emission = c.depth_burned = c.max_temp = 0.0f;
            c.wind = noisef(p, 3);
            c.litter = noisef(p, 4);
            c.burning_cells = 0;
            c.first_step = -1;
            c.vegetation = (unsigned char)(noise(p, 5) % 5);
            c.trench = (x % 97) == 50;
        }
    for (int z = 0; z < b.nz; z++)
        for (int y = 0; y < b.ny; y++)
            for (int x = 0; x < b.nx; x++) {
                size_t id = cell_id(b, x, y, z);
                PeatCell &c = cells[id];
                unsigned int p = (unsigned)(y / 8) * 4099u + (unsigned)(x / 8);
                bool hot = noise(p, 11) % 6 == 0 && z < b.nz / 3 + 1;
                c.temp = hot ? 650.0f + 200.0f * noisef((unsigned)id, 1) : 288.0f;
                c.moisture = hot ? 0.05f : 0.1f + 0.9f * noisef((unsigned)id, 2) * (z + 1) / b.nz;
                if (cols[y * b.nx + x].trench) c.moisture = 1.5f;
                c.organic = 0.7f + 0.3f * noisef((unsigned)id, 6);
                c.charcoal = hot ? 0.2f : 0.0f;
                c.ash = 0.0f;
                c.oxygen = 0.23f * (1.0f - 0.7f * z / b.nz);
                c.porosity = 0.6f + 0.3f * noisef((unsigned)id, 7);
                c.ignited_step = -1;
                c.layer = (unsigned char)(z * 4 / b.nz);
                c.burning = 0;
            }

    PeatCell *d_a, *d_b;
    Column *d_cols;
    CHECK_CUDA(cudaMalloc(&d_a, n * sizeof(PeatCell)));
    CHECK_CUDA(cudaMalloc(&d_b, n * sizeof(PeatCell)));
    CHECK_CUDA(cudaMalloc(&d_cols, nc * sizeof(Column)));
    CHECK_CUDA(cudaMemcpy(d_a, cells.data(), n * sizeof(PeatCell), cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(d_cols, cols.data(), nc * sizeof(Column), cudaMemcpyHostToDevice));

    dim3 tb(32, 4, 2);
    dim3 gb((b.nx + 31) / 32, (b.ny + 3) / 4, (b.nz + 1) / 2);
    dim3 tc(32, 8), gc((b.nx + 31) / 32, (b.ny + 7) / 8);
    cudaEvent_t t0, t1;
    CHECK_CUDA(cudaEventCreate(&t0));
    CHECK_CUDA(cudaEventCreate(&t1));
    const int steps = 60;
    PeatCell *cur = d_a, *nxt = d_b;
    for (int s = 0; s <= steps; s++) {
        if (s == 1) CHECK_CUDA(cudaEventRecord(t0));
        diffuse<<<gb, tb>>>(cur, nxt, d_cols, b);
        react<<<(n + 255) / 256, 256>>>(nxt, n, b.dt, s);
        if (s % 4 == 0) column_scan<<<gc, tc>>>(nxt, d_cols, b, s);
        PeatCell *tmp = cur;
        cur = nxt;
        nxt = tmp;
    }
    CHECK_CUDA(cudaEventRecord(t1));
    CHECK_CUDA(cudaEventSynchronize(t1));
    CHECK_CUDA(cudaGetLastError());
    float ms = 0.0f;
    CHECK_CUDA(cudaEventElapsedTime(&ms, t0, t1));

    CHECK_CUDA(cudaMemcpy(cells.data(), cur, n * sizeof(PeatCell), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(cols.data(), d_cols, nc * sizeof(Column), cudaMemcpyDeviceToHost));

    double heat = 0, water = 0, organic = 0, chr = 0, ash = 0, emission = 0, depth = 0;
    long long ignited = 0, burning = 0, burned_cols = 0;
    for (const PeatCell &c : cells) {
        heat += c.temp;
        water += c.moisture;
        organic += c.organic;
        chr += c.charcoal;
        ash += c.ash;
        ignited += c.ignited_step >= 0;
        burning += c.burning;
    }
    for (const Column &c : cols) {
        emission += c.emission;
        depth += c.depth_burned;
        burned_cols += c.first_step >= 0;
    }
    printf("check cells %d\n", n);
    printf("check heat %.6g\n", heat);
    printf("check water %.6g\n", water);
    printf("check organic %.6g\n", organic);
    printf("check charcoal %.6g\n", chr);
    printf("check ash %.6g\n", ash);
    printf("check ignited %lld\n", ignited);
    printf("check burning %lld\n", burning);
    printf("check burned_columns %lld\n", burned_cols);
    printf("check emission %.6g\n", emission);
    printf("check depth %.6g\n", depth);
    printf("time_ms %.4f\n", ms / steps);
    CHECK_CUDA(cudaFree(d_a));
    CHECK_CUDA(cudaFree(d_b));
    CHECK_CUDA(cudaFree(d_cols));
    return 0;
}
