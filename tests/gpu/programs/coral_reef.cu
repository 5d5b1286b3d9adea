/* coral_reef.cu - coral colonies growing on a reef flat, with larvae that
 * drift in the current, settle on free substrate and found new colonies. */
#include <cuda_runtime.h>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>

enum { FREE = 0, ALIVE = 1, BLEACHED = 2, ROCK = 3 };
enum { TX = 32, TY = 8, NSPECIES = 6 };

struct Cell {
    float  tissue;
    float  skeleton;
    float  nutrient;
    float  temp;
    float2 flow;
    float  stress;
    int    colony;
    int    claim;               /* lowest larva that wants to settle here */
    short  species;
    unsigned char state;
    unsigned char age;
};

struct Larva {
    float2   pos, vel;
    float    vigor;
    int      wish;              /* cell it tries to settle on or -1 */
    unsigned seed;
    short    species;
    short    days;
    unsigned settled;
};

struct Colony {
    int                cells;
    int                bleached;
    unsigned long long mass;    /* 1/1000 units */
    unsigned           founded;
    float              health;
    short              species;
    short              reserved;
};

struct Species {
    float uptake, growth, thermalLimit, aggressiveness;
    int   settleAge;
    float calcification;
};

__constant__ Species species_c[NSPECIES];

#define GPU(call) do { const cudaError_t rc = (call); if (rc != cudaSuccess) { \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc)); std::abort(); } } while (0)

__host__ __device__ static unsigned scramble(unsigned v)
{
    v ^= v >> 17; v *= 0xed5ad4bbu; v ^= v >> 11; v *= 0xac4c1b51u; v ^= v >> 15;
    return v;
}

/* Nutrient transport and water temperature; writes the new generation. */
__global__ void transport(const Cell *cur, Cell *nxt, int w, int h, float warm)
{
    __shared__ float nut[TY + 2][TX + 2];
    __shared__ float tmp[TY + 2][TX + 2];
    const int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;
    for (int k = threadIdx.y * TX + threadIdx.x; k < (TX + 2) * (TY + 2); k += TX * TY) {
        int lx = k % (TX + 2), ly = k / (TX + 2);
        int gx = min(max((int)(blockIdx.x * TX) + lx - 1, 0), w - 1);
        int gy = min(max((int)(blockIdx.y * TY) + ly - 1, 0), h - 1);
        const Cell *c = cur + (size_t)gy * w + gx;
        nut[ly][lx] = c->nutrient;
        tmp[ly][lx] = c->temp;
    }
    __syncthreads();
    if (x >= w || y >= h) return;

    const int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
    Cell c = cur[(size_t)y * w + x];
    float n0 = nut[ly][lx], t0 = tmp[ly][lx];
    float lapN = nut[ly][lx - 1] + nut[ly][lx + 1] + nut[ly - 1][lx] + nut[ly + 1][lx] - 4.0f * n0;
    float lapT = tmp[ly][lx - 1] + tmp[ly][lx + 1] + tmp[ly - 1][lx] + tmp[ly + 1][lx] - 4.0f * t0;
    float gradX = c.flow.x > 0 ? n0 - nut[ly][lx - 1] : nut[ly][lx + 1] - n0;
    float gradY = c.flow.y > 0 ? n0 - nut[ly - 1][lx] : nut[ly + 1][lx] - n0;
    n0 += 0.15f * lapN - 0.3f * (c.flow.x * gradX + c.flow.y * gradY) + 0.01f * (1.0f - n0);
    c.nutrient = fmaxf(n0, 0.0f);
    c.temp = t0 + 0.12f * lapT + 0.02f * (warm - t0);
    c.claim = INT_MAX;
    nxt[(size_t)y * w + x] = c;
}

__global__ void drift(Larva *larvae, int n, Cell *cells, int w, int h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Larva l = larvae[i];
    int cx = min((int)l.pos.x, w - 1), cy = min((int)l.pos.y, h - 1);
    const float2 f = cells[(size_t)cy * w + cx].flow;
    l.seed = l.seed * 747796405u + 2891336453u;
    unsigned r = scramble(l.seed);
    l.vel.x = 0.6f * l.vel.x + 0.4f * (3.0f * f.x + ((r & 255) - 127.5f) / 128.0f);
    l.vel.y = 0.6f * l.vel.y + 0.4f * (3.0f * f.y + ((r >> 8 & 255) - 127.5f) / 128.0f);
    l.pos.x += l.vel.x; l.pos.y += l.vel.y;
    if (l.pos.x < 0) l.pos.x += w; else if (l.pos.x >= w) l.pos.x -= w;
    if (l.pos.y < 0) l.pos.y += h; else if (l.pos.y >= h) l.pos.y -= h;
    l.days++;
    l.vigor *= 0.995f;
    l.wish = -1;
    if (l.days >= species_c[l.species].settleAge) {
        int sx = min(max((int)l.pos.x, 0), w - 1), sy = min(max((int)l.pos.y, 0), h - 1);
        int at = sy * w + sx;
        if (cells[at].state == FREE && cells[at].nutrient > 0.3f) {
            l.wish = at;
            atomicMin(&cells[at].claim, i);
        }
    }
    larvae[i] = l;
}

__device__ bool stronger(const Cell &a, const Cell *b)
{
    if (!b) return true;
    float fa = a.tissue * species_c[a.species].aggressiveness;
    float fb = b->tissue * species_c[b->species].aggressiveness;
    return fa > fb;
}

/* Growth looks at the old generation (prev) around a cell of the new one. */
__global__ void grow(Cell *cells, const Cell *prev, const Larva *larvae, int w, int h, int ncolonies)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int at = y * w + x;
    Cell &c = cells[at];
    if (c.state == ROCK) return;
    if (c.state == FREE) {
        if (c.claim != INT_MAX) {
            const Larva &l = larvae[c.claim];
            c.species = l.species;
            c.colony = (int)(scramble(c.claim) % (unsigned)ncolonies);
            c.tissue = 0.1f * l.vigor;
            c.state = ALIVE;
            c.age = 0;
            return;
        }
        const Cell *best = nullptr;
        const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
        for (int k = 0; k < 4; ++k) {
            int nx = x + dx[k], ny = y + dy[k];
            if (nx < 0 || ny < 0 || nx >= w || ny >= h) continue;
            const Cell &o = prev[ny * w + nx];
            if (o.state == ALIVE && o.tissue > 0.8f && stronger(o, best)) best = &o;
        }
        if (best) {
            c.species = best->species;
            c.colony = best->colony;
            c.tissue = 0.2f;
            c.state = ALIVE;
            c.age = 0;
        }
        return;
    }
    const Species &s = species_c[c.species];
    float over = c.temp - s.thermalLimit;
    c.stress = fmaxf(0.0f, 0.9f * c.stress + (over > 0.0f ? over : 0.0f));
    if (c.state == BLEACHED) {
        c.tissue *= 0.93f;
        if (c.stress < 0.3f) c.state = ALIVE;
        else if (c.tissue < 0.02f) { c.state = FREE; c.colony = -1; c.tissue = 0.0f; c.stress = 0.0f; }
        return;
    }
    float eat = fminf(c.nutrient, s.uptake * c.tissue);
    c.nutrient -= eat;
    c.tissue = fminf(1.5f, c.tissue + s.growth * eat - 0.002f);
    c.skeleton += s.calcification * c.tissue;
    if (c.age < 255) c.age++;
    if (c.stress > 2.0f) c.state = BLEACHED;
    if (c.tissue <= 0.0f) { c.tissue = 0.0f; c.state = FREE; c.colony = -1; }
}

__global__ void commitLarvae(Larva *larvae, int n, const Cell *cells, Colony *colonies, int ncolonies, int w, int h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Larva *l = &larvae[i];
    bool won = l->wish >= 0 && cells[l->wish].claim == i;
    if (won) {
        l->settled++;
        atomicAdd(&colonies[cells[l->wish].colony].founded, 1u);
    }
    if (won || l->vigor < 0.5f) {       /* a new larva takes the record */
        unsigned r = scramble(l->seed ^ 0x55aau);
        l->pos = make_float2((float)(r % (unsigned)w) + 0.5f, (float)(r / (unsigned)w % (unsigned)h) + 0.5f);
        l->vigor = 1.0f;
        l->days = 0;
        l->species = (short)(r % NSPECIES);
    }
    if (i < ncolonies) { colonies[i].cells = 0; colonies[i].bleached = 0; colonies[i].mass = 0; }
}

__global__ void census(const Cell *cells, int n, Colony *colonies)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int id = cells[i].colony;
        if (id < 0) continue;
        Colony &c = colonies[id];
        atomicAdd(&c.cells, 1);
        if (cells[i].state == BLEACHED) atomicAdd(&c.bleached, 1);
        atomicAdd(&c.mass, (unsigned long long)(cells[i].tissue * 1000.0f));
    }
}

template <typename T> using Host = std::unique_ptr<T[]>;

int main(int argc, char **argv)
{
    const int want = argc > 1 ? std::atoi(argv[1]) : 2048 * 1280;
    const int w = want > 1000000 ? 2048 : 256;
    const int h = want / w > 16 ? want / w : 16;
    const int n = w * h, nl = n / 8, nc = n / 256, steps = 40;

    const Species table[NSPECIES] = {{0.05f, 0.9f, 29.0f, 1.0f, 4, 0.02f}, {0.08f, 1.1f, 28.2f, 1.3f, 6, 0.01f},
        {0.04f, 0.8f, 30.1f, 0.7f, 3, 0.04f}, {0.06f, 1.0f, 28.8f, 1.1f, 8, 0.02f},
        {0.07f, 0.7f, 29.5f, 1.6f, 5, 0.03f}, {0.05f, 1.2f, 28.5f, 0.9f, 2, 0.01f}};
    GPU(cudaMemcpyToSymbol(species_c, table, sizeof(table)));

    Host<Cell> cells(new Cell[n]());
    Host<Larva> larvae(new Larva[nl]());
    Host<Colony> colonies(new Colony[nc]());
    for (int i = 0; i < n; ++i) {
        unsigned r = scramble(i + 1);
        Cell &c = cells[i];
        int x = i % w, y = i / w;
        c.nutrient = 0.5f + (r & 1023) / 2048.0f;
        c.temp = 27.0f + 2.0f * x / w;
        c.flow = make_float2(0.5f - 0.6f * y / h, 0.3f * ((x / 64) % 3 - 1));
        c.colony = -1;
        c.claim = INT_MAX;
        c.state = (r >> 10) % 9 == 0 ? ROCK : FREE;
        if (c.state == FREE && (r >> 14) % 12 == 0) {
            c.state = ALIVE;
            c.species = (short)(scramble(i / 37) % NSPECIES);
            c.colony = (int)(scramble(i / 37 + 5) % (unsigned)nc);
            c.tissue = 0.3f + (r >> 22) / 1024.0f;
        }
    }
    for (int i = 0; i < nl; ++i) {
        unsigned r = scramble(i + 3000000000u);
        Larva &l = larvae[i];
        l.pos = make_float2(r % (unsigned)w + 0.25f, scramble(r) % (unsigned)h + 0.75f);
        l.vigor = 0.8f + 0.2f * ((r >> 5) & 255) / 255.0f;
        l.wish = -1;
        l.seed = r ^ 0xabcdu;
        l.species = (short)(r % NSPECIES);
        l.days = (short)(r >> 9 & 3);
    }
    for (int i = 0; i < nc; ++i) { colonies[i].species = (short)(i % NSPECIES); colonies[i].health = 1.0f; }

    Cell *dA, *dB; Larva *dL; Colony *dC;
    GPU(cudaMalloc(&dA, n * sizeof(Cell)));
    GPU(cudaMalloc(&dB, n * sizeof(Cell)));
    GPU(cudaMalloc(&dL, nl * sizeof(Larva)));
    GPU(cudaMalloc(&dC, nc * sizeof(Colony)));
    GPU(cudaMemcpy(dA, cells.get(), n * sizeof(Cell), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dL, larvae.get(), nl * sizeof(Larva), cudaMemcpyHostToDevice));
    GPU(cudaMemcpy(dC, colonies.get(), nc * sizeof(Colony), cudaMemcpyHostToDevice));

    cudaEvent_t ev[2];
    for (auto &e : ev) GPU(cudaEventCreate(&e));
    dim3 tile(TX, TY), blocks((w + TX - 1) / TX, (h + TY - 1) / TY);
    for (int s = 0; s <= steps; ++s) {
        if (s == 1) GPU(cudaEventRecord(ev[0]));
        transport<<<blocks, tile>>>(dA, dB, w, h, 28.0f + 2.5f * (s % 20) / 20.0f);
        drift<<<(nl + 127) / 128, 128>>>(dL, nl, dB, w, h);
        grow<<<blocks, tile>>>(dB, dA, dL, w, h, nc);
        commitLarvae<<<(nl + 127) / 128, 128>>>(dL, nl, dB, dC, nc, w, h);
        census<<<1056, 256>>>(dB, n, dC);
        Cell *t = dA; dA = dB; dB = t;
    }
    GPU(cudaEventRecord(ev[1]));
    GPU(cudaGetLastError()); GPU(cudaEventSynchronize(ev[1]));
    float ms = 0.0f;
    GPU(cudaEventElapsedTime(&ms, ev[0], ev[1]));
    GPU(cudaMemcpy(cells.get(), dA, n * sizeof(Cell), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(larvae.get(), dL, nl * sizeof(Larva), cudaMemcpyDeviceToHost));
    GPU(cudaMemcpy(colonies.get(), dC, nc * sizeof(Colony), cudaMemcpyDeviceToHost));

    long long state[4] = {0, 0, 0, 0}, settled = 0, founded = 0, members = 0;
    double skel = 0, nut = 0;
    unsigned long long mass = 0;
    for (int i = 0; i < n; ++i) { state[cells[i].state]++; skel += cells[i].skeleton; nut += cells[i].nutrient; }
    for (int i = 0; i < nl; ++i) settled += larvae[i].settled;
    for (int i = 0; i < nc; ++i) { founded += colonies[i].founded; members += colonies[i].cells; mass += colonies[i].mass; }
    std::printf("check %lld/%lld/%lld/%lld/%lld/%.4g/%.5g/%.5g\n", state[ALIVE], state[BLEACHED], settled, founded,
                members, (double)mass, skel, nut);
    std::printf("time_ms %.4f\n", ms / steps);
    return 0;
}
