// Map projection service: batches of GPS fixes arrive on the host, are sent to
// the GPU, projected (transverse Mercator on a sphere, zones of 6 degrees),
// and the results are copied back into the same records.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define GPU_OK(stmt)                                                   \
    do {                                                               \
        const cudaError_t gpu_err = (stmt);                            \
        if (gpu_err != cudaSuccess) {                                  \
            std::fprintf(stderr, "GPU error: %s (%s:%d)\n",            \
                         cudaGetErrorString(gpu_err), __FILE__, __LINE__); \
            std::exit(1);                                              \
        }                                                              \
    } while (false)

struct Fix {
    double lat, lon;      // degrees
    float height;
    float speed;
    float east, north;    // metres, relative to the zone's origin
    int zone;
    unsigned int cell;    // key of a 250 m grid cell
};

__host__ __device__ inline double radians(double deg) { return deg * 0.017453292519943295; }

__global__ void project(Fix *fixes, int n)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n)
        return;

    Fix f = fixes[i];
    f.zone = (int)floor((f.lon + 180.0) / 6.0) + 1;
    const double central = f.zone * 6.0 - 183.0;
    const double phi = radians(f.lat);
    const double dl = radians(f.lon - central);
    const double scale = 0.9996 * (6371000.0 + f.height);
    const double b = cos(phi) * sin(dl);
    f.east = (float)(0.5 * scale * log((1.0 + b) / (1.0 - b)));
    f.north = (float)(scale * atan2(tan(phi), cos(dl)));
    fixes[i] = f;
}

__global__ void gridCells(Fix *fixes, int n, float cellSize)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n)
        return;
    const int ix = (int)floorf(fixes[i].east / cellSize);
    const int iy = (int)floorf(fixes[i].north / cellSize);
    unsigned int key = (unsigned int)ix * 73856093u;
    key ^= (unsigned int)iy * 19349663u;
    key ^= (unsigned int)fixes[i].zone * 83492791u;
    fixes[i].cell = key;
}

class Projector {
public:
    explicit Projector(int capacity) { GPU_OK(cudaMalloc(&dev_, capacity * sizeof(Fix))); }
    ~Projector() { cudaFree(dev_); }

    void process(std::vector<Fix> &batch)
    {
        const int n = (int)batch.size();
        const int threads = 192;
        const int blocks = (n + threads - 1) / threads;
        GPU_OK(cudaMemcpy(dev_, batch.data(), n * sizeof(Fix), cudaMemcpyHostToDevice));
        project<<<blocks, threads>>>(dev_, n);
        gridCells<<<blocks, threads>>>(dev_, n, 250.0f);
        GPU_OK(cudaGetLastError());
        GPU_OK(cudaMemcpy(batch.data(), dev_, n * sizeof(Fix), cudaMemcpyDeviceToHost));
    }

private:
    Fix *dev_ = nullptr;
};

static unsigned int lcg(unsigned int &s)
{
    s = 1664525u * s + 1013904223u;
    return s >> 4;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 500000;
    if (n <= 0) {
        std::fprintf(stderr, "usage: %s [fixes]\n", argv[0]);
        return 1;
    }
    const int steps = 25;

    std::vector<Fix> fixes(n);
    unsigned int s = 4711;
    for (Fix &f : fixes) {
        f.lat = -60.0 + 120.0 * lcg(s) / 268435456.0;
        f.lon = -179.0 + 355.0 * lcg(s) / 268435456.0;
        f.height = (float)(lcg(s) % 3000);
        f.speed = (float)(lcg(s) % 400) * 0.1f;
        f.east = f.north = 0.0f;
        f.zone = 0;
        f.cell = 0;
    }

    Projector projector(n);
    projector.process(fixes);

    cudaEvent_t start, stop;
    GPU_OK(cudaEventCreate(&start));
    GPU_OK(cudaEventCreate(&stop));
    unsigned long long check = 0;
    GPU_OK(cudaEventRecord(start));
    for (int step = 0; step < steps; ++step) {
        // some of the vehicles have moved since the last batch
        for (int i = step; i < n; i += 64) {
            fixes[i].lat += 1.0e-5 * fixes[i].speed;
            check += fixes[i].cell;
        }
        projector.process(fixes);
    }
    GPU_OK(cudaEventRecord(stop));
    GPU_OK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    GPU_OK(cudaEventElapsedTime(&ms, start, stop));

    for (int i = 0; i < n; ++i) {
        const Fix &f = fixes[i];
        check = check * 33 + (unsigned long long)std::llround(f.east * 10.0);
        check = check * 33 + (unsigned long long)std::llround(f.north * 10.0);
        check += (unsigned long long)f.zone + f.cell;
    }

    std::printf("time_ms %f\n", ms / steps);
    std::printf("check %llu\n", check);
    GPU_OK(cudaEventDestroy(start));
    GPU_OK(cudaEventDestroy(stop));
    return 0;
}
