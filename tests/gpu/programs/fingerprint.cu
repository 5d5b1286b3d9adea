// Fingerprint identification: compare one probe finger with a gallery, then let
// the quality of all minutiae drift towards the local ridge density.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t err = (call);                                                \
        if (err != cudaSuccess) {                                                \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err)); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

#define MAX_PROBE 64

struct Minutia {
    short x, y;              // pixels
    short angle;             // 0..255
    unsigned char type;      // ending, bifurcation, dot, island
    unsigned char quality;
    float density;           // of the ridges nearby
};

struct Finger {
    int first, count;        // its minutiae
    short cx, cy;            // core point
    short orient;
    unsigned char cls;       // Henry class, 0 = unknown
    unsigned char hand;
    int score;
    int hits;
};

// One warp per gallery finger; the probe is staged in shared memory.
__global__ void match(const Minutia *gallery, Finger *fingers, int nf, int probe, unsigned long long *best)
{
    __shared__ Minutia sProbe[MAX_PROBE];
    const Finger p = fingers[probe];
    const int np = min(p.count, MAX_PROBE);
    for (int k = threadIdx.x; k < np; k += blockDim.x)
        sProbe[k] = gallery[p.first + k];
    __syncthreads();

    const int lane = threadIdx.x & 31;
    const int f = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (f >= nf || f == probe)
        return;
    const int cls = fingers[f].cls;
    if (cls != 0 && p.cls != 0 && cls != p.cls)      // different classes cannot match
        return;

    const int first = fingers[f].first, count = fingers[f].count;
    const int ox = p.cx - fingers[f].cx, oy = p.cy - fingers[f].cy;
    const int oa = p.orient - fingers[f].orient;
    int score = 0;
    for (int m = lane; m < count; m += 32) {
        const Minutia a = gallery[first + m];
        if (a.quality < 24)
            continue;
        int bestPair = 0;
        for (int k = 0; k < np; k++) {
            const int dx = abs(a.x + ox - sProbe[k].x);
            const int dy = abs(a.y + oy - sProbe[k].y);
            const int da = (a.angle + oa - sProbe[k].angle + 24) & 255;
            if (dx < 14 && dy < 14 && da < 48)
                bestPair = max(bestPair, (28 - dx - dy + (a.type == sProbe[k].type ? 16 : 0)) * a.quality);
        }
        score += bestPair >> 6;
    }
    for (int o = 16; o > 0; o >>= 1)
        score += __shfl_down_sync(0xffffffffu, score, o);
    if (lane == 0) {
        fingers[f].score = score;
        if (score > 100) {
            fingers[f].hits++;
            atomicMax(best, ((unsigned long long)score << 32) | (unsigned)(nf - f));
        }
    }
}

__global__ void drift(Minutia *gallery, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const int q = gallery[i].quality;
    const float d = gallery[i].density + (q - gallery[i].density) * 0.0625f;
    if (q > d + 1.0f)
        gallery[i].quality = q - 1;
    else if (q < d - 1.0f)
        gallery[i].quality = q + 1;
    gallery[i].density = d;
}

static unsigned lcg = 12345u;
static unsigned rnd(unsigned m)
{
    lcg = lcg * 1664525u + 1013904223u;
    return (lcg >> 8) % m;
}

int main(int argc, char **argv)
{
    const int want = argc > 1 ? atoi(argv[1]) : 9000000, steps = 20;
    std::vector<Minutia> gallery;
    std::vector<Finger> fingers;
    while ((int)gallery.size() < want || fingers.size() < 2) {
        // a tenth of the fingers are rolled prints with many minutiae
        const unsigned c = rnd(100);
        Finger f = {};
        f.first = (int)gallery.size();
        f.count = 20 + rnd(36) + (rnd(10) == 0 ? 60 : 0);
        f.cx = 200 + rnd(112);
        f.cy = 200 + rnd(112);
        f.orient = rnd(16);
        f.cls = c < 6 ? 0 : c < 40 ? 1 : c < 72 ? 2 : c < 94 ? 3 : 4;
        for (int k = 0; k < f.count; k++) {
            Minutia m;
            m.x = f.cx + rnd(161) - 80;
            m.y = f.cy + rnd(161) - 80;
            m.angle = rnd(256);
            m.type = rnd(16) < 9 ? 0 : 1 + rnd(3);
            m.quality = rnd(16) * rnd(18);
            m.density = (float)rnd(256);
            gallery.push_back(m);
        }
        fingers.push_back(f);
    }
    const int n = (int)gallery.size(), nf = (int)fingers.size();

    Minutia *dGallery;
    Finger *dFingers;
    unsigned long long *dBest, best[steps + 1];
    CHECK(cudaMalloc(&dGallery, n * sizeof(Minutia)));
    CHECK(cudaMalloc(&dFingers, nf * sizeof(Finger)));
    CHECK(cudaMalloc(&dBest, sizeof(best)));
    CHECK(cudaMemcpy(dGallery, gallery.data(), n * sizeof(Minutia), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dFingers, fingers.data(), nf * sizeof(Finger), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dBest, 0, sizeof(best)));

    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    for (int s = 0; s <= steps; s++) {
        if (s == 1)                                  // step 0 warms up
            CHECK(cudaEventRecord(t0));
        match<<<(nf + 3) / 4, 128>>>(dGallery, dFingers, nf, (int)((s * 7919LL + 17) % nf), dBest + s);
        drift<<<(n + 255) / 256, 256>>>(dGallery, n);
    }
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, t0, t1));

    CHECK(cudaMemcpy(best, dBest, sizeof(best), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(fingers.data(), dFingers, nf * sizeof(Finger), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(gallery.data(), dGallery, n * sizeof(Minutia), cudaMemcpyDeviceToHost));
    unsigned long long sum = 0;
    for (int s = 0; s <= steps; s++)
        sum = sum * 31 + best[s];
    for (int f = 0; f < nf; f++)
        sum += (unsigned long long)(f % 1009 + 1) * (fingers[f].score + 3 * fingers[f].hits);
    for (int i = 0; i < n; i++)
        sum += gallery[i].quality * (i % 13 + 1);

    CHECK(cudaFree(dGallery));
    CHECK(cudaFree(dFingers));
    CHECK(cudaFree(dBest));
    printf("check %llu\n", sum);
    printf("time_ms %.4f\n", ms / steps);
    return 0;
}
