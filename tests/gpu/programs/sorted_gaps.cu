// Weather network.  Quality control has produced ascending lists of interesting
// readings/stations; kernels gather through those lists.
//   recheck : gaps 1..7 , all the fields of a 24-byte reading
//   trend   : gaps 1..40, two fields of the reading
//   calib   : gaps 1..7 , all the fields of a 100-byte station
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Reading {
    float temp;
    float humidity;
    float pressure;
    int   station;
    short battery;
    short rssi;
    float wind;
};

struct Station {
    float lat, lon, alt;
    int   id;
    float calib[16];
    float bias[4];
    int   region;
};

static_assert(sizeof(Reading) == 24 && sizeof(Station) == 100, "sizes");

struct Picker {                       // ascending index lists with pseudo-random gaps
    unsigned state;
    std::vector<int> make(int limit, int maxgap)
    {
        std::vector<int> v;
        v.reserve((size_t)limit * 2 / (maxgap + 1) + 1024);
        long long at = 0;
        while (true) {
            state = state * 1664525u + 1013904223u;
            at += 1 + (state >> 16) % (unsigned)maxgap;
            if (at >= limit) break;
            v.push_back((int)at);
        }
        return v;
    }
};

#define RT(x) { cudaError_t q_ = (x); if (q_ != cudaSuccess) { std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(q_)); std::exit(1); } }

__global__ void recheck(const Reading *r, const int *list, int n, float *out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const Reading &x = r[list[k]];
    float dew = x.temp - (100.f - x.humidity) * 0.2f;
    float q = dew + x.pressure * 0.01f + x.wind * x.wind * 0.05f;
    if (x.battery < 300) q -= 1.f;
    q += (float)(x.rssi & 15) * 0.0625f + (float)(x.station & 7);
    out[k] = q;
}

__global__ void trend(const Reading *r, const int *list, int n, float *out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) {
        int j = list[k];
        out[k] = r[j].temp * 0.1f - r[j].wind;
    }
}

__global__ void calib(const Station *st, const int *list, int n, float *out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    const Station *s = &st[list[k]];
    float poly = 0.f, x = 0.01f * s->alt;
    for (int c = 15; c >= 0; --c) poly = poly * x + s->calib[c];
    for (int c = 0; c < 4; ++c) poly += s->bias[c] * (c & 1 ? s->lat : s->lon);
    out[k] = poly + (float)(s->id % 10) + (float)s->region * 0.5f;
}

static double total(const float *dev, size_t n)
{
    std::vector<float> h(n);
    RT(cudaMemcpy(h.data(), dev, n * sizeof(float), cudaMemcpyDeviceToHost));
    double s = 0;
    for (size_t i = 0; i < n; ++i) s += h[i] * (1.0 + (i % 3));
    return s;
}

template <class T> static T *to_device(const std::vector<T> &v)
{
    T *d = nullptr;
    RT(cudaMalloc((void **)&d, v.size() * sizeof(T)));
    RT(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

int main()
{
    const int NR = 20000000, NS = 3000000;
    std::vector<Reading> readings(NR);
    std::vector<Station> stations(NS);
    for (int i = 0; i < NR; ++i) {
        unsigned h = (unsigned)i * 2654435761u; h ^= h >> 14;
        readings[i] = Reading{ (float)(h & 511) * 0.1f - 10.f, (float)(h >> 9 & 63) + 30.f, 950.f + (float)(h >> 15 & 127),
                               (int)(h >> 3) % NS, (short)(h >> 20 & 1023), (short)(h >> 7 & 255), (float)(h >> 27) };
    }
    for (int i = 0; i < NS; ++i) {
        unsigned h = (unsigned)i * 2246822519u; h ^= h >> 13;
        Station &s = stations[i];
        s.lat = (float)(h % 180u) - 90.f; s.lon = (float)(h % 360u) - 180.f; s.alt = (float)(h >> 26);
        s.id = i;
        for (int c = 0; c < 16; ++c) s.calib[c] = (float)((h >> c) & 7) * 0.1f;
        for (int c = 0; c < 4; ++c) s.bias[c] = (float)((h >> (c * 5)) & 3) * 0.01f;
        s.region = (int)(h >> 8 & 31);
    }
    Picker picker{ 31337u };
    const std::vector<int> la = picker.make(NR, 7), lb = picker.make(NR, 40), lc = picker.make(NS, 7);
    const int na = (int)la.size(), nb = (int)lb.size(), nc = (int)lc.size();

    Reading *d_r = to_device(readings);
    Station *d_s = to_device(stations);
    int *d_la = to_device(la), *d_lb = to_device(lb), *d_lc = to_device(lc);
    float *oa, *ob, *oc;
    RT(cudaMalloc(&oa, na * sizeof(float)));
    RT(cudaMalloc(&ob, nb * sizeof(float)));
    RT(cudaMalloc(&oc, nc * sizeof(float)));

    cudaEvent_t t0, t1;
    RT(cudaEventCreate(&t0)); RT(cudaEventCreate(&t1));
    for (int it = 0; it <= 25; ++it) {
        if (it == 1) RT(cudaEventRecord(t0));
        recheck<<<(na + 255) / 256, 256>>>(d_r, d_la, na, oa);
        trend<<<(nb + 255) / 256, 256>>>(d_r, d_lb, nb, ob);
        calib<<<(nc + 127) / 128, 128>>>(d_s, d_lc, nc, oc);
    }
    RT(cudaEventRecord(t1)); RT(cudaEventSynchronize(t1)); RT(cudaGetLastError());
    float ms; RT(cudaEventElapsedTime(&ms, t0, t1));
    std::printf("check picked %d\n", na + nb + nc);
    std::printf("check recheck %.6g\n", total(oa, na));
    std::printf("check trend %.6g\n", total(ob, nb));
    std::printf("check calib %.6g\n", total(oc, nc));
    std::printf("time_ms %.4f\n", ms);
    return 0;
}
