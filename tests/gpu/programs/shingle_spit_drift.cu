// A shingle coast drifts along the shore: waves of many directions move stones of three sizes past groynes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>
#include <cuda_runtime.h>

struct Vec {
    double x, y;
};

struct Segment {
    Vec at;
    Vec normal;
    double volume;
    double grain[3];
    double flux;
    double energy;
    int groyne;
    unsigned char rock;
    unsigned char managed;
};

struct Wave {
    Vec dir;
    double height;
    double period;
    float chance;
    int season;
};

static void guard(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(std::string("cuda: ") + cudaGetErrorString(e));
}

static double hashed(unsigned long long k)
{
    k = k * 6364136223846793005ull + 1442695040888963407ull;
    k ^= k >> 31;
    k *= 0x9FB21C651E98DF25ull;
    k ^= k >> 28;
    return (k >> 11) * (1.0 / 9007199254740992.0);
}

__device__ double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y; }

__global__ void orient(Segment *coast, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Segment *left = coast + (i > 0 ? i - 1 : 0);
    const Segment *right = coast + (i + 1 < n ? i + 1 : n - 1);
    double tx = right->at.x - left->at.x, ty = right->at.y - left->at.y;
    double len = sqrt(tx * tx + ty * ty) + 1e-12;
    coast[i].normal = Vec{-ty / len, tx / len};
}

__global__ void breakers(Segment *coast, int n, const Wave *climate, int waves, int season)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Vec nrm = coast[i].normal;
    double mean = (coast[i].grain[0] + 2.0 * coast[i].grain[1] + 4.0 * coast[i].grain[2]);
    double drift = 0.0, power = 0.0;
    for (int w = 0; w < waves; w++) {
        if (climate[w].season != season && climate[w].season != 4)
            continue;
        double c = dot(climate[w].dir, nrm);
        if (c <= 0.0)
            continue;
        double s = climate[w].dir.x * nrm.y - climate[w].dir.y * nrm.x;
        double e = climate[w].height * climate[w].height * climate[w].chance;
        drift += e * s * c;
        power += e * climate[w].period * c;
    }
    coast[i].flux = drift / (1.0 + mean);
    coast[i].energy = 0.9 * coast[i].energy + 0.1 * power;
}

__device__ double passing(const Segment &from, const Segment &to)
{
    double q = from.flux > 0.0 ? from.flux : 0.0;
    double back = to.flux < 0.0 ? to.flux : 0.0;
    double open = from.groyne > 0 ? 1.0 / (1.0 + from.groyne) : 1.0;
    return open * (fmin(q, 0.2 * from.volume) + fmax(back, -0.2 * to.volume));
}

// net of stones that cross the end of each segment; kept apart, as neighbours need it
__global__ void crossings(const Segment *coast, double *cross, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        cross[i] = i + 1 < n ? passing(coast[i], coast[i + 1]) : 0.0;
}

__global__ void advance(Segment *coast, const double *cross, int n, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Segment &s = coast[i];
    double net = (i > 0 ? cross[i - 1] : 0.0) - cross[i];
    s.volume += dt * net;
    if (!s.rock) {
        double move = 0.02 * dt * net;
        s.at.x += move * s.normal.x;
        s.at.y += move * s.normal.y;
    }
    double wear = 1e-4 * dt * s.energy;
    double broken = wear * s.grain[2], ground = wear * s.grain[1];
    s.grain[2] -= broken;
    s.grain[1] += broken - ground;
    s.grain[0] += ground;
    if (s.managed && s.volume < 5.0)
        s.volume += 1.0;
}

class Coast {
    int n, waves;
    Segment *seg = nullptr;
    Wave *wave = nullptr;
    double *cross = nullptr;

    static std::vector<Wave> climate()
    {
        std::vector<Wave> all;
        for (int dir = 0; dir < 72; dir++)
            for (int h = 1; h <= 3; h++) {
                Wave w;
                double a = 3.14159265358979 * (dir + 0.5) / 72;
                w.dir = Vec{std::cos(a), std::sin(a)};
                w.height = 0.6 * h;
                w.period = 4.0 + h;
                w.chance = (float)(hashed(dir * 10 + h) / (6 * h * h));
                w.season = (dir + h) % 5;
                all.push_back(w);
            }
        return all;
    }

public:
    explicit Coast(int count) : n(count)
    {
        std::vector<Segment> host(n);
        for (int i = 0; i < n; i++) {
            Segment &s = host[i];
            s.at = Vec{10.0 * i, 40.0 * std::sin(0.01 * i) + 2.0 * hashed(i)};
            s.normal = Vec{0.0, 1.0};
            s.volume = 20.0 + 30.0 * hashed(i + 1000000007ull);
            for (int g = 0; g < 3; g++)
                s.grain[g] = 0.2 + hashed(3ull * i + g + 17);
            s.flux = s.energy = 0.0;
            s.groyne = hashed(i + 5ull) < 0.1 ? 1 + i % 3 : 0;
            s.rock = hashed(i + 9999ull) < 0.05;
            s.managed = i / 500 % 4 == 0;
        }
        std::vector<Wave> w = climate();
        waves = (int)w.size();
        guard(cudaMalloc(&seg, host.size() * sizeof(Segment)));
        guard(cudaMalloc(&wave, w.size() * sizeof(Wave)));
        guard(cudaMalloc(&cross, host.size() * sizeof(double)));
        guard(cudaMemcpy(seg, host.data(), host.size() * sizeof(Segment), cudaMemcpyHostToDevice));
        guard(cudaMemcpy(wave, w.data(), w.size() * sizeof(Wave), cudaMemcpyHostToDevice));
    }
    ~Coast()
    {
        cudaFree(seg);
        cudaFree(wave);
        cudaFree(cross);
    }
    void month(int m)
    {
        int threads = 192, blocks = (n + threads - 1) / threads;
        orient<<<blocks, threads>>>(seg, n);
        breakers<<<blocks, threads>>>(seg, n, wave, waves, m / 3 % 4);
        for (int tide = 0; tide < 3; tide++) {
            crossings<<<264, 256>>>(seg, cross, n);
            advance<<<blocks, threads>>>(seg, cross, n, 0.2);
        }
    }
    double total() const
    {
        std::vector<Segment> host(n);
        guard(cudaMemcpy(host.data(), seg, host.size() * sizeof(Segment), cudaMemcpyDeviceToHost));
        double sum = 0.0;
        for (int i = 0; i < n; i++)
            sum += host[i].volume * (1 + i % 3) + std::fabs(host[i].at.y) + host[i].grain[0];
        return sum;
    }
};

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::stoi(argv[1]) : 380000;
    Coast coast(n);
    for (int m = 0; m < 12; m++)
        coast.month(m);
    cudaEvent_t from, to;
    guard(cudaEventCreate(&from));
    guard(cudaEventCreate(&to));
    const int months = 120;
    guard(cudaEventRecord(from));
    for (int m = 0; m < months; m++)
        coast.month(m);
    guard(cudaEventRecord(to));
    guard(cudaEventSynchronize(to));
    guard(cudaGetLastError());
    float ms;
    guard(cudaEventElapsedTime(&ms, from, to));
    std::printf("check %.7e\n", coast.total());
    std::printf("time_ms %.5f\n", ms / months);
    return 0;
}
