// Wet felt under a press: short fibres touch others in neighbouring cells, tangle, and are pushed down by the platen.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CK(call)                                                                            \
    do {                                                                                    \
        cudaError_t e_ = (call);                                                            \
        if (e_ != cudaSuccess) {                                                            \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            std::exit(1);                                                                   \
        }                                                                                   \
    } while (0)

struct Fibre {
    float pos[3];
    float dir[3];
    float length;
    float crimp;
    float tangle;
    int cell;
    int fleece;
    unsigned char breed;
    unsigned char wet;
};

struct Contact {
    float fx, fy, fz;
    int touches;
};

struct Cell {
    int first;
    int count;
    float load;
    int wetFibres;
};

static unsigned mix(unsigned v)
{
    v ^= v >> 17; v *= 0xed5ad4bbu;
    v ^= v >> 11; v *= 0xac4c1b51u;
    v ^= v >> 15; v *= 0x31848babu;
    return v ^ (v >> 14);
}
static float frac(unsigned v) { return (mix(v) >> 8) * (1.0f / 16777216.0f); }

__device__ bool touching(const Fibre &a, const Fibre &b, float reach, float d[3], float &dist)
{
    float s = 0.0f;
    for (int k = 0; k < 3; k++) {
        d[k] = a.pos[k] - b.pos[k];
        s += d[k] * d[k];
    }
    dist = sqrtf(s);
    return dist < reach && dist > 1e-5f;
}

__global__ void findContacts(const Fibre *fibres, const Cell *cells, Contact *contacts, int n, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Fibre &me = fibres[i];
    int cz = me.cell / (nx * ny);
    int cy = me.cell / nx % ny;
    int cx = me.cell % nx;
    Contact c = {0.0f, 0.0f, 0.0f, 0};
    for (int z = max(cz - 1, 0); z <= min(cz + 1, nz - 1); z++)
        for (int y = max(cy - 1, 0); y <= min(cy + 1, ny - 1); y++)
            for (int x = max(cx - 1, 0); x <= min(cx + 1, nx - 1); x++) {
                const Cell &cell = cells[(z * ny + y) * nx + x];
                int end = cell.first + cell.count;
                for (int j = cell.first; j < end; j++) {
                    if (j == i)
                        continue;
                    float d[3], dist;
                    if (!touching(me, fibres[j], 0.5f, d, dist))
                        continue;
                    const Fibre &other = fibres[j];
                    float along = me.dir[0] * other.dir[0] + me.dir[1] * other.dir[1] + me.dir[2] * other.dir[2];
                    float push = (0.5f - dist) * (1.2f - fabsf(along)) * (0.5f + other.crimp) / dist;
                    c.fx += push * d[0];
                    c.fy += push * d[1];
                    c.fz += push * d[2];
                    c.touches++;
                }
            }
    contacts[i] = c;
}

__global__ void relax(Fibre *fibres, const Contact *contacts, int n, float press)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Contact c = contacts[i];
    Fibre &f = fibres[i];
    float give = (f.wet ? 0.004f : 0.002f) / (1.0f + f.tangle);
    f.pos[0] += give * c.fx;
    f.pos[1] += give * c.fy;
    f.pos[2] = fmaxf(0.0f, f.pos[2] + give * (c.fz - press));
    f.tangle += 0.001f * c.touches * f.crimp;
}

__global__ void cellLoads(Cell *cells, const Fibre *fibres, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz)
        return;
    Cell &c = cells[(z * ny + y) * nx + x];
    float load = 0.0f;
    int wet = 0;
    for (int j = c.first; j < c.first + c.count; j++) {
        load += fibres[j].tangle * fibres[j].length;
        wet += fibres[j].wet;
    }
    c.load = load;
    c.wetFibres = wet;
}

class FeltPress {
public:
    FeltPress(int count) : n(count)
    {
        nz = 12;
        nx = ny = (int)std::ceil(std::sqrt(n / 4.0 / nz));
        if (nx < 1)
            nx = ny = 1;
        int ncells = nx * ny * nz;
        std::vector<int> where(n);
        std::vector<Cell> hc(ncells, Cell{0, 0, 0.0f, 0});
        for (int i = 0; i < n; i++) {
            where[i] = (int)(mix(i * 5u + 1u) % (unsigned)ncells);
            hc[where[i]].count++;
        }
        for (int c = 1; c < ncells; c++)
            hc[c].first = hc[c - 1].first + hc[c - 1].count;
        std::vector<int> next(ncells);
        for (int c = 0; c < ncells; c++)
            next[c] = hc[c].first;
        std::vector<Fibre> hf(n);
        for (int i = 0; i < n; i++) {
            Fibre f;
            int c = where[i];
            f.cell = c;
            f.pos[0] = c % nx + frac(i * 7u + 2u);
            f.pos[1] = c / nx % ny + frac(i * 7u + 3u);
            f.pos[2] = c / (nx * ny) + frac(i * 7u + 4u);
            float a = 6.2831853f * frac(i * 7u + 5u), b = frac(i * 7u + 6u) - 0.5f;
            float r = std::sqrt(1.0f - b * b);
            f.dir[0] = r * std::cos(a);
            f.dir[1] = r * std::sin(a);
            f.dir[2] = b;
            f.length = 0.5f + frac(i * 7u + 7u);
            f.crimp = frac(i * 7u + 8u);
            f.tangle = 0.0f;
            f.fleece = i / 1000;
            f.breed = mix(i) % 6;
            f.wet = mix(i + 77u) % 3 != 0;
            hf[next[c]++] = f;
        }
        CK(cudaMalloc(&fibres, n * sizeof(Fibre)));
        CK(cudaMalloc(&contacts, n * sizeof(Contact)));
        CK(cudaMalloc(&cells, ncells * sizeof(Cell)));
        CK(cudaMemcpy(fibres, hf.data(), n * sizeof(Fibre), cudaMemcpyHostToDevice));
        CK(cudaMemcpy(cells, hc.data(), ncells * sizeof(Cell), cudaMemcpyHostToDevice));
    }
    ~FeltPress() { cudaFree(fibres); cudaFree(contacts); cudaFree(cells); }
    void step(float press)
    {
        int blocks = (n + 255) / 256;
        findContacts<<<blocks, 256>>>(fibres, cells, contacts, n, nx, ny, nz);
        relax<<<blocks, 256>>>(fibres, contacts, n, press);
        dim3 b(32, 2, 4), g((nx + 31) / 32, (ny + 1) / 2, (nz + 3) / 4);
        cellLoads<<<g, b>>>(cells, fibres, nx, ny, nz);
    }
    double check() const
    {
        std::vector<Cell> hc(nx * ny * nz);
        CK(cudaMemcpy(hc.data(), cells, hc.size() * sizeof(Cell), cudaMemcpyDeviceToHost));
        double s = 0;
        for (const Cell &c : hc)
            s += c.load + c.wetFibres;
        return s;
    }

private:
    int n, nx, ny, nz;
    Fibre *fibres;
    Contact *contacts;
    Cell *cells;
};

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 1600000;
    FeltPress press(n);
    press.step(0.5f);
    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    const int steps = 20;
    CK(cudaEventRecord(a));
    for (int s = 0; s < steps; s++)
        press.step(0.5f + 0.05f * s);
    CK(cudaEventRecord(b));
    CK(cudaEventSynchronize(b));
    CK(cudaGetLastError());
    float ms;
    CK(cudaEventElapsedTime(&ms, a, b));
    std::printf("check %.6e\n", press.check());
    std::printf("time_ms %.5f\n", ms / steps);
    return 0;
}
