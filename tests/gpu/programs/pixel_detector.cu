// Event accumulation for an X-ray pixel detector: a stream of hits is
// calibrated with the gain and offset of the pixel hit, and the pixel's
// counters are updated atomically.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#include <cuda_runtime.h>

static void check(cudaError_t e, int line)
{
    if (e != cudaSuccess) {
        fprintf(stderr, "line %d: %s\n", line, cudaGetErrorName(e));
        exit(1);
    }
}
#define CK(x) check((x), __LINE__)

struct PixelState {
    float gain;            // eV per ADC count
    float offset;          // ADC counts
    unsigned int hits;
    unsigned int energySum;  // eV, wraps around
    int maxEnergy;
    unsigned int rejected;
    int masked;
    float temperature;
};

struct Hit {
    uint32_t pixel;
    uint16_t adc;
    uint16_t timestamp;
};

__global__ void accumulate(PixelState *pixels, const Hit *__restrict__ hits, size_t numHits,
                           float threshold, unsigned int *totals)
{
    size_t idx = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (idx >= numHits)
        return;

    Hit h = hits[idx];
    PixelState *p = pixels + h.pixel;
    if (p->masked) {
        atomicAdd(&p->rejected, 1u);
        return;
    }
    float drift = 1.0f + 0.002f * (p->temperature - 20.0f);
    float ev = (h.adc - p->offset) * p->gain * drift;
    if (ev < threshold) {
        atomicAdd(&p->rejected, 1u);
        return;
    }
    int energy = __float2int_rn(ev);
    atomicAdd(&p->hits, 1u);
    atomicAdd(&p->energySum, (unsigned int)energy);
    atomicMax(&p->maxEnergy, energy);
    if (energy > 15000)
        atomicAdd(&totals[h.timestamp >> 12], 1u);
}

static uint32_t mix(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

int main(int argc, char **argv)
{
    const int numPixels = argc > 1 ? atoi(argv[1]) : 96 * 1024;
    if (numPixels < 1) {
        fprintf(stderr, "need at least one pixel\n");
        return 1;
    }
    const size_t numHits = 10u * 1000 * 1000;
    const int steps = 20;
    const int numTotals = 16;

    PixelState *pixels = new PixelState[numPixels];
    for (int i = 0; i < numPixels; i++) {
        uint32_t r = mix(i + 1);
        pixels[i].gain = 3.0f + (r & 0xff) / 256.0f;
        pixels[i].offset = 100.0f + (r >> 8 & 0xff) / 16.0f;
        pixels[i].hits = 0;
        pixels[i].energySum = 0;
        pixels[i].maxEnergy = 0;
        pixels[i].rejected = 0;
        pixels[i].masked = (r >> 16) % 50 == 0;
        pixels[i].temperature = 15.0f + (r >> 24) / 25.6f;
    }

    std::vector<Hit> hits(numHits);
    for (size_t i = 0; i < numHits; i++) {
        uint32_t a = mix((uint32_t)(2 * i + 17));
        uint32_t b = mix((uint32_t)(2 * i + 18));
        hits[i].pixel = a % (uint32_t)numPixels;
        hits[i].adc = (uint16_t)(b & 0xfff);
        hits[i].timestamp = (uint16_t)(b >> 16);
    }

    PixelState *dPixels;
    Hit *dHits;
    unsigned int *dTotals;
    CK(cudaMalloc((void **)&dPixels, numPixels * sizeof(PixelState)));
    CK(cudaMalloc((void **)&dHits, numHits * sizeof(Hit)));
    CK(cudaMalloc((void **)&dTotals, numTotals * sizeof(unsigned int)));
    CK(cudaMemcpy(dPixels, pixels, numPixels * sizeof(PixelState), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(dHits, hits.data(), numHits * sizeof(Hit), cudaMemcpyHostToDevice));
    CK(cudaMemset(dTotals, 0, numTotals * sizeof(unsigned int)));

    const unsigned int threads = 256;
    const unsigned int blocks = (unsigned int)((numHits + threads - 1) / threads);
    accumulate<<<blocks, threads>>>(dPixels, dHits, numHits, 900.0f, dTotals);
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());

    cudaEvent_t ev0, ev1;
    CK(cudaEventCreate(&ev0));
    CK(cudaEventCreate(&ev1));
    CK(cudaEventRecord(ev0));
    for (int s = 0; s < steps; s++) {
        accumulate<<<blocks, threads>>>(dPixels, dHits, numHits, 1000.0f + 50.0f * s, dTotals);
    }
    CK(cudaEventRecord(ev1));
    CK(cudaEventSynchronize(ev1));
    CK(cudaGetLastError());
    float ms = 0;
    CK(cudaEventElapsedTime(&ms, ev0, ev1));

    unsigned int totals[numTotals];
    CK(cudaMemcpy(pixels, dPixels, numPixels * sizeof(PixelState), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(totals, dTotals, sizeof(totals), cudaMemcpyDeviceToHost));

    uint64_t sum = 0;
    for (int i = 0; i < numPixels; i++) {
        sum = sum * 1000003u + pixels[i].hits;
        sum = sum * 1000003u + pixels[i].energySum;
        sum = sum * 1000003u + (unsigned int)pixels[i].maxEnergy;
        sum = sum * 1000003u + pixels[i].rejected;
    }
    for (int k = 0; k < numTotals; k++)
        sum = sum * 1000003u + totals[k];

    printf("time_ms %.5f\n", ms / steps);
    printf("check %llu\n", (unsigned long long)sum);

    delete[] pixels;
    CK(cudaFree(dPixels));
    CK(cudaFree(dHits));
    CK(cudaFree(dTotals));
    return 0;
}
